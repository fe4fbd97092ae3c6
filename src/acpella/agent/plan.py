"""The plan of a turn, entry by entry."""

import msgspec

from acpella.schema import Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus

from .turn_core import TurnCore

__all__ = ["PlanInHand"]


class PlanInHand:
    """The plan of a turn; every change is shown to the user at once. Entries go by their text."""

    def __init__(self, turn: TurnCore, entries: list[PlanEntry]) -> None:
        self._turn = turn
        self._entries = entries

    @property
    def entries(self) -> list[PlanEntry]:
        return list(self._entries)

    async def start(self, content: str) -> None:
        """This is being worked on."""
        await self.set(content, status="in_progress")

    async def done(self, content: str) -> None:
        """This is finished."""
        await self.set(content, status="completed")

    async def add(self, content: str, *, priority: PlanEntryPriority = "medium") -> None:
        """One more thing to do."""
        self._entries.append(PlanEntry(content=content, priority=priority, status="pending"))
        await self.show()

    async def remove(self, content: str) -> None:
        """This is no longer to be done."""
        del self._entries[self._index(content)]
        await self.show()

    async def set(
        self,
        content: str,
        *,
        status: PlanEntryStatus | None = None,
        priority: PlanEntryPriority | None = None,
    ) -> None:
        """Change an entry."""
        index = self._index(content)
        old = self._entries[index]
        self._entries[index] = msgspec.structs.replace(
            old, status=status or old.status, priority=priority or old.priority
        )
        await self.show()

    async def show(self) -> None:
        """Send the whole plan (R-241)."""
        await self._turn.update(Plan(entries=list(self._entries)))

    def _index(self, content: str) -> int:
        for index, entry in enumerate(self._entries):
            if entry.content == content:
                return index
        raise KeyError(f"the plan has no entry {content!r}")

"""What a session works with: its tools, its sandbox, and what runs right now."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from acpella.agent import Session, Turn

from .modes import refusal
from .places import Copy, Place, Project
from .tool import CoderTool, ToolError

__all__ = ["SessionTools", "ToolTally"]

T = TypeVar("T")


@dataclass(slots=True)
class ToolTally:
    """Tokens of a turn, helpers included."""

    input: int = 0
    output: int = 0
    cached: int = 0


class SessionTools:
    """One for each session in memory."""

    def __init__(self, session: Session, private: list[Path]) -> None:
        self.session = session
        self._private = private  # files of the agent's own, which no command in the sandbox sees
        self._mode = session.mode
        self.tools: list[CoderTool] = []
        """The built-in ones."""
        self.tools_of_others: Callable[[Turn], Awaitable[list[CoderTool]]] | None = None
        """Gives those that come and go, such as an MCP server's."""
        self.tally: ToolTally = ToolTally()
        """What the running turn has cost."""
        self.alone: asyncio.Lock = asyncio.Lock()
        """Held by whoever changes something, sub-agents included."""
        self._copy: Copy | None = None
        self._copying = asyncio.Lock()
        self._running: dict[asyncio.Task[object], CoderTool] = {}
        self._stopped: dict[asyncio.Task[object], str] = {}

    async def all_tools(self, turn: Turn) -> list[CoderTool]:
        others = [] if self.tools_of_others is None else await self.tools_of_others(turn)
        return [*self.tools, *others]

    # -- where tools work --------------------------------------------------------------------

    @property
    def in_sandbox(self) -> bool:
        """Whether what changes something does so in the copy.

        It changes at the moment in which `mode_changed` ends what runs: what was asked about for one side of
        the fence never begins on the other.
        """
        return self._mode == "sandbox"

    async def place(self, turn: Turn, *, changing: bool = False) -> Place:
        """Where to work now. The copy for the sandbox is not made before something is to be changed."""
        if not self.in_sandbox:
            return Project(turn)
        if self._copy is not None and not self._copy.covers(self.session.roots):
            await self.leave_sandbox()  # the session has moved to directories that were not copied
        if self._copy is None and not changing:
            return Project(turn)  # nothing differs yet, and the editor knows unsaved changes
        async with self._copying:
            if self._copy is None:
                self._copy = await self._make_copy()
                await turn.notice("Working in a throw-away copy from now on; the project stays as it is.")
            return self._copy.at(turn, self._private)

    async def _make_copy(self) -> Copy:
        # The thread runs to its end: a half-made copy would be left behind.
        making = asyncio.ensure_future(asyncio.to_thread(Copy, self.session.roots))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(_throw_away)
            raise

    async def leave_sandbox(self) -> bool:
        """Throw the copy away; False if there was none."""
        copy, self._copy = self._copy, None
        if copy is None:
            return False
        await asyncio.to_thread(copy.remove)
        return True

    # -- what runs -----------------------------------------------------------------------------

    async def guard(self, tool: CoderTool, work: Awaitable[T]) -> T:
        """Do a tool's work in a way that a switch of the mode can end.

        Raises:
            ToolError: it was ended.
        """
        task = asyncio.ensure_future(work)
        self._running[task] = tool
        try:
            return await task
        except asyncio.CancelledError:
            why = self._stopped.get(task)
            current = asyncio.current_task()
            if why is None or (current is not None and current.cancelling()):
                raise
            raise ToolError(why) from None
        finally:
            if not task.done():
                task.cancel()
            self._running.pop(task, None)
            self._stopped.pop(task, None)

    def mode_changed(self, mode: str) -> None:
        """End what the new mode forbids, and what began on the other side of a sandbox's fence."""
        before, self._mode = self._mode, mode
        if before == mode:
            return
        fence = "sandbox" in (before, mode)
        for task, tool in list(self._running.items()):
            if fence or refusal(mode, tool) is not None:
                self._stopped[task] = f"stopped: the mode was switched to `{mode}`"
                task.cancel()


def _throw_away(making: "asyncio.Future[Copy]") -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().remove()

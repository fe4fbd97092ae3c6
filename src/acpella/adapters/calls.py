"""Tool calls by the ids of a framework: each announced once, and closed exactly once."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from acpella.agent import ToolRun, Turn
from acpella.errors import AcpellaError

from .jsonable import as_text, shortened, to_json
from .present import Change, Presentation, present

__all__ = ["Calls"]

SHOWN = 32 * 1024
"""Characters of a result that the user sees; the model gets all of it."""

OLD_TEXT = 1024 * 1024
"""The most bytes of a file on disk that is shown as the old side of a change."""


class _Book:
    """The state that the calls of a turn share with those of the turns nested in it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # a tool may ask for permission before its call has been announced
        self.runs: dict[str, ToolRun] = {}
        self.names: dict[str, str] = {}
        self.complete: set[str] = set()
        self.over: set[str] = set()
        self.changes: set[str] = set()
        self.hidden: set[str] = set()
        self.own: set[str] = set()


class Calls:
    """The tool calls of a turn. Frameworks report a call in pieces, and not all of them report everything."""

    def __init__(
        self, turn: Turn, presentations: Mapping[str, Presentation], home: "Calls | None" = None
    ) -> None:
        self._turn = turn
        self._presentations = presentations
        self._book = _Book() if home is None else home._book

    def own(self, names: Iterable[str]) -> None:
        """Mark tools as ours: they report their own start, after asking for permission."""
        self._book.own.update(names)

    def hide(self, call_id: str) -> None:
        """Do not show this call, because it is shown in another way, such as a plan."""
        self._book.hidden.add(call_id)

    def find(self, call_id: str) -> ToolRun | None:
        """The call with this id, if it is open."""
        return self._book.runs.get(call_id)

    def is_over(self, call_id: str) -> bool:
        """Whether the call has ended."""
        return call_id in self._book.over

    def name_of(self, call_id: str) -> str | None:
        """The tool that was called."""
        return self._book.names.get(call_id)

    @property
    def open_ids(self) -> list[str]:
        """The calls that have not ended, in their order."""
        return list(self._book.runs)

    async def pending(
        self, call_id: str, name: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolRun | None:
        """Open a call that does not run yet; its arguments may come later. None if it is hidden or over."""
        if call_id in self._book.hidden or call_id in self._book.over:
            return None
        async with self._book.lock:
            run = self._book.runs.get(call_id)
            if run is None:
                return await self._open(call_id, name, arguments, pending=True)
            if arguments is not None:
                await self._complete_arguments(run, call_id, name, arguments)
            return run

    async def start(
        self, call_id: str, name: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolRun | None:
        """Show that a call runs from now on."""
        run = await self.pending(call_id, name, arguments)
        if run is not None and name not in self._book.own:
            await run.start()
        return run

    async def progress(self, call_id: str, text: str) -> None:
        """Show text while the call runs."""
        run = self.find(call_id)
        if run is not None and text:
            run.show(shortened(text, SHOWN))
            await run.progress()

    async def end(
        self,
        call_id: str,
        output: Any = None,
        *,
        failed: bool = False,
        name: str | None = None,
    ) -> None:
        """End a call. One that was never reported is opened first."""
        run = await self.pending(call_id, name or self.name_of(call_id) or "tool")
        if run is None:
            return
        del self._book.runs[call_id]
        self._book.over.add(call_id)
        if failed or call_id not in self._book.changes:  # a diff is shown already, and says more than "done"
            if text := as_text(output):
                run.show(shortened(text, SHOWN))
        if output is not None:
            run.output(to_json(output))
        await run.close(failed=failed)

    # -- how it is shown -------------------------------------------------------------------

    async def _open(
        self, call_id: str, name: str, arguments: Mapping[str, Any] | None, *, pending: bool
    ) -> ToolRun:
        self._book.names[call_id] = name
        presentation = present(name, arguments or {}, self._presentations)
        run = self._turn.tool(
            name if arguments is None else presentation.title,
            kind=presentation.kind,
            name=name,
            locations=presentation.locations,
            pending=pending,
            **({} if arguments is None else {"input": to_json(arguments)}),
        )
        self._book.runs[call_id] = run
        if arguments is not None:
            self._book.complete.add(call_id)
            await self._show_change(run, call_id, presentation.change)
        await run.open()
        return run

    async def _complete_arguments(
        self, run: ToolRun, call_id: str, name: str, arguments: Mapping[str, Any]
    ) -> None:
        if call_id in self._book.complete:
            return
        self._book.complete.add(call_id)
        presentation = present(name, arguments, self._presentations)
        await self._show_change(run, call_id, presentation.change)
        await run.change(
            title=presentation.title,
            kind=presentation.kind,
            locations=presentation.locations,
            input=to_json(arguments),
        )

    async def _show_change(self, run: ToolRun, call_id: str, change: Change | None) -> None:
        if change is None:
            return
        self._book.changes.add(call_id)
        old = change.old if change.old is not None else await self._text_now(change.path)
        run.diff(change.path, old, change.new)

    async def _text_now(self, path: str) -> str | None:
        """The current text of a file; None if it does not exist, or may not be read."""
        files = self._turn.files
        try:
            if files.can_read:
                return await files.read(path)
            return await asyncio.to_thread(self._text_on_disk, path)
        except (OSError, ValueError, AcpellaError):
            return None

    def _text_on_disk(self, path: str) -> str | None:
        full = Path(self._turn.session.full_path(path))
        jail = self._turn.session.jail()
        if not full.is_file() or full.stat().st_size > OLD_TEXT:
            return None
        return jail.read_text(str(full))

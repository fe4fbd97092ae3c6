"""A tool call while it runs: announced, shown, closed."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, get_args

from msgspec import UNSET

from acpella.errors import AcpellaError, LocalProtocolError
from acpella.schema import (
    Content,
    ContentBlock,
    Diff,
    Meta,
    Terminal,
    TextContent,
    ToolCall,
    ToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
    Unknown,
)

from .turn_core import TurnCore

__all__ = ["Location", "ToolRun", "question_about"]

log: logging.Logger = logging.getLogger(__name__)

Location: TypeAlias = str | Path | tuple[str | Path, int]
"""A file, or a file and a line in it (from 1)."""


_KINDS: tuple[str, ...] = get_args(ToolKind)


class ToolRun:
    """One tool call. Entering the block announces it, leaving it completes or fails it.

    It is in progress from the beginning, or `pending` until it is permitted or `start` is called.
    """

    def __init__(
        self,
        turn: TurnCore,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        locations: Sequence[Location] = (),
        input: Any = UNSET,
        pending: bool = False,
    ) -> None:
        self.id: str = f"call_{uuid.uuid4().hex[:24]}"
        self.title: str = title
        self.kind: ToolKind = _checked_kind(kind)
        self.name = name
        self.locations: list[ToolCallLocation] = [self._location(turn, location) for location in locations]
        self.input: Any = input
        self._turn = turn
        self._content: list[ToolCallContent] = []
        self._output: Any = UNSET
        self._failed = False
        self._open = False
        self._status: ToolCallStatus = "pending" if pending else "in_progress"

    @property
    def is_open(self) -> bool:
        """Whether the call has not ended yet."""
        return self._open

    # -- what it shows -------------------------------------------------------------------

    def show(self, *content: "str | ContentBlock | ToolCallContent") -> None:
        """Add text, content, diffs; seen when the call ends, or at the next `progress`."""
        for item in content:
            if isinstance(item, str):
                self._content.append(Content(content=TextContent(text=item)))
            elif isinstance(item, Content | Diff | Terminal):
                self._content.append(item)
            elif isinstance(item, Unknown) or getattr(item, "__struct_config__", None):
                self._content.append(Content(content=item))
            else:
                raise TypeError(f"a tool call shows text, content blocks and diffs, not {item!r}")

    def diff(self, path: str | Path, old: str | None, new: str) -> None:
        """Show a change of a file; `old` None for a new file."""
        full = self._turn.session.cwd / path
        self._content.append(Diff(path=str(full), old_text=old, new_text=new))

    def output(self, value: Any) -> None:
        """Keep the raw result of the tool with the call."""
        self._output = value

    def fail(self, message: str | None = None) -> None:
        """The call will end as failed."""
        self._failed = True
        if message:
            self.show(message)

    async def progress(self, *, title: str | None = None, meta: Meta | None = None) -> None:
        """Show now what was added so far. The call must be open."""
        if not self._open:
            raise LocalProtocolError(f"the tool call {self.title!r} is not open")
        if title is not None:
            self.title = title
        await self._send(self._status, title=title, meta=meta)

    async def change(
        self,
        *,
        title: str | None = None,
        kind: ToolKind | None = None,
        locations: Sequence[Location] | None = None,
        input: Any = UNSET,
    ) -> None:
        """Say more of what the call is, such as the arguments that a model has written meanwhile."""
        if kind is not None:
            self.kind = _checked_kind(kind)
        if title is not None:
            self.title = title
        if locations is not None:
            self.locations = [self._location(self._turn, location) for location in locations]
        if input is not UNSET:
            self.input = input
        if self._open:
            await self._turn.update(
                ToolCallProgress(
                    tool_call_id=self.id,
                    title=title,
                    kind=kind,
                    status=self._status,
                    locations=None if locations is None else self.locations,
                    content=list(self._content) or None,
                    raw_input=input,
                )
            )

    async def start(self) -> None:
        """The call runs from now on: a pending one is shown as in progress. Safe to call twice."""
        if self._status == "pending":
            self._status = "in_progress"
            if self._open:
                await self._send("in_progress")

    # -- its life ------------------------------------------------------------------------

    async def open(self) -> Self:
        """Announce the call."""
        self._open = True
        self._turn.track(self.id, self)
        try:
            await self._turn.update(
                ToolCall(
                    tool_call_id=self.id,
                    title=self.title,
                    name=self.name,
                    kind=self.kind,
                    status=self._status,
                    content=list(self._content),
                    locations=self.locations,
                    raw_input=self.input,
                )
            )
        except Exception:
            self._open = False
            self._turn.untrack(self.id)
            raise
        return self

    async def close(self, *, failed: bool = False) -> None:
        """Report how it ended, then release what it showed (C6). Safe to call twice."""
        if not self._open:
            return
        self._open = False
        self._turn.untrack(self.id)
        try:
            await self._send("failed" if failed or self._failed else "completed")
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        cancelled: asyncio.CancelledError | None = None
        for work in self._turn.take_after_close(self.id):
            try:
                await work()
            except (AcpellaError, TimeoutError) as error:
                log.info("cleaning up after %s: %s", self.title, error)
            except asyncio.CancelledError as error:  # the others still have their turn
                cancelled = error
        if cancelled is not None:
            try:
                raise cancelled
            finally:
                del cancelled  # its traceback has this frame

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(failed=error is not None)

    def defer(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do this after the update that ends the call."""
        self._turn.after_close(self.id, work)

    async def _send(
        self, status: ToolCallStatus, *, title: str | None = None, meta: Meta | None = None
    ) -> None:
        await self._turn.update(
            ToolCallProgress(
                tool_call_id=self.id,
                status=status,
                title=title,
                content=list(self._content) or None,
                raw_output=self._output,
                meta=meta,
            )
        )

    @staticmethod
    def _location(turn: TurnCore, location: Location) -> ToolCallLocation:
        path, line = location if isinstance(location, tuple) else (location, None)
        return ToolCallLocation(path=str(turn.session.cwd / path), line=line)


def question_about(call: ToolRun, title: str | None = None) -> ToolCallUpdate:
    """The call as a permission request shows it; it is pending until the answer."""
    call._status = "pending"  # pyright: ignore[reportPrivateUsage] - it is of the same module
    return ToolCallUpdate(
        tool_call_id=call.id,
        title=title or call.title,
        kind=call.kind,
        status="pending",
        content=list(call._content) or None,  # pyright: ignore[reportPrivateUsage] - it is of the same module
        locations=call.locations or None,
        raw_input=call.input,
    )


def _checked_kind(kind: ToolKind) -> ToolKind:
    if kind not in _KINDS:
        raise ValueError(f"no kind of tool {kind!r}; there are: {', '.join(_KINDS)}")
    return kind

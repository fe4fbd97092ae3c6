"""What is behind a turn: whether it is going, what it has open, and its way to the editor."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec

from acpella.errors import AcpellaError, LocalProtocolError, RequestCancelled, RpcError
from acpella.rpc import Method
from acpella.schema import (
    AgentMessageChunk,
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    SessionUpdate,
    StopReason,
    TextContent,
    Unknown,
)

from .codec import EditorCapabilities
from .definition import Definition
from .editor import Editor
from .open_questions import ASKED_OF_PEOPLE
from .session import SessionCore

__all__ = ["Closable", "TurnCore", "block"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

CLOSE_TIMEOUT = 3.0
"""Seconds to close what a cancelled turn left open at the editor."""

_BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, Unknown)


class Closable(Protocol):
    """What a turn must not leave open: a tool call."""

    async def close(self, *, failed: bool = False) -> None: ...


class _Shared:
    """What a turn and the turns nested in it have in common."""

    def __init__(self) -> None:
        self.cancelled = False
        self.over = False
        self.stop_reason: StopReason | None = None
        self.open_calls: dict[str, Closable] = {}
        self.after_close: dict[str, list[Callable[[], Awaitable[None]]]] = {}
        self.refusals: list[tuple[RpcError, str]] = []
        self.after_reply: list[Callable[[], Awaitable[None] | None]] = []


class TurnCore:
    """The private half of a turn, shared with its files, commands, tool calls and plan."""

    def __init__(self, definition: Definition, session: SessionCore) -> None:
        self.definition = definition
        self.session = session
        self._parent: str | None = None
        self._shared = _Shared()

    def under(self, parent: str) -> "TurnCore":
        """The same turn, with everything it sends shown inside a tool call (C7)."""
        nested = TurnCore(self.definition, self.session)
        nested._parent = parent
        nested._shared = self._shared
        return nested

    @property
    def editor(self) -> Editor:
        return self.session.editor

    @property
    def capabilities(self) -> EditorCapabilities:
        return self.session.editor.codec.editor

    # -- what goes out -------------------------------------------------------------------

    def update(self, update: SessionUpdate) -> Awaitable[None]:
        # no coroutine of its own, here and below: each token of a model comes this way
        if self._shared.over:
            raise LocalProtocolError("this turn is over; use turn.session.update() outside a turn")
        if self._parent is not None:
            update = _nested(update, self._parent)
        return self.session.update(update)

    async def emit(self, item: Any) -> None:
        """Send what a handler yielded or returned."""
        if item is None:
            return
        if isinstance(item, str):
            await self.update(AgentMessageChunk(content=TextContent(text=item)))
            return
        config = getattr(item, "__struct_config__", None)
        if config is not None and config.tag_field == "sessionUpdate":
            await self.update(item)
        else:
            await self.update(AgentMessageChunk(content=block(item)))

    async def call(self, method: Method[P, R], params: P, *, timeout: float | None = None) -> R:
        """Call the editor. `timeout` in seconds; `Settings.editor_timeout` by default, 0 for none."""
        return await self._call(method, method.name, params, timeout)

    async def call_extension(self, method: str, params: Any, *, timeout: float | None = None) -> Any:
        """The same for a method that the protocol does not know."""
        return await self._call(method, method, params, timeout)

    async def _call(self, method: Any, name: str, params: Any, timeout: float | None) -> Any:
        self.check_going()
        seconds = self.definition.settings.editor_timeout if timeout is None else timeout
        await self.session.all_shown()
        try:
            if seconds == 0 and name in ASKED_OF_PEOPLE and self.session.log_writer is not None:
                return await self._ask(method, params)
            while True:
                call = self.editor.call(method, params, timeout=seconds or None)
                answered, answer = await self.session.answer_of(call)
                if answered:
                    return answer
                if seconds == 0:  # a question to a person, who is not there any more
                    raise RequestCancelled
        except RpcError as error:
            self._shared.refusals.append((error, name))
            raise

    async def _ask(self, method: Method[Any, Any], params: Any) -> Any:
        """Ask the editor and whoever watches the session; the first answer counts."""
        session, editor = self.session, self.editor
        assert session.log_writer is not None

        async def of_editor() -> Any:
            answered, answer = await session.answer_of(editor.call(method, params))
            if not answered:
                raise RequestCancelled
            return answer

        return await session.questions.ask(
            session.log_writer, method, params, of_editor(), by=editor.principal
        )

    async def notify_extension(self, method: str, params: Any) -> None:
        self.check_going()
        await self.session.all_shown()
        await self.editor.notify(method, params)

    def refused(self, error: RpcError) -> str | None:
        """The request that the editor answered with this error; None if it is the author's own."""
        return next((name for refusal, name in self._shared.refusals if refusal is error), None)

    # -- its life ------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        return self._shared.cancelled

    def mark_cancelled(self) -> None:
        self._shared.cancelled = True

    def check_going(self) -> None:
        """Raises `LocalProtocolError` for a handler that ignored its cancellation and was left behind."""
        if self._shared.cancelled and self._shared.over:
            raise LocalProtocolError("this turn was cancelled")

    @property
    def stop_reason(self) -> StopReason | None:
        """What `stop` said, on this turn or on one nested in it."""
        return self._shared.stop_reason

    def stop(self, reason: StopReason) -> None:
        self._shared.stop_reason = reason

    def track(self, call_id: str, call: Closable) -> None:
        """Close this with the turn, at the latest."""
        self._shared.open_calls[call_id] = call

    def untrack(self, call_id: str) -> None:
        self._shared.open_calls.pop(call_id, None)

    def after_close(self, call_id: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do this after the update that ends the tool call."""
        self._shared.after_close.setdefault(call_id, []).append(work)

    def take_after_close(self, call_id: str) -> list[Callable[[], Awaitable[None]]]:
        """What `after_close` has gathered; to be done now."""
        return self._shared.after_close.pop(call_id, [])

    def after_reply(self, work: Callable[[], Awaitable[None] | None]) -> None:
        self._shared.after_reply.append(work)

    async def finish(self) -> None:
        """Close what is still open; nothing can be sent afterwards."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                for call in list(self._shared.open_calls.values()):
                    await call.close(failed=True)
        except (AcpellaError, TimeoutError) as error:
            log.info("closing the turn's tool calls: %s", error)
        finally:
            self._shared.over = True

    def replied(self) -> None:
        """The answer was sent: start what was put off."""
        for work in self._shared.after_reply:
            self.session.start(work)


def block(content: Any) -> ContentBlock:
    """A piece of a message. Raises `TypeError` for what cannot be one."""
    if isinstance(content, str):
        return TextContent(text=content)
    if not isinstance(content, _BLOCKS):
        kind = type(content).__name__
        raise TypeError(f"a message is made of text and content blocks, not {kind}")
    return content


def _nested(update: SessionUpdate, parent: str) -> SessionUpdate:
    """The update with the mark that puts it inside a tool call."""
    if not hasattr(update, "meta"):
        return update
    meta = dict(update.meta or {})  # type: ignore[union-attr]
    meta["claudeCode"] = {**meta.get("claudeCode", {}), "parentToolUseId": parent}
    return msgspec.structs.replace(update, meta=meta)  # type: ignore[type-var]

"""Runs prompts: one at a time in each session, each answered exactly once, however it ends."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from acpella.errors import ConnectionClosed, InternalError, InvalidParams, InvalidRequest, RpcError
from acpella.schema import (
    AudioContent,
    CancelNotification,
    ContentBlock,
    ImageContent,
    PromptRequest,
    PromptResponse,
    Unknown,
    UserMessageChunk,
    encode,
)

from .handlers import drive
from .turn import Turn

if TYPE_CHECKING:
    from .wire_v1 import WireV1

__all__ = ["Prompting"]

log = logging.getLogger(__name__)

CANCEL_GRACE = 2.0
"""Seconds that a cancelled handler gets to clean up before the prompt is answered without it."""

SAVE_GRACE = 0.5
"""Seconds to save the turn of a handler that was left behind when the agent ends."""

MIB = 1024 * 1024

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class _Slot:
    """The place of a session's one running prompt, there before anything is awaited."""

    def __init__(self, home: "Prompting") -> None:
        self.home = home
        self.turn: Turn | None = None
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False
        self.given_up = asyncio.Event()
        self.done = asyncio.Event()

    def cancel(self) -> None:
        if self.cancelled:
            return
        self.cancelled = True
        if self.turn is not None:
            self.turn.mark_cancelled()
        if self.task is not None:
            self.task.cancel()
            asyncio.get_running_loop().call_later(CANCEL_GRACE, self.give_up)

    def give_up(self) -> None:
        """Answer without the handler."""
        self.given_up.set()


class Prompting:
    """The prompts of one connection."""

    def __init__(self, wire: "WireV1") -> None:
        self._wire = wire
        self._agent = wire.agent
        self._slots: dict[str, _Slot] = {}

    def running(self, session_id: str) -> bool:
        return session_id in self._slots

    def is_cancelled(self, session_id: str) -> bool:
        """Whether the prompt that runs in the session was told to stop."""
        slot = self._slots.get(session_id)
        return slot is not None and slot.cancelled

    def hand_over(self, session_id: str, other: "Prompting") -> None:
        """The editor of this prompt is on another connection now, which may cancel it."""
        slot = self._slots.pop(session_id, None)
        if slot is not None:
            other._slots[session_id] = slot
            slot.home = other

    async def stop(self, session_id: str) -> None:
        """Cancel as `session/cancel` does and wait until the prompt was answered (R-175)."""
        slot = self._slots.get(session_id)
        if slot is not None:
            slot.cancel()
            await slot.done.wait()

    async def stop_all(self, grace: float) -> None:
        """Cancel every prompt and wait for them; after `grace` seconds without those that ignore it."""
        slots = list(self._slots.values())
        for slot in slots:
            slot.cancel()
        waits = [asyncio.ensure_future(slot.done.wait()) for slot in slots]
        if waits:
            await asyncio.wait(waits, timeout=grace)
            for slot in slots:
                slot.give_up()
            _, late = await asyncio.wait(waits, timeout=SAVE_GRACE)
            for wait in late:
                wait.cancel()

    async def cancel(self, params: CancelNotification) -> None:
        """`session/cancel`; without a running prompt there is nothing to do (R-213)."""
        slot = self._slots.get(params.session_id)
        if slot is not None:
            slot.cancel()

    async def prompt(self, params: PromptRequest) -> PromptResponse:
        """`session/prompt`."""
        session_id = params.session_id
        if session_id in self._slots:
            raise InvalidRequest("a prompt is running in this session; cancel it or wait for its end")
        slot = self._slots[session_id] = _Slot(self)
        try:
            await self._wire.check_login()
            async with self._wire.using(session_id) as session:
                prompt, skipped = self._accept(params.prompt)
                turn = slot.turn = session.turn = Turn(self._agent, session, prompt)
                try:
                    return await self._run(slot, turn, params.prompt, skipped)
                finally:
                    session.turn = None
        finally:
            del slot.home._slots[session_id]
            slot.done.set()

    def _accept(self, prompt: list[ContentBlock]) -> tuple[list[ContentBlock], list[str]]:
        """What of a prompt the agent takes, and why the rest was left out (C12)."""
        agent = self._agent
        taken: list[ContentBlock] = []
        skipped: list[str] = []
        for block in prompt:
            if isinstance(block, ImageContent) and not agent.images:
                raise InvalidParams("this agent takes no images")
            if isinstance(block, AudioContent) and not agent.audio:
                raise InvalidParams("this agent takes no audio")
            if isinstance(block, Unknown):
                raise InvalidParams(f"this agent takes no content of type {block.tag!r}")
            limit = agent.settings.max_image_bytes
            if isinstance(block, ImageContent) and block.mime_type not in _IMAGES:
                skipped.append(f"an image of type {block.mime_type} was left out")
            elif isinstance(block, ImageContent | AudioContent) and _size(block.data) > limit:
                shown = f"{limit / MIB:g} MiB" if limit >= MIB else f"{limit} bytes"
                skipped.append(f"{block.mime_type} of more than {shown} was left out")
            else:
                taken.append(block)
        return taken, skipped

    async def _run(
        self, slot: _Slot, turn: Turn, given: list[ContentBlock], skipped: list[str]
    ) -> PromptResponse:
        session = turn.session
        if session.recorder is not None:
            for block in given:
                session.recorder.add(UserMessageChunk(content=block))
        if slot.cancelled:
            turn.mark_cancelled()
        else:
            handler = self._agent.handler_for(turn)
            slot.task = asyncio.get_running_loop().create_task(self._work(handler, turn, skipped))
            await self._until_done(slot, slot.task)
        failure = self._failure_of(slot)
        await turn.finish()
        reason = "cancelled" if slot.cancelled else turn.final_stop_reason
        response = PromptResponse(stop_reason=reason, usage=turn.tokens if self._wire.shows_tokens else None)
        if session.title is None and failure is None:
            session.title = _title(turn.text)
        await session.save(turn=encode(response))  # nothing is acknowledged that is not kept
        await session.tell_title()
        await session.shown()
        if failure is not None:
            raise failure
        turn.run_after()
        return response

    async def _work(self, handler: Any, turn: Turn, skipped: list[str]) -> None:
        for warning in skipped:
            log.warning("session %s: %s", turn.session.id, warning)
            await turn.notice(warning, severity="warning")
        await drive(handler, turn)

    def _failure_of(self, slot: _Slot) -> RpcError | None:
        """What the handler failed with, if it was not cancelled."""
        task = slot.task
        if task is None or not task.done():
            return None
        if task.cancelled():
            slot.cancelled = True  # an abort is never an error
            return None
        error = task.exception()
        if error is None or slot.cancelled:
            return None
        if self._wire.connection.closed is not None and isinstance(error, ConnectionClosed):
            slot.cancelled = True  # the editor went away
            return None
        if isinstance(error, RpcError):
            request = None if slot.turn is None else slot.turn.refused(error)
            # what the editor answered to us is no answer to what it asked
            return error if request is None else InternalError(f"{request} failed: {error.reason}")
        log.error("the prompt handler failed", exc_info=error)
        where = self._agent.log_file  # the text itself stays here
        return InternalError(data=None if where is None else f"the agent's log says why: {where}")

    async def _until_done(self, slot: _Slot, task: asyncio.Task[None]) -> None:
        """Wait for the handler; for one that ignores its cancellation only for a while."""
        given_up = asyncio.ensure_future(slot.given_up.wait())
        try:
            while not task.done() and not given_up.done():
                try:
                    await asyncio.wait({task, given_up}, return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    # This request was cancelled, or the connection ends. The turn is told to stop, and the
                    # answer will say so; the request itself goes on to its end.
                    slot.cancel()
                    current = asyncio.current_task()
                    if current is not None:
                        current.uncancel()
        finally:
            given_up.cancel()
            if not task.done():
                log.warning("a prompt handler ignores its cancellation and is left behind")
                task.add_done_callback(_left_behind)


def _left_behind(task: "asyncio.Task[None]") -> None:
    """Nobody waits for it, but asyncio shall not complain on stderr."""
    if not task.cancelled() and task.exception() is not None:
        log.info("the handler that was left behind failed: %s", task.exception())


def _size(base64: str) -> int:
    """How many bytes these characters stand for."""
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _title(text: str) -> str | None:
    """A name for the session from its first prompt."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return (first if len(first) <= 60 else first[:59] + "…") or None

"""Runs prompts: one at a time in each session, each answered exactly once, however it ends."""

import asyncio
import logging

from acpella.errors import ConnectionClosed, InternalError, InvalidParams, RpcError
from acpella.schema import (
    AudioContent,
    ContentBlock,
    ImageContent,
    PromptResponse,
    Unknown,
    UserMessageChunk,
    encode,
)
from acpella.sessions import StoreUnavailable

from .definition import Definition, PromptHandler
from .handlers import drive
from .leases import still_running
from .logins import Logins
from .operations import Prompt
from .running import RunningPrompt, RunningPrompts
from .service import SessionService
from .session import SessionCore
from .turn import Turn
from .turn_core import TurnCore

__all__ = ["Prompting", "accepted_content", "title_of"]

log: logging.Logger = logging.getLogger(__name__)

MIB = 1024 * 1024

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class Prompting:
    """Answers the prompts of one connection."""

    def __init__(
        self, definition: Definition, service: SessionService, running: RunningPrompts, logins: Logins
    ) -> None:
        self._definition = definition
        self._service = service
        self._running = running
        self._logins = logins

    async def prompt(self, request: Prompt) -> PromptResponse:
        session_id = request.session_id
        if session_id in self._running:
            raise still_running()
        running = self._running.start(session_id)
        try:
            await self._logins.check(self._service.editor)
            async with self._service.using(session_id) as session:
                session.prompt = running
                try:
                    return await self._run(running, session, request.content)
                finally:
                    session.prompt = None
        except StoreUnavailable as error:
            raise _interrupted(session_id, error) from None
        finally:
            running.end()

    async def _run(
        self, running: RunningPrompt, session: SessionCore, content: list[ContentBlock]
    ) -> PromptResponse:
        prompt, skipped = accepted_content(self._definition, content)
        core = TurnCore(self._definition, session)
        handler, command, argument = self._definition.handler_for(prompt)
        turn = Turn(core, prompt, command=command, argument=argument)
        running.on_cancel = core.mark_cancelled
        if session.log_writer is not None:
            # if this turn is interrupted before it says anything, the next prompt follows at once
            message_id = f"prompt-{session.log_writer.last_seq + 1}"
            for block in content:
                session.log_writer.add(UserMessageChunk(content=block, message_id=message_id))
        if running.cancelled:
            core.mark_cancelled()
        else:
            work = self._work(handler, turn, core, skipped)
            running.task = asyncio.get_running_loop().create_task(work, name=f"turn of {session.id}")
            await self._until_done(running, running.task)
        failure = self._failure_of(running, core)
        await core.finish()
        reason = "cancelled" if running.cancelled else core.stop_reason or turn.stop_reason
        tokens = turn.tokens if self._service.editor.capabilities.tokens else None
        response = PromptResponse(stop_reason=reason, usage=tokens)
        if session.title is None and failure is None:
            session.title = title_of(turn.text)
        await session.save(turn=encode(response))  # nothing is acknowledged that is not kept
        await session.tell_title()
        await session.all_shown()
        if failure is not None:
            raise failure
        core.replied()
        return response

    async def _work(self, handler: PromptHandler, turn: Turn, core: TurnCore, skipped: list[str]) -> None:
        for warning in skipped:
            log.warning("session %s: %s", turn.session.id, warning)
            await turn.notice(warning, severity="warning")
        await drive(handler, turn, core)

    def _failure_of(self, running: RunningPrompt, core: TurnCore) -> RpcError | None:
        """What the handler failed with, if it was not cancelled."""
        task = running.task
        if task is None or not task.done():
            return None
        if task.cancelled():
            running.cancelled = True  # an abort is never an error
            return None
        error = task.exception()
        if error is None or running.cancelled:
            return None
        if self._service.editor.is_gone and isinstance(error, ConnectionClosed):
            running.cancelled = True
            return None
        if isinstance(error, RpcError):
            request = core.refused(error)
            # the editor's answer to us does not answer what it asked
            return error if request is None else InternalError(f"{request} failed: {error.reason}")
        if isinstance(error, StoreUnavailable):
            return _interrupted(core.session.id, error)
        log.error("the prompt handler failed", exc_info=error)
        where = self._definition.log_file  # the text itself stays here
        return InternalError(data=None if where is None else f"the agent's log says why: {where}")

    async def _until_done(self, running: RunningPrompt, task: asyncio.Task[None]) -> None:
        """Wait for the handler; for one that ignores its cancellation only for a while."""
        given_up = asyncio.ensure_future(running.given_up.wait())
        try:
            while not task.done() and not given_up.done():
                try:
                    await asyncio.wait({task, given_up}, return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    # This request was cancelled, or the connection ends. The turn is told to stop, and the
                    # answer will say so; the request itself goes on to its end.
                    running.cancel()
                    current = asyncio.current_task()
                    if current is not None:
                        current.uncancel()
        finally:
            given_up.cancel()
            if not task.done():
                log.warning("a prompt handler ignores its cancellation and is left behind")
                task.add_done_callback(_left_behind)


def _interrupted(session_id: str, error: StoreUnavailable) -> InternalError:
    """The answer to a prompt whose turn the store could not keep. Where the store is, only our log says."""
    log.warning("session %s: a turn was interrupted: %s", session_id, error)
    return InternalError(
        "the store of sessions is away, so this was interrupted; nothing of it runs again by itself",
        data={"reason": "interrupted"},
    )


def accepted_content(
    definition: Definition, prompt: list[ContentBlock]
) -> tuple[list[ContentBlock], list[str]]:
    """What of a prompt the agent takes, and why the rest was left out (C12)."""
    accepted: list[ContentBlock] = []
    skipped: list[str] = []
    for block in prompt:
        if isinstance(block, ImageContent) and not definition.images:
            raise InvalidParams("this agent takes no images")
        if isinstance(block, AudioContent) and not definition.audio:
            raise InvalidParams("this agent takes no audio")
        if isinstance(block, Unknown):
            raise InvalidParams(f"this agent takes no content of type {block.tag!r}")
        limit = definition.settings.max_image_bytes
        if isinstance(block, ImageContent) and block.mime_type not in _IMAGES:
            skipped.append(f"an image of type {block.mime_type} was left out")
        elif isinstance(block, ImageContent | AudioContent) and _size(block.data) > limit:
            limit_text = f"{limit / MIB:g} MiB" if limit >= MIB else f"{limit} bytes"
            skipped.append(f"{block.mime_type} of more than {limit_text} was left out")
        else:
            accepted.append(block)
    return accepted, skipped


def _left_behind(task: "asyncio.Task[None]") -> None:
    """Nobody waits for it, but asyncio shall not complain on stderr."""
    if not task.cancelled() and task.exception() is not None:
        log.info("the handler that was left behind failed: %s", task.exception())


def _size(base64: str) -> int:
    """How many bytes these characters stand for."""
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def title_of(text: str) -> str | None:
    """A name for the session from its first prompt."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return (first if len(first) <= 60 else first[:59] + "…") or None

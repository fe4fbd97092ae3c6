"""What is behind a prompt under way: the task that awaits its answer, the updates that wait to be taken."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from acpella.errors import AuthRequired, ConnectionClosed, LocalProtocolError
from acpella.schema import CancelNotification, ContentBlock, PromptRequest, SessionUpdate, methods

from .result import Result
from .session_core import ClientSessionCore

__all__ = ["Overflow", "PromptTurnCore", "UpdatesDropped"]

Overflow: TypeAlias = Literal["block", "drop_oldest"]
"""What happens when updates come faster than they are taken: the agent waits, or the oldest are lost."""


@dataclass(frozen=True, slots=True)
class UpdatesDropped:
    """Stands, with `drop_oldest`, where updates are missing. The turn's `result` has them all the same."""

    count: int


MAX_WAITING = 4096
"""Updates that wait for the consumer. Without it, a stalled consumer lets a fast agent fill the memory."""


SHOWN_FRAMES = 6
"""Of the last frames, how many the traceback of a crash in a turn shows; the error's `frames` has more."""


class PromptTurnCore:
    """Sends the prompt, gathers what comes back, ends it; `PromptTurn` shows the user's part of it."""

    def __init__(self, session: ClientSessionCore, prompt: list[ContentBlock], overflow: Overflow) -> None:
        self.result: Result = Result()
        self.dropped: int = 0
        self.is_wanted: bool = False
        """Somebody has awaited, iterated, entered or cancelled it."""
        self.is_cancelling: bool = False
        self.task: asyncio.Task[None] | None = None
        self._session = session
        self._agent = session.agent
        self._prompt = prompt
        self._overflow = overflow
        self._waiting: deque[SessionUpdate] = deque()
        self._keep = True  # updates wait for a consumer; False when only the result counts
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._lost = 0  # updates dropped since the consumer was last told
        self._gave_up = ""  # why the agent was ended in the middle of this

    async def cancel(self, *, within: float | None = None) -> Result:
        """Tell the agent to stop and await its answer. Raises `TimeoutError` if it had to be ended."""
        limit = self._agent.timeouts.cancel if within is None else within
        if self.task is None:
            self.is_wanted = self.is_cancelling = True
        if self.task is not None and not self.task.done():
            await self._tell_cancel()
            self._overflow = "drop_oldest"  # whoever waits here takes no updates, and must not block the end
            self._room.set()
            try:
                async with asyncio.timeout(limit or None):
                    await asyncio.shield(self.task)
            except TimeoutError:
                if self.task.done():  # it is the turn's own
                    raise
                late = f"{self._agent.name} did not stop within {limit:g} s"
                self._gave_up = f"{late} and was ended"
                await self._agent.kill(late)
                raise TimeoutError(self._gave_up) from None
        return self.result

    # -- how it runs -----------------------------------------------------------------------

    def start(self) -> asyncio.Task[None]:
        self.is_wanted = True
        if self.task is None:
            if self.is_cancelling:
                raise LocalProtocolError("this prompt was cancelled before it was sent; make another one")
            self._session.begin(self)
            self.task = asyncio.get_running_loop().create_task(self._run(), name="prompt")
            self.task.add_done_callback(_retrieve)
        return self.task

    async def _run(self) -> None:
        request = PromptRequest(session_id=self._session.id, prompt=self._prompt)
        watch = None
        if self._agent.timeouts.idle_turn:
            watch = asyncio.get_running_loop().create_task(self._watch_idleness())
        try:
            await self._agent.ready()
            if self._session.lost is not None:
                raise self._session.lost
            response = await self._agent.connection.call(methods.PROMPT, request, in_order=True)
            self.result.end(response)
        except AuthRequired as error:  # some agents make sessions for anybody and complain only now
            raise self._agent.explain_login(error) from None
        except ConnectionClosed as error:
            if self._gave_up:
                raise TimeoutError(self._gave_up) from error
            if error.frames:  # redacted; a traceback shows notes, `str` does not
                last = "\n".join(f"  {frame}" for frame in error.frames[-SHOWN_FRAMES:])
                error.add_note(f"The last messages, to the agent (->) and from it (<-):\n{last}")
            raise
        finally:
            if watch is not None:
                watch.cancel()
            self.result.close_tool_calls("unfinished")
            self._session.end(self)
            self._news.set()
            self._room.set()

    async def _watch_idleness(self) -> None:
        """Without a sign of life for too long: cancel, then give up on the agent."""
        session = self._session
        limit = left = self._agent.timeouts.idle_turn
        loop = asyncio.get_running_loop()
        while left > 0:  # the deadline moves with every update, and while the agent waits for us
            await asyncio.sleep(left)
            left = limit if session.is_serving else session.last_sign + limit - loop.time()
        await self._tell_cancel()
        if not self._agent.timeouts.cancel:
            return
        await asyncio.sleep(self._agent.timeouts.cancel)
        self._gave_up = f"{self._agent.name} was silent for {limit:g} s, did not stop, and was ended"
        await self._agent.kill(self._gave_up)

    async def finish(self) -> Result:
        self._keep = False
        self._drop_waiting()
        await self._until_done(self.start())
        return self.result

    async def updates(self) -> AsyncGenerator[SessionUpdate | UpdatesDropped, None]:
        task = self.start()
        waiting = self._waiting
        try:
            while True:
                while waiting:
                    if self._lost:
                        lost, self._lost = self._lost, 0
                        yield UpdatesDropped(lost)
                    update = waiting.popleft()
                    if not waiting:
                        self._room.set()
                    yield update
                if task.done():
                    break
                self._news.clear()
                await self._news.wait()
            await task  # raises what it failed with
        finally:
            if not task.done():
                self._keep = False
                self._drop_waiting()
                with suppress(ConnectionClosed):  # then there is nothing left to cancel
                    await self.cancel()

    async def _until_done(self, task: asyncio.Task[None]) -> None:
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await self.cancel()
            raise

    async def _tell_cancel(self) -> None:
        if self.is_cancelling:
            return
        self.is_cancelling = True
        self.result.close_tool_calls()
        self._session.cancel_questions()
        self._agent.note_descendants()  # agents often end a shell, but not what it has started
        try:
            await self._agent.connection.notify(
                methods.CANCEL, CancelNotification(session_id=self._session.id)
            )
        except ConnectionClosed:
            pass  # the turn itself fails with this error

    # -- what arrives ------------------------------------------------------------------------

    def deliver(self, update: SessionUpdate) -> Awaitable[None] | None:
        """Take an update; what is returned must be awaited before more are taken."""
        self.result.fold(update)
        if not self._keep:
            return None
        waiting = self._waiting
        waiting.append(update)
        if not self._news.is_set():
            self._news.set()
        if len(waiting) < MAX_WAITING:
            return None
        if self._overflow == "drop_oldest":
            waiting.popleft()
            self.dropped += 1
            self._lost += 1
            return None
        self._room.clear()
        return self._wait_for_room()

    async def _wait_for_room(self) -> None:
        await self._room.wait()

    def _drop_waiting(self) -> None:
        self._waiting.clear()
        self._room.set()


def _retrieve(task: asyncio.Task[None]) -> None:
    """Mark the error as seen: if nobody waits for the turn any more, asyncio need not log it."""
    if not task.cancelled():
        task.exception()

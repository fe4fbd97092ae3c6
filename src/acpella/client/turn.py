"""A prompt under way, as the one who sent it sees it."""

import asyncio
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from acpella.errors import AuthRequired, ConnectionClosed, LocalProtocolError
from acpella.schema import CancelNotification, ContentBlock, PromptRequest, SessionUpdate, methods

from .result import Result

if TYPE_CHECKING:
    from .session import ClientSession

__all__ = ["Overflow", "PromptTurn", "UpdatesDropped"]

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


class PromptTurn:
    """Iterate it for the updates, await it for the `Result`, `cancel()` it.

        async for update in session.prompt("hi"): ...
        result = await session.prompt("hi")
        async with session.prompt("hi") as turn: ...      # leaving the block early cancels

    It starts when it is first iterated, awaited or entered; nothing is sent before. Cancelling whoever waits
    for it cancels it. With `overflow="drop_oldest"`, an `UpdatesDropped` stands where updates are missing.
    """

    how_to_send = "await it or iterate it"
    """For the warning; it is another way without an event loop."""

    def __init__(
        self, session: "ClientSession", prompt: list[ContentBlock], *, overflow: Overflow = "block"
    ) -> None:
        if overflow not in ("block", "drop_oldest"):
            self._used = True  # so that nobody is told to send what was never made
            raise ValueError(f"overflow is 'block' or 'drop_oldest', not {overflow!r}")
        self.session = session
        self._result = Result()
        self.dropped = 0
        """Updates that were lost to `drop_oldest`."""
        self._prompt = prompt
        self._overflow = overflow
        self._waiting: deque[SessionUpdate] = deque()
        self._keep = True  # updates wait for a consumer; False when only the result counts
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._cancelling = False
        self._used = False  # somebody wants it
        self._lost = 0  # updates dropped since the consumer was last told
        self._gave_up = ""  # why the agent was ended in the middle of this

    # -- using it ------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Result]:
        return self._finish().__await__()

    def __aiter__(self) -> AsyncGenerator[SessionUpdate | UpdatesDropped, None]:
        return self._updates()

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None and not self._task.done():
            await self.cancel()

    def __del__(self, _warn: Any = warnings.warn) -> None:
        if not self._used:
            _warn(f"a prompt was never sent: {self.how_to_send}", RuntimeWarning, source=self)

    async def cancel(self, *, within: float | None = None) -> Result:
        """Stop the turn: pending permission requests are answered, the agent is told, its answer awaited.

        Raises:
            TimeoutError: the agent did not stop within so many seconds (`Timeouts.cancel` by default) and
                was ended.
        """
        limit = self.session.timeouts.cancel if within is None else within
        if self._task is None:
            self._used = self._cancelling = True
        if self._task is not None and not self._task.done():
            await self._tell_cancel()
            self._overflow = "drop_oldest"  # whoever waits here takes no updates, and must not block the end
            self._room.set()
            try:
                async with asyncio.timeout(limit or None):
                    await asyncio.shield(self._task)
            except TimeoutError:
                if self._task.done():  # it is the turn's own
                    raise
                late = f"{self.session.agent.name} did not stop within {limit:g} s"
                self._gave_up = f"{late} and was ended"
                await self.session.agent.kill(late)
                raise TimeoutError(self._gave_up) from None
        return self._result

    @property
    def is_sent(self) -> bool:
        """Whether the agent got the prompt, or never will as it was cancelled before."""
        return self._task is not None or self._cancelling

    @property
    def is_cancelling(self) -> bool:
        """Whether the agent was told to stop."""
        return self._cancelling

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended; None while it has not."""
        return self._result.stop_reason

    @property
    def result(self) -> Result:
        """What is known of the turn so far. Raises `LocalProtocolError` before the prompt was sent."""
        if not self.is_sent:
            raise LocalProtocolError("the prompt was not sent yet: `result = await session.prompt(...)`")
        return self._result

    @property
    def text(self) -> str:
        """What the agent has said so far. Raises `LocalProtocolError` before the prompt was sent."""
        if self._task is None:
            raise LocalProtocolError("the prompt was not sent yet: `(await session.prompt(...)).text`")
        return self._result.text

    # -- how it runs -----------------------------------------------------------------------

    def _start(self) -> asyncio.Task[None]:
        self._used = True
        if self._task is None:
            if self._cancelling:
                raise LocalProtocolError("this prompt was cancelled before it was sent; make another one")
            self.session.begin(self)
            self._task = asyncio.get_running_loop().create_task(self._run(), name="prompt")
            self._task.add_done_callback(_retrieve)
        return self._task

    async def _run(self) -> None:
        request = PromptRequest(session_id=self.session.id, prompt=self._prompt)
        watch = None
        if self.session.timeouts.idle_turn:
            watch = asyncio.get_running_loop().create_task(self._watch_idleness())
        try:
            await self.session.agent.ready()
            if self.session.lost is not None:
                raise self.session.lost
            response = await self.session.agent.connection.call(methods.PROMPT, request, in_order=True)
            self._result.end(response)
        except AuthRequired as error:  # some agents make sessions for anybody and complain only now
            raise self.session.agent.explain_login(error) from None
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
            self._result.close_tool_calls("unfinished")
            self.session.end(self)
            self._news.set()
            self._room.set()

    async def _watch_idleness(self) -> None:
        """Without a sign of life for too long: cancel, then give up on the agent."""
        session = self.session
        limit = left = session.timeouts.idle_turn
        loop = asyncio.get_running_loop()
        while left > 0:  # the deadline moves with every update, and while the agent waits for us
            await asyncio.sleep(left)
            left = limit if session.is_serving else session.last_sign + limit - loop.time()
        await self._tell_cancel()
        await asyncio.sleep(session.timeouts.cancel)
        self._gave_up = f"{session.agent.name} was silent for {limit:g} s, did not stop, and was ended"
        await session.agent.kill(self._gave_up)

    async def _finish(self) -> Result:
        self._keep = False
        self._drop_waiting()
        await self._until_done(self._start())
        return self._result

    async def _updates(self) -> AsyncGenerator[SessionUpdate | UpdatesDropped, None]:
        task = self._start()
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
        if self._cancelling:
            return
        self._cancelling = True
        self._result.close_tool_calls()
        self.session.answer_questions()
        self.session.agent.note_descendants()  # agents often end a shell, but not what it has started
        try:
            await self.session.agent.connection.notify(
                methods.CANCEL, CancelNotification(session_id=self.session.id)
            )
        except ConnectionClosed:
            pass  # its own end tells

    # -- what arrives ------------------------------------------------------------------------

    def deliver(self, update: SessionUpdate) -> Awaitable[None] | None:
        """Take an update; what is returned must be awaited before more are taken."""
        self._result.fold(update)
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
    """Whoever waits for the turn hears how it failed; when nobody waits any more, nobody needs to hear."""
    if not task.cancelled():
        task.exception()

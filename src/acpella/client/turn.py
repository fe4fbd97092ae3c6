"""A prompt under way, as the one who sent it sees it."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from acpella.errors import ConnectionClosed
from acpella.schema import CancelNotification, ContentBlock, PromptRequest, SessionUpdate, methods

from .result import Result

if TYPE_CHECKING:
    from .session import ClientSession

__all__ = ["Overflow", "PromptTurn"]

Overflow: TypeAlias = Literal["block", "drop_oldest"]
"""What happens when updates come faster than they are taken: the agent waits, or the oldest are lost."""

MAX_WAITING = 4096
"""Updates that wait for the consumer. Without it, a stalled consumer lets a fast agent fill the memory."""


class PromptTurn:
    """Iterate it for the updates, await it for the `Result`, `cancel()` it.

        async for update in session.prompt("hi"): ...
        result = await session.prompt("hi")
        async with session.prompt("hi") as turn: ...      # leaving the block early cancels

    It starts when it is first iterated, awaited or entered. Cancelling whoever waits for it cancels it.
    """

    def __init__(
        self, session: "ClientSession", prompt: list[ContentBlock], *, overflow: Overflow = "block"
    ) -> None:
        self.session = session
        self.result = Result()
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

    # -- using it ------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Result]:
        return self._finish().__await__()

    def __aiter__(self) -> AsyncGenerator[SessionUpdate, None]:
        return self._updates()

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None and not self._task.done():
            await self.cancel()

    async def cancel(self) -> Result:
        """Stop the turn: pending permission requests are answered, the agent is told, its answer awaited."""
        if self._task is not None and not self._task.done():
            await self._tell_cancel()
            self._keep = False
            self._drop_waiting()
            try:
                async with asyncio.timeout(self.session.timeouts.cancel or None):
                    await asyncio.shield(self._task)
            except TimeoutError:
                late = f"{self.session.agent.name} did not stop within {self.session.timeouts.cancel:g} s"
                await self.session.agent.kill(late)
                raise TimeoutError(f"{late} and was ended") from None
        return self.result

    @property
    def stop_reason(self) -> str | None:
        return self.result.stop_reason

    @property
    def text(self) -> str:
        return self.result.text

    # -- how it runs -----------------------------------------------------------------------

    def _start(self) -> asyncio.Task[None]:
        if self._task is None:
            self.session.begin(self)
            self._task = asyncio.get_running_loop().create_task(self._run(), name="prompt")
            self._task.add_done_callback(_retrieve)
        return self._task

    async def _run(self) -> None:
        request = PromptRequest(session_id=self.session.id, prompt=self._prompt)
        watch = asyncio.get_running_loop().create_task(self._watch_idleness())
        try:
            await self.session.agent.ready()
            if self.session.lost is not None:
                raise self.session.lost
            response = await self.session.agent.connection.call(methods.PROMPT, request, in_order=True)
            self.result.end(response)
        finally:
            watch.cancel()
            self.session.end(self)
            self._news.set()
            self._room.set()

    async def _watch_idleness(self) -> None:
        """Without a sign of life for too long: cancel, then give up on the agent."""
        limit = self.session.timeouts.idle_turn
        if not limit:
            return
        loop = asyncio.get_running_loop()
        left = limit
        while left > 0:  # the deadline moves with every update
            await asyncio.sleep(left)
            left = self.session.last_sign + limit - loop.time()
        await self._tell_cancel()
        await asyncio.sleep(self.session.timeouts.cancel)
        await self.session.agent.kill(f"the agent was silent for {limit:g} s and did not stop when told to")

    async def _finish(self) -> Result:
        self._keep = False
        self._drop_waiting()
        await self._until_done(self._start())
        return self.result

    async def _updates(self) -> AsyncGenerator[SessionUpdate, None]:
        task = self._start()
        waiting = self._waiting
        try:
            while True:
                while waiting:
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
        self.result.close_tool_calls()
        self.session.answer_pending_permissions()
        try:
            await self.session.agent.connection.notify(
                methods.CANCEL, CancelNotification(session_id=self.session.id)
            )
        except ConnectionClosed:
            pass  # its own end tells

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
            return None
        self._room.clear()
        return self._wait_for_room()

    async def _wait_for_room(self) -> None:
        await self._room.wait()

    def _drop_waiting(self) -> None:
        self._waiting.clear()
        self._room.set()


def _retrieve(task: asyncio.Task[None]) -> None:
    """Whoever waits for the turn hears how it failed; when nobody does any more, that is no news."""
    if not task.cancelled():
        task.exception()

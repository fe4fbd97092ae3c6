"""A prompt under way, as the one who sent it sees it."""

import warnings
from collections.abc import AsyncGenerator, Generator
from types import TracebackType
from typing import Any, Self

from acpella.errors import LocalProtocolError
from acpella.schema import SessionUpdate

from .result import Result
from .turn_core import PromptTurnCore, UpdatesDropped

__all__ = ["PromptTurn"]

_HOW_TO_SEND = "await it or iterate it; without an event loop iterate it, call wait() or read its text"


class PromptTurn:
    """Iterate it for the updates, await it for the `Result`, `cancel()` it.

        async for update in session.prompt("hi"): ...
        result = await session.prompt("hi")
        async with session.prompt("hi") as turn: ...      # leaving the block early cancels

    It starts when it is first iterated, awaited or entered; nothing is sent before. Cancelling whoever waits
    for it cancels it. With `overflow="drop_oldest"`, an `UpdatesDropped` stands where updates are missing.
    """

    def __init__(self, core: PromptTurnCore) -> None:
        """Use `ClientSession.prompt`."""
        self._core = core

    def __await__(self) -> Generator[Any, None, Result]:
        self._core.is_wanted = True  # this object may be gone when the first step is taken
        return self._core.finish().__await__()

    def __aiter__(self) -> AsyncGenerator[SessionUpdate | UpdatesDropped, None]:
        self._core.is_wanted = True
        return self._core.updates()

    async def __aenter__(self) -> Self:
        self._core.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._core.task is not None and not self._core.task.done():
            await self._core.cancel()

    def __del__(self, _warn: Any = warnings.warn) -> None:
        if not self._core.is_wanted:
            _warn(f"a prompt was never sent: {_HOW_TO_SEND}", RuntimeWarning, source=self)

    async def cancel(self, *, within: float | None = None) -> Result:
        """Stop the turn: pending permission requests are answered, the agent is told, its answer awaited.

        Raises:
            TimeoutError: the agent did not stop within so many seconds (`Timeouts.cancel` by default) and
                was ended.
        """
        return await self._core.cancel(within=within)

    @property
    def is_sent(self) -> bool:
        """Whether the agent got the prompt, or never will as it was cancelled before."""
        return self._core.task is not None or self._core.is_cancelling

    @property
    def is_cancelling(self) -> bool:
        """Whether the agent was told to stop."""
        return self._core.is_cancelling

    @property
    def dropped(self) -> int:
        """Updates that were lost to `drop_oldest`."""
        return self._core.dropped

    @property
    def stop_reason(self) -> str | None:
        """Why the turn ended; None while it has not."""
        return self._core.result.stop_reason

    @property
    def result(self) -> Result:
        """What is known of the turn so far. Raises `LocalProtocolError` before the prompt was sent."""
        if not self.is_sent:
            raise LocalProtocolError("the prompt was not sent yet: `result = await session.prompt(...)`")
        return self._core.result

    @property
    def text(self) -> str:
        """What the agent has said so far. Raises `LocalProtocolError` before the prompt was sent."""
        if self._core.task is None:
            raise LocalProtocolError("the prompt was not sent yet: `(await session.prompt(...)).text`")
        return self._core.result.text

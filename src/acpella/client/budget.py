"""Limits the requests that an agent has open at once; without it, waiting answers would fill the memory."""

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Self

__all__ = ["Budget", "Share"]

MAX_REQUESTS = 16
"""Files and outputs that are served at once."""

MAX_BYTES = 32 * 1024 * 1024
"""Most bytes in them: of what is being read, and of answers that the agent has not taken yet."""


class Budget:
    """Makes requests wait for each other when there are too many of them, or they are too large."""

    def __init__(self, *, requests: int = MAX_REQUESTS, size: int = MAX_BYTES) -> None:
        self._requests = requests  # what is left
        self._size = size
        self._total = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def share(self, size: int) -> "Share":
        """A context manager that reserves this many bytes, or the whole budget if that is smaller."""
        return Share(self, min(size, self._total))

    async def take(self, size: int) -> None:
        if self._waiting or not self._fits(size):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append((size, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    with suppress(ValueError):  # passed over meanwhile
                        self._waiting.remove((size, turn))
                    self._wake()
                else:
                    self.give_back(size)
                raise
        else:
            self._grant(size)

    def give_back(self, size: int, *, requests: int = 1) -> None:
        self._requests += requests
        self._size += size
        self._wake()

    def _fits(self, size: int) -> bool:
        return self._requests > 0 and self._size >= size

    def _grant(self, size: int) -> None:
        self._requests -= 1
        self._size -= size

    def _wake(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._grant(size)
                turn.set_result(None)


class Share:
    """What one request holds of a budget. Leaving it does not wait, so an answer follows at once."""

    def __init__(self, budget: Budget, size: int) -> None:
        self._budget = budget
        self._size = size

    async def __aenter__(self) -> Self:
        await self._budget.take(self._size)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._budget.give_back(self._size)

    def shrink(self, size: int) -> None:
        """Give back what turned out not to be needed."""
        if size < self._size:
            self._budget.give_back(self._size - size, requests=0)
            self._size = size

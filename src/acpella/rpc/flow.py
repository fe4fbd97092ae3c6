"""Flow control of a connection: when its channel is read, and whose turn it is to write."""

import asyncio
from collections import deque

from .channel import Channel

__all__ = ["SMALL_READ", "Reading", "Turns"]

SMALL_READ = 8 * 1024
HOT_READS = 5
HOT_GAP = 0.004
LULL = 0.0003
"""A peer that writes each small message by itself wakes us for each, and is slowed by that. After `HOT_READS`
small reads less than `HOT_GAP` seconds apart, reading rests for `LULL` seconds so that messages gather."""


class Turns:
    """Lets those who wait to write go one after the other.

    All at once, they would fill the buffer before any of it has left.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    async def wait(self) -> None:
        """Wait to be woken."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self.wake_next()  # the turn may have come already
            raise

    def wake_next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def wake_all(self) -> None:
        for _ in range(len(self._waiting)):
            self.wake_next()


class Reading:
    """Decides whether a channel is read. Reading stops while anybody has a reason to stop it."""

    __slots__ = ("_channel", "_last", "_over", "_reasons", "_small")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._reasons: set[str] = set()
        self._small = 0  # reads in a row that were small and quick
        self._last = 0.0
        self._over = False

    @property
    def rests(self) -> bool:
        return bool(self._reasons)

    def end(self) -> None:
        """Do not touch the channel any more."""
        self._over = True

    def rest(self, why: str, *, stop: bool) -> None:
        """Add a reason to stop reading, or remove it."""
        reasons = self._reasons
        rested = bool(reasons)
        if stop:
            reasons.add(why)
        else:
            reasons.discard(why)
        if not self._over and bool(reasons) is not rested:
            if reasons:
                self._channel.pause_reading()
            else:
                self._channel.resume_reading()

    def small_read(self, *, of_stream: bool) -> None:
        """Little arrived. If that happens again and again, let more gather before the next read."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        quick = now - self._last < HOT_GAP
        self._last = now
        self._small = self._small + 1 if quick and of_stream else 0
        if self._small >= HOT_READS and not self._reasons:
            self.rest("lull", stop=True)
            loop.call_later(LULL, self._rested)

    def _rested(self) -> None:
        self.rest("lull", stop=False)

"""The way to the peer: what is written is gathered, and waits while the peer is behind with reading."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any, cast

from .channel import Channel
from .flow import Turns
from .peer import Peer
from .recent_frames import RecentFrames

__all__ = ["SENT", "Writing"]

WRITE_GAP = 0.001
"""Seconds between two writes of notifications; what comes sooner is gathered. A model's tokens often come one
in each turn of the event loop, and a write for each costs more than all the rest that is done for it."""

FLUSH_AT = 64 * 1024
"""Bytes of notifications gathered before they are written without waiting for the gap to end."""

BURST = 64
"""Notifications sent in a row before the sender lets other tasks run; keeps concurrent sessions fair."""


class _Sent:
    """There is nothing to wait for."""

    def __await__(self) -> Generator[Any, None, None]:
        return cast("Generator[Any, None, None]", iter(()))  # any iterator will do


SENT = _Sent()
"""Awaitable for what was sent without having to wait; a coroutine for each would cost more."""


class Writing:
    """Moves what the peer has ready to the channel.

    Who wants to write waits for `until_free` first while it is `paused` or `mute`. Answers to the peer's
    requests wait, too (`until_answerable`), but no longer than the conversation lasts.
    """

    __slots__ = (
        "_burst",
        "_channel",
        "_recent_frames",
        "_limit",
        "_on_flood",
        "_next_write",
        "_peer",
        "_timer",
        "_turns",
        "_unread",
        "ending",
        "mute",
        "paused",
    )

    def __init__(
        self,
        peer: Peer,
        channel: Channel,
        recent_frames: RecentFrames,
        *,
        limit: int,
        on_flood: Callable[[], None],
    ) -> None:
        """`on_flood` hears that more than `limit` bytes wait for a peer that sends and does not read."""
        self._peer = peer
        self._channel = channel
        self._recent_frames = recent_frames
        self._limit = limit
        self._on_flood = on_flood
        self.paused: bool = False  # the peer is behind with reading
        self.mute: bool = True  # nothing may be written: not open yet, or the peer is gone
        self.ending: bool = False  # answers need not wait any longer
        self._turns = Turns()  # who waits for the peer to catch up
        self._unread = 0  # bytes written while it was behind
        self._next_write = 0.0  # by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._burst = 0

    def flush(self) -> None:
        """Write what is ready."""
        if self._peer.unsent:
            data = self._peer.take()
            if self.mute:
                return
            self._recent_frames.sent(data)
            if self.paused and not self.ending:  # an error answer; all else waits
                self._unread += len(data)
                if self._unread > self._limit:
                    self._on_flood()
                    return
            self._channel.write(data)

    def gather(self, unsent: int) -> bool:
        """A notification is ready: write it now, or with those that follow it closely.

        Returns whether its sender should let others run.
        """
        if self._timer is None:
            loop = asyncio.get_running_loop()
            now = loop.time()
            if now >= self._next_write:  # nothing was written just now
                self._next_write = now + WRITE_GAP
                self.flush()
            else:
                self._timer = loop.call_at(self._next_write, self._end_gap)
        if unsent >= FLUSH_AT:
            self.flush()
        self._burst += 1
        if self._burst >= BURST:
            self._burst = 0
            return True
        return False

    def _end_gap(self) -> None:
        self._timer = None
        self._next_write = asyncio.get_running_loop().time() + WRITE_GAP
        self.flush()

    def pause(self) -> None:
        """The peer is behind with reading."""
        self.paused = True

    def resume(self) -> None:
        """The peer has caught up."""
        self.paused = False
        self._unread = 0
        self._turns.wake_next()

    def end(self, *, mute: bool) -> None:
        """The conversation ends. Unless the peer is gone (`mute`), it may still get answers."""
        self.ending = True
        self.mute = mute
        if self.paused:
            self.paused = not mute
            self._turns.wake_all()

    async def until_free(self) -> None:
        """Wait until the peer has caught up, or is gone."""
        while self.paused and not self.mute:
            await self._turns.wait()
        self._turns.wake_next()

    async def until_answerable(self) -> None:
        """Wait until an answer may be written."""
        while self.paused and not self.ending:
            await self._turns.wait()
        if self._turns:
            self._turns.wake_next()

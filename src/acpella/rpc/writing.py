"""The way to the peer: what is written is gathered, and waits while the peer is behind with reading."""

import asyncio
from collections.abc import Callable

from .channel import Channel
from .flow import Turns
from .peer import Peer
from .recent_frames import RecentFrames

__all__ = ["Writing"]

FLUSH_AT = 64 * 1024
"""Bytes of notifications gathered before they are written without waiting for the end of the loop's turn."""

BURST = 64
"""Notifications sent in a row before the sender lets other tasks run; keeps concurrent sessions fair."""


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
        "_peer",
        "_scheduled",
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
        self._scheduled = False
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
        """A notification is ready: write it now, or with those that follow it in this turn of the loop.

        Returns whether its sender should let others run.
        """
        self._burst += 1
        if not self._scheduled:  # the first of this turn goes at once, what follows is gathered
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._tick)
            self.flush()
        elif unsent >= FLUSH_AT:
            self.flush()
        if self._burst >= BURST:
            self._burst = 0
            return True
        return False

    def _tick(self) -> None:
        self._scheduled = False
        self._burst = 0
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

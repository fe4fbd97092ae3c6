"""Outboxes in the memory of this process."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol

from .outbox import OutOfWindow, Taken

__all__ = ["Ledger", "MemoryOutbox", "MemoryReader"]


class Ledger(Protocol):
    """Adds up what waits in the outboxes of one connection."""

    buffered: int
    """Bytes that no reader has taken."""

    behind: "set[MemoryOutbox]"
    """Outboxes whose reader is too far behind."""

    def moved(self) -> None:
        """Something was taken, or a reader came or went."""
        ...


class MemoryOutbox:
    """An `Outbox` that lives as long as this process."""

    __slots__ = (
        "_base",
        "_drained",
        "_frames",
        "_high",
        "_taken_bytes",
        "_ledger",
        "_reader",
        "_unread_bytes",
        "_window_bytes",
        "_window_frames",
        "acked",
        "closed",
        "discards",
        "taken",
        "last",
        "lossless",
    )

    def __init__(
        self, ledger: Ledger, *, high: int, window_frames: int, window_bytes: int, lossless: bool = False
    ) -> None:
        self._ledger = ledger
        self._high = high
        self._window_frames = window_frames
        self._window_bytes = window_bytes
        self._frames: deque[bytes] = deque()
        self._base = 0  # number of the message before the first that is kept
        self._unread_bytes = 0  # bytes not taken yet
        self._taken_bytes = 0  # bytes taken and kept
        self._reader: MemoryReader | None = None
        self._drained: list[Callable[[], None]] = []
        self.lossless: bool = lossless
        self.last: int = 0
        """The number of the newest message."""
        self.taken: int = 0
        """The number of the last message that a reader took."""
        self.acked: int = 0
        """The number of the last message that the reader confirmed."""
        self.closed: bool = False
        self.discards: bool = False
        """Nobody can come back for what is put in."""

    @property
    def attached(self) -> bool:
        return self._reader is not None

    @property
    def unread(self) -> int:
        """Bytes that no reader has taken."""
        return self._unread_bytes

    @property
    def is_behind(self) -> bool:
        """Whether its reader holds up the agent."""
        if self._reader is None:
            return False
        if self.lossless:
            owed = self.last - self.acked
            return owed >= self._window_frames or self._unread_bytes + self._taken_bytes >= self._window_bytes
        return self._unread_bytes >= self._high

    def be_lossless(self) -> None:
        """From now on the reader confirms what it got."""
        self.lossless = True
        self.acked = max(self.acked, self._base)

    # -- putting in ------------------------------------------------------------------------

    def put(self, messages: Sequence[bytes]) -> None:
        """Add messages."""
        if self.discards or self.closed:
            return
        size = sum(map(len, messages))
        self._frames.extend(messages)
        self.last += len(messages)
        self._unread_bytes += size
        self._ledger.buffered += size
        if self._reader is not None:
            self._reader.wake()
            if self.is_behind:
                self._ledger.behind.add(self)

    def close(self) -> None:
        """No more messages; the reader ends when it has taken the rest."""
        self.closed = True
        if self._reader is not None:
            self._reader.wake()

    def discard(self) -> None:
        """Nobody will read this any more."""
        self.discards = True
        self._ledger.buffered -= self._unread_bytes
        self._frames.clear()
        self._base = self.taken = self.acked = self.last
        self._unread_bytes = self._taken_bytes = 0
        self._changed()

    def abort(self, *, why: str = "") -> None:
        """Cut the reader off."""
        if self._reader is not None:
            self._reader.abort(why=why)

    def when_drained(self, then: Callable[[], None]) -> None:
        """Call this when everything that is in now was taken, or the reader has gone."""
        if self._reader is None or not self._unread_bytes:
            then()
        else:
            self._drained.append(then)

    def window(self) -> tuple[int, list[bytes]]:
        """The number before the first message that is there, and all that are, taken or not."""
        return self._base, list(self._frames)

    # -- reading ---------------------------------------------------------------------------

    def attach(
        self, *, after: int | None = None, take_over: bool = False, abort: Callable[[], None] | None = None
    ) -> "MemoryReader":
        """Become the reader. Raises `Taken` and `OutOfWindow`."""
        if self._reader is not None and not take_over:
            raise Taken
        if after is not None:
            self._rewind(after)
        if self._reader is not None:
            self._reader.end(taken_over=True)
        self._reader = MemoryReader(self, abort)
        self._changed()
        return self._reader

    def _rewind(self, after: int) -> None:
        if not self._base <= after <= self.last:
            raise OutOfWindow
        before = self._unread_bytes
        self._unread_bytes = sum(map(len, islice(self._frames, after - self._base, None)))
        self._taken_bytes += before - self._unread_bytes
        self._ledger.buffered += self._unread_bytes - before
        self.taken = after
        self.acked = max(self.acked, after) if self.lossless else self.acked
        self._prune()

    def ack(self, number: int) -> None:
        """The reader has everything up to that number."""
        if self.acked < number <= self.taken:
            self.acked = number
            self._prune()
            self._changed()

    def take(self, limit: int) -> list[bytes]:
        """The next messages, at least one if there is any, with about that many bytes."""
        if not self._unread_bytes:
            return []
        start = self.taken - self._base
        if self._unread_bytes <= limit:
            batch = list(self._frames) if start == 0 else list(islice(self._frames, start, None))
            size = self._unread_bytes
        else:
            batch: list[bytes] = []
            size = 0
            for frame in islice(self._frames, start, None):
                batch.append(frame)
                size += len(frame)
                if size >= limit:
                    break
        self.taken += len(batch)
        self._unread_bytes -= size
        self._taken_bytes += size
        self._ledger.buffered -= size
        self._prune()
        self._changed()
        return batch

    @property
    def base(self) -> int:
        """The number of the message before the first that is kept."""
        return self._base

    def restore(self, base: int, frames: Sequence[bytes], *, taken: int | None = None) -> None:
        """Begin with the messages after `base`, which were kept elsewhere. Those up to `taken` count as read,
        unless the reader confirms what it gets: then it gets all of them again."""
        self._base = self.taken = self.acked = base
        self.last = base + len(frames)
        self._frames.extend(frames)
        self._unread_bytes = sum(map(len, frames))
        self._ledger.buffered += self._unread_bytes
        if taken is not None and not self.lossless and base < taken <= self.last:
            self._rewind(taken)

    def skip(self, number: int) -> None:
        """The reader, which reads elsewhere, has taken everything up to that number."""
        while self.taken < number and self._unread_bytes:
            self.take(1)

    def _prune(self) -> None:
        frames = self._frames
        if self.lossless:
            while self._base < self.acked:
                self._base += 1
                self._taken_bytes -= len(frames.popleft())
            return
        if not self._window_frames and not self._unread_bytes:
            frames.clear()
            self._base, self._taken_bytes = self.taken, 0
            return
        while self._base < self.taken and (
            self.taken - self._base > self._window_frames or self._taken_bytes > self._window_bytes
        ):
            self._base += 1
            self._taken_bytes -= len(frames.popleft())

    def release(self, reader: "MemoryReader") -> None:
        """The reader has gone."""
        if self._reader is reader:
            self._reader = None
            self._changed()

    def _changed(self) -> None:
        if not self.is_behind:
            self._ledger.behind.discard(self)
        if self._drained and (self._reader is None or not self._unread_bytes):
            drained, self._drained = self._drained, []
            for then in drained:
                then()
        self._ledger.moved()


class MemoryReader:
    """The reading end of an outbox."""

    __slots__ = ("_abort", "_outbox", "_waiter", "aborted", "ended", "on_end", "taken_over", "why")

    def __init__(self, outbox: MemoryOutbox, abort: Callable[[], None] | None) -> None:
        self._outbox = outbox
        self._abort = abort
        self._waiter: asyncio.Future[bool] | None = None
        self.ended: bool = False
        """Nothing more is to be read, though the outbox may go on."""
        self.on_end: Callable[[], None] | None = None
        """Hears that it was ended by somebody else."""
        self.aborted: bool = False
        """Its client does not read, so it is dropped."""
        self.taken_over: bool = False
        self.why: str = ""
        """Why its client is not to read any more, although it would."""

    @property
    def outbox(self) -> MemoryOutbox:
        return self._outbox

    @property
    def over(self) -> bool:
        """Whether the reading is at its end."""
        return self.ended or (self._outbox.closed and not self._outbox.unread)

    def take(self, limit: int) -> tuple[int, list[bytes]]:
        """The number of the first of the next messages, and those."""
        if self.ended:
            return 0, []
        first = self._outbox.taken + 1
        return first, self._outbox.take(limit)

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)

    def end(self, *, taken_over: bool = False, why: str = "") -> None:
        """Stop reading, and wake whoever waits for messages."""
        if not self.ended:
            self.ended = True
            self.taken_over = taken_over
            self.why = why
            self.wake()
            if self.on_end is not None:
                self.on_end()

    def abort(self, *, why: str = "") -> None:
        """The client does not read: cut it off."""
        self.aborted = True
        self.end(why=why)
        if self._abort is not None:
            self._abort()

    def release(self) -> None:
        self.ended = True
        self._outbox.release(self)

    async def wait(self, seconds: float) -> bool:
        """Wait for something to take; False if nothing came in that time."""
        if self._outbox.unread or self.over:
            return True
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        timer = loop.call_later(seconds, _expire, waiter)
        try:
            return await waiter
        finally:
            timer.cancel()
            self._waiter = None


def _expire(waiter: "asyncio.Future[bool]") -> None:
    if not waiter.done():
        waiter.set_result(False)

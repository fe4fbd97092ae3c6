"""Two connected channels in one process, for tests and embedded agents."""

import asyncio

from acpella.errors import ConnectionClosed, LocalProtocolError
from acpella.rpc import ChannelInfo, Receiver

__all__ = ["MemoryChannel", "memory_pair"]


def memory_pair() -> tuple["MemoryChannel", "MemoryChannel"]:
    """Two connected channels; what is written to one is read from the other, with real back-pressure."""
    one, other = MemoryChannel(), MemoryChannel()
    one._other, other._other = other, one  # pyright: ignore[reportPrivateUsage] - the two know each other
    return one, other


class MemoryChannel:
    """One end of a `memory_pair`."""

    about: ChannelInfo = ChannelInfo()
    _other: "MemoryChannel"

    def __init__(self) -> None:
        self._receiver: Receiver | None = None
        self._inbox: list[bytes] = []
        self._waiting = 0  # bytes in the inbox
        self._write_high = 0
        self._paused = False
        self._scheduled = False
        self._full = False  # the other end was told to pause writing
        self._closed = False
        self._ended = False

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Start to deliver what the other end writes."""
        if self._receiver is not None:
            raise LocalProtocolError("a channel can be opened once")
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._write_high = write_high
        self._schedule()

    def write(self, data: bytes | bytearray) -> None:
        """Hand bytes to the other end."""
        other = self._other
        if self._closed or other._closed:
            return
        other._inbox.append(bytes(data))
        other._waiting += len(data)
        if other._waiting > self._write_high and not other._full:
            other._full = True
            assert self._receiver is not None
            self._receiver.pause_writing()
        other._schedule()

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._schedule()

    async def close(self) -> None:
        """The other end reads what is left, then hears of the end."""
        self._closed = True
        self._other._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and self._receiver is not None:
            self._scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        if self._closed or self._receiver is None:
            return
        if self._inbox and not self._paused:
            data = b"".join(self._inbox)  # as a pipe would: what was written piece by piece is read at once
            self._inbox.clear()
            self._waiting = 0
            self._receiver.received(data)
        other = self._other
        if self._full and self._waiting <= other._write_high // 4 and other._receiver is not None:
            self._full = False
            other._receiver.resume_writing()
        if other._closed and not self._inbox and not self._ended:
            self._ended = True
            self._receiver.ended(ConnectionClosed("the peer closed the connection", clean=True))

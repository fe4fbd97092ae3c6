"""Reading and writing file descriptors that no event loop can wait for, with threads or at once."""

import asyncio
import os
import threading
from collections.abc import Callable

__all__ = ["CLOSE_TIMEOUT", "READ_SIZE", "BlockingWriter", "ThreadReader", "ThreadWriter"]

READ_SIZE = 64 * 1024
"""Bytes asked for by one read. asyncio's own 256 KiB makes the allocator map and unmap memory each time."""

CLOSE_TIMEOUT = 2.0
"""Seconds without progress after which the peer counts as no longer reading, and the rest is dropped."""

WRITE_SIZE = 64 * 1024
"""Bytes given to one write, so that a slow peer is seen to take some."""


class ThreadReader:
    """Reads in a thread of its own, one chunk at a time: the next when the last has been taken."""

    def __init__(self, fd: int, received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._fd = fd
        self._received = received
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._paused = False
        self._held: bytes | None = None  # a chunk that came while reading was paused
        self._go = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._read, name=f"read descriptor {fd}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        if self._held is not None:
            data, self._held = self._held, None
            self._loop.call_soon(self._take, data)

    def close(self) -> None:
        self._closed = True
        self._go.set()  # a thread in a blocking read ends with the process

    def _read(self) -> None:
        while not self._closed and (data := self._next()) and self._give(data):
            self._go.wait()
            self._go.clear()
        os.close(self._fd)
        self._give(b"")

    def _next(self) -> bytes:
        try:
            return os.read(self._fd, READ_SIZE)
        except OSError:
            return b""

    def _give(self, data: bytes) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._take, data)
        except RuntimeError:  # the loop is gone
            return False
        return True

    def _take(self, data: bytes) -> None:
        if self._closed:
            return
        if self._paused:
            self._held = data
        elif data:
            self._received(data)
            self._go.set()
        else:
            self._ended()


class ThreadWriter:
    """Writes in a thread of its own what the loop has left for it. For pipes on Windows, which may block."""

    def __init__(
        self,
        fd: int,
        *,
        high: int,
        pause: Callable[[], None],
        resume: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._high = high
        self._pause, self._resume, self._lost = pause, resume, lost
        self._loop = asyncio.get_running_loop()
        self._closed = self._loop.create_future()
        self._paused = False
        self._more = threading.Condition()  # guards all below
        self._buffer = bytearray()
        self._unwritten = 0  # the buffer, and what the thread has taken of it
        self._closing = False
        threading.Thread(target=self._run, name=f"write descriptor {fd}", daemon=True).start()

    def write(self, data: bytes | bytearray) -> None:
        with self._more:
            if self._closing:
                return
            self._buffer += data
            self._unwritten += len(data)
            full = self._unwritten > self._high
            self._more.notify()
        if full and not self._paused:
            self._paused = True
            self._pause()

    async def close(self) -> None:
        with self._more:
            self._closing = True
            left = self._unwritten
            self._more.notify()
        while True:
            await asyncio.wait([self._closed], timeout=CLOSE_TIMEOUT)
            before, left = left, self._unwritten
            if self._closed.done() or left >= before:
                break  # a thread in a blocking write ends with the reader of the pipe

    def _run(self) -> None:
        broken = False
        try:
            while data := self._next():
                for start in range(0, len(data), WRITE_SIZE):
                    rest = data[start : start + WRITE_SIZE]
                    while rest:
                        written = os.write(self._fd, rest)
                        rest = rest[written:]
                        self._wrote(written)
        except OSError:
            broken = True
        with self._more:
            self._closing = True
        os.close(self._fd)
        self._tell(self._end, broken)

    def _next(self) -> bytes:
        """What there is to write; nothing when the writer is closed."""
        with self._more:
            while not self._buffer and not self._closing:
                self._more.wait()
            data = bytes(self._buffer)
            self._buffer.clear()
            return data

    def _wrote(self, count: int) -> None:
        with self._more:
            before, self._unwritten = self._unwritten, self._unwritten - count
        if before > self._high // 4 >= self._unwritten:
            self._tell(self._drained)

    def _drained(self) -> None:
        """Only the loop pauses and resumes: more may have been written since the thread looked."""
        if self._paused and self._unwritten <= self._high // 4:
            self._paused = False
            self._resume()

    def _tell(self, callback: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            pass  # the loop is gone

    def _end(self, broken: bool) -> None:
        if not self._closed.done():
            self._closed.set_result(None)
        if broken:
            self._lost()


class BlockingWriter:
    """For files and terminals, which take bytes at once."""

    def __init__(self, fd: int, lost: Callable[[], None]) -> None:
        self._fd = fd
        self._lost = lost
        self._closed = False

    def write(self, data: bytes | bytearray) -> None:
        if self._closed:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            self._closed = True
            self._lost()

    async def close(self) -> None:
        self._closed = True
        os.close(self._fd)

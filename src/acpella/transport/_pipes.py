"""Reads and writes file descriptors of any kind: pipes and sockets with the event loop, others without."""

import asyncio
import os
import socket
import stat
import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

from ._threads import CLOSE_TIMEOUT, READ_SIZE, BlockingWriter, ThreadReader, ThreadWriter

__all__ = ["CLOSE_TIMEOUT", "READ_SIZE", "ReadEnd", "WriteEnd", "open_reader", "open_writer"]

PIPE_SIZE = 256 * 1024
"""Bytes that a pipe holds. Linux lets a user's pipes have 64 MiB before it makes new ones narrow."""


class ReadEnd(Protocol):
    """The reading end of a file descriptor."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class WriteEnd(Protocol):
    """The writing end of a file descriptor."""

    def write(self, data: bytes | bytearray) -> None: ...
    async def close(self) -> None: ...


async def open_reader(fd: int, received: Callable[[bytes], None], ended: Callable[[], None]) -> ReadEnd:
    """Read a descriptor, which the reader then owns, until it ends or is closed."""
    if _selectable(fd):
        protocol = _ReadProtocol(received, ended)
        loop = asyncio.get_running_loop()
        if _is_socket(fd):
            transport, _ = await loop.create_connection(lambda: protocol, sock=socket.socket(fileno=fd))
        else:
            _widen(fd)
            transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb", buffering=0))
        if hasattr(transport, "max_size"):
            cast("Any", transport).max_size = READ_SIZE
        return _PipeReader(transport)
    return ThreadReader(fd, received, ended)


async def open_writer(
    fd: int, *, high: int, pause: Callable[[], None], resume: Callable[[], None], lost: Callable[[], None]
) -> WriteEnd:
    """Write to a descriptor, which the writer then owns. `pause`/`resume` report its buffer."""
    if _selectable(fd):
        loop = asyncio.get_running_loop()
        transport: asyncio.WriteTransport
        if _is_socket(fd):  # to a pipe's transport, anything to be read would mean that the peer is gone
            protocol = _SocketWriteProtocol(pause, resume, lost)
            writing, _ = await loop.create_connection(lambda: protocol, sock=socket.socket(fileno=fd))
            writing.resume_reading()  # before Python 3.11.4, a pause in connection_made was undone at once
            writing.pause_reading()
            transport = writing
        else:
            protocol = _WriteProtocol(pause, resume, lost)
            transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(fd, "wb", buffering=0))
        transport.set_write_buffer_limits(high=high)
        return _PipeWriter(transport, protocol)
    if stat.S_ISFIFO(os.fstat(fd).st_mode):  # on Windows: it may block, and the loop cannot wait for it
        return ThreadWriter(fd, high=high, pause=pause, resume=resume, lost=lost)
    return BlockingWriter(fd, lost)


def _widen(fd: int) -> None:
    """Let a peer write more of a large message at once: with every 64 KiB, both sides had to wake up."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < PIPE_SIZE:
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        pass  # this user has too many wide pipes


def _selectable(fd: int) -> bool:
    """Whether the event loop can wait for it: for files, terminals, /dev/null and on Windows it cannot."""
    return sys.platform != "win32" and (stat.S_ISFIFO(os.fstat(fd).st_mode) or _is_socket(fd))


def _is_socket(fd: int) -> bool:
    return stat.S_ISSOCK(os.fstat(fd).st_mode)


class _ReadProtocol(asyncio.Protocol):
    def __init__(self, received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self.data_received = received  # pyright: ignore[reportAttributeAccessIssue] - no call in between
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()


class _PipeReader:
    def __init__(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport

    def pause(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._transport.close()


class _WriteProtocol(asyncio.Protocol):
    def __init__(
        self, pause: Callable[[], None], resume: Callable[[], None], lost: Callable[[], None]
    ) -> None:
        self.pause_writing = pause
        self.resume_writing = resume
        self._lost = lost
        self.closed = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        self._lost()


class _SocketWriteProtocol(_WriteProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).pause_reading()  # what arrives is the reader's


class _PipeWriter:
    def __init__(self, transport: asyncio.WriteTransport, protocol: _WriteProtocol) -> None:
        self._transport = transport
        self._protocol = protocol

    def write(self, data: bytes | bytearray) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    async def close(self) -> None:
        left = self._transport.get_write_buffer_size()
        self._transport.close()  # writes what is buffered first
        try:
            while True:
                await asyncio.wait([self._protocol.closed], timeout=CLOSE_TIMEOUT)
                before, left = left, self._transport.get_write_buffer_size()
                if self._protocol.closed.done() or left >= before:
                    break
        finally:
            if not self._protocol.closed.done():
                self._transport.abort()

"""A Unix domain socket as a channel: how programs of one user on one machine talk."""

import asyncio
import os
import socket
import sys
from typing import Any, cast

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver

from ._pipes import CLOSE_TIMEOUT, READ_SIZE

__all__ = ["UnixChannel"]


class UnixChannel:
    """Connects to the socket at a path, or uses a socket that is connected already."""

    about: ChannelInfo = ChannelInfo()

    def __init__(self, where: str | os.PathLike[str] | socket.socket, *, peer: str = "the peer") -> None:
        """`peer` names the other end in errors."""
        self._where = where
        self._peer = peer
        self._transport: asyncio.Transport | None = None
        self._protocol: _Protocol | None = None

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Connect.

        Raises:
            TransportError: there is no such socket, or nobody listens on it.
        """
        if self._protocol is not None:
            raise LocalProtocolError("a channel can be opened once")
        protocol = self._protocol = _Protocol(receiver, self._peer)
        loop = asyncio.get_running_loop()
        if isinstance(self._where, socket.socket):
            self._transport, _ = await loop.create_connection(lambda: protocol, sock=self._where)
        else:
            if sys.platform == "win32":
                raise TransportError("Python has no Unix sockets on Windows; use a URL instead")
            path = os.fspath(self._where)
            try:
                self._transport, _ = await loop.create_unix_connection(lambda: protocol, path)
            except OSError as error:
                raise TransportError(
                    f"cannot reach {self._peer} at {path}: {error.strerror or error}"
                ) from error
        self._transport.set_write_buffer_limits(high=write_high)
        if hasattr(self._transport, "max_size"):
            cast("Any", self._transport).max_size = READ_SIZE

    def write(self, data: bytes | bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    async def close(self) -> None:
        """Send what is buffered while the peer still reads, then close the socket."""
        if self._transport is None or self._protocol is None:
            if isinstance(self._where, socket.socket):
                self._where.close()
            return
        closed = self._protocol.closed
        left = self._transport.get_write_buffer_size()
        self._transport.close()
        try:
            while True:
                await asyncio.wait([closed], timeout=CLOSE_TIMEOUT)
                before, left = left, self._transport.get_write_buffer_size()
                if closed.done() or left >= before:
                    break
        finally:
            if not closed.done():
                self._transport.abort()


class _Protocol(asyncio.Protocol):
    def __init__(self, receiver: Receiver, peer: str) -> None:
        self.data_received = receiver.received  # pyright: ignore[reportAttributeAccessIssue] - no call in between
        self.pause_writing = receiver.pause_writing
        self.resume_writing = receiver.resume_writing
        self._receiver = receiver
        self._peer = peer
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        self._receiver.ended(ConnectionClosed(f"{self._peer} hung up", clean=exc is None))

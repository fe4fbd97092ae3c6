"""Two ends of a connection in one process, over everything that can carry bytes."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from acpella.errors import ConnectionClosed
from acpella.rpc import Channel, ChannelInfo, Connection, Handler, Receiver
from acpella.transport import memory_pair
from acpella.transport._pipes import ReadEnd, WriteEnd, open_reader, open_writer
from acpella.transport._threads import ThreadReader, ThreadWriter
from interaction.wire import PLAIN, read_lines

PATIENCE = 120
"""Seconds after which a test that waits has failed."""

Pair = Callable[[], tuple[Channel, Channel]]


class FdChannel:
    """Two descriptors as a channel: what stdio and processes are made of, without either."""

    about = ChannelInfo()

    def __init__(self, read: int, write: int, *, threads: bool = False) -> None:
        """With `threads`, threads wait for the descriptors instead of the event loop, as on Windows."""
        self._fds = [read, write]
        self._threads = threads
        self._reader: ReadEnd | None = None
        self._writer: WriteEnd | None = None
        self._ended = False

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        self._receiver = receiver
        read, write = self._fds
        self._fds = []
        flow: dict[str, Any] = {
            "high": write_high,
            "pause": receiver.pause_writing,
            "resume": receiver.resume_writing,
            "lost": lambda: self._end(ConnectionClosed("the peer stopped reading")),
        }
        ended = ConnectionClosed("the peer closed the connection", clean=True)
        if self._threads:
            self._writer = ThreadWriter(write, **flow)
            self._reader = ThreadReader(read, receiver.received, lambda: self._end(ended))
        else:
            self._writer = await open_writer(write, **flow)
            self._reader = await open_reader(read, receiver.received, lambda: self._end(ended))

    def write(self, data: bytes | bytearray) -> None:
        if self._writer is not None:
            self._writer.write(data)

    def pause_reading(self) -> None:
        assert self._reader is not None
        self._reader.pause()

    def resume_reading(self) -> None:
        assert self._reader is not None
        self._reader.resume()

    async def close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        self._ended = True
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            await self._writer.close()

    async def stop_writing(self) -> None:
        """Close the writing end, but keep reading. A single socket for both directions cannot do this."""
        assert self._writer is not None
        writer, self._writer, self._ended = self._writer, None, True
        await writer.close()
        self._ended = False

    def _end(self, reason: ConnectionClosed) -> None:
        if not self._ended:
            self._ended = True
            self._receiver.ended(reason)


def pipe_pair() -> tuple[Channel, Channel]:
    (read_here, write_there), (read_there, write_here) = os.pipe(), os.pipe()
    return FdChannel(read_here, write_here), FdChannel(read_there, write_there)


def thread_pair() -> tuple[Channel, Channel]:
    (read_here, write_there), (read_there, write_here) = os.pipe(), os.pipe()
    return (
        FdChannel(read_here, write_here, threads=True),
        FdChannel(read_there, write_there, threads=True),
    )


def socket_pair() -> tuple[Channel, Channel]:
    """One socket for both directions, as inetd and some editors give it."""
    here, there = socket.socketpair()
    with here, there:
        return (
            FdChannel(os.dup(here.fileno()), os.dup(here.fileno())),
            FdChannel(os.dup(there.fileno()), os.dup(there.fileno())),
        )


PAIRS: dict[str, Pair] = {
    "memory": memory_pair,
    "pipes": pipe_pair,
    "sockets": socket_pair,
    "threads": thread_pair,
}


@dataclass
class Side:
    """What one end handles."""

    requests: Mapping[str, Handler] = field(default_factory=dict)
    notifications: Mapping[str, Handler] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def on(self, channel: Channel, **options: Any) -> Connection:
        return Connection(
            channel,
            PLAIN,
            requests=self.requests,
            notifications=self.notifications,
            **{**options, **self.options},
        )


class Connect:
    """Connects two sides, or one side to an end driven in bytes. The block must end in time."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    @asynccontextmanager
    async def __call__(
        self, here: Side | None = None, there: Side | None = None, **options: Any
    ) -> AsyncIterator[tuple[Connection, Connection]]:
        one, other = self.pair()
        async with asyncio.timeout(PATIENCE):
            async with (there or Side()).on(other, **options) as second:
                async with (here or Side()).on(one, **options) as first:
                    yield first, second

    @asynccontextmanager
    async def to_bytes(
        self, here: Side | None = None, **options: Any
    ) -> AsyncIterator[tuple[Connection, "RawEnd"]]:
        """The other end is driven by the test, byte by byte."""
        one, other = self.pair()
        raw = RawEnd(other)
        async with asyncio.timeout(PATIENCE):
            try:
                await other.open(raw, write_high=2**20)
                async with (here or Side()).on(one, **options) as first:
                    yield first, raw
            finally:
                await other.close()

    @asynccontextmanager
    async def to_nobody(
        self, here: Side | None = None, **options: Any
    ) -> AsyncIterator[tuple[Connection, Channel]]:
        """The other end exists, but never reads."""
        one, other = self.pair()
        async with asyncio.timeout(PATIENCE):
            try:
                async with (here or Side()).on(one, **options) as first:
                    yield first, other
            finally:
                await other.close()


class RawEnd:
    """A channel's receiver that keeps what it gets."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.data = bytearray()
        self.end: ConnectionClosed | None = None
        self._news = asyncio.Event()

    def received(self, data: bytes) -> None:
        self.data += data
        self._news.set()

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: ConnectionClosed) -> None:
        self.end = reason
        self._news.set()

    def send(self, *frames: bytes) -> None:
        self.channel.write(b"".join(frames))

    async def messages(self, count: int) -> list[dict[str, Any]]:
        """Wait until this many messages have come, or the peer is gone; returns all that came."""
        while self.data.count(b"\n") < count and self.end is None:
            self._news.clear()
            await self._news.wait()
        messages = read_lines(self.data)
        self.data.clear()
        return messages

    async def until_end(self) -> ConnectionClosed:
        while self.end is None:
            self._news.clear()
            await self._news.wait()
        return self.end


async def until(true: Callable[[], object]) -> None:
    """Wait for a condition that has no event of its own."""
    while not true():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.001)


async def until_stuck(connection: Connection) -> None:
    """Wait until the connection waits for its peer to read."""
    await until(lambda: connection._writing.paused)  # pyright: ignore[reportPrivateUsage]


async def echo(params: Any) -> Any:
    return params


async def forever(params: Any) -> None:
    await asyncio.get_running_loop().create_future()


class Collector:
    """A handler that keeps what it was given."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self._news = asyncio.Event()

    def __call__(self, params: Any) -> None:
        self.got.append(params)
        self._news.set()

    async def until(self, count: int) -> list[Any]:
        while len(self.got) < count:
            self._news.clear()
            await self._news.wait()
        return self.got


class Gate:
    """A handler that signals when it was entered, and waits until it is opened."""

    def __init__(self, result: Any = None) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.left = asyncio.Event()
        self.result = result
        self.runs = 0

    async def __call__(self, params: Any) -> Any:
        self.runs += 1
        self.entered.set()
        try:
            await self.open.wait()
            return self.result
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        finally:
            self.left.set()

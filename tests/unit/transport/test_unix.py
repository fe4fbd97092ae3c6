"""Channels over Unix sockets, with real sockets."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.transport import UnixChannel

pytestmark = pytest.mark.anyio


class Heard:
    """A receiver that keeps what it is told."""

    def __init__(self) -> None:
        self.data = b""
        self.paused: list[bool] = []
        self.end: ConnectionClosed | None = None
        self._news = asyncio.Event()

    def received(self, data: bytes) -> None:
        self.data += data
        self._news.set()

    def pause_writing(self) -> None:
        self.paused.append(True)
        self._news.set()

    def resume_writing(self) -> None:
        self.paused.append(False)
        self._news.set()

    def ended(self, reason: ConnectionClosed) -> None:
        self.end = reason
        self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not true():
                self._news.clear()
                await self._news.wait()


async def pair() -> tuple[UnixChannel, Heard, UnixChannel, Heard]:
    one, other = socket.socketpair(socket.AF_UNIX)
    here, there = UnixChannel(one), UnixChannel(other, peer="the other one")
    heard_here, heard_there = Heard(), Heard()
    await here.open(heard_here, write_high=1024)
    await there.open(heard_there, write_high=1024)
    return here, heard_here, there, heard_there


async def test_bytes_go_both_ways() -> None:
    here, heard_here, there, heard_there = await pair()
    here.write(b"ping\n")
    await heard_there.until(lambda: heard_there.data == b"ping\n")
    there.write(b"pong\n")
    await heard_here.until(lambda: heard_here.data == b"pong\n")
    await here.close()
    await there.close()


async def test_a_path_is_connected_to(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        channel, heard = UnixChannel(tmp_path / "s"), Heard()
        await channel.open(heard, write_high=1024)
        accepted, _ = listener.accept()
        with accepted:
            accepted.sendall(b"hello")
            await heard.until(lambda: heard.data == b"hello")
        await heard.until(lambda: heard.end is not None)
        await channel.close()
    assert heard.end is not None and heard.end.clean


@pytest.mark.parametrize("there", [False, True], ids=["no socket", "nobody listens"])
async def test_a_socket_that_cannot_be_reached_is_an_error(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "s"
    if there:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
    with pytest.raises(TransportError, match=f"cannot reach the owner at {path}: "):
        await UnixChannel(path, peer="the owner").open(Heard(), write_high=1024)


async def test_the_end_names_the_peer() -> None:
    here, _, there, heard_there = await pair()
    await here.close()
    await heard_there.until(lambda: heard_there.end is not None)
    assert str(heard_there.end) == "the other one hung up"
    there.write(b"ignored")
    await there.close()
    await there.close()


async def test_a_peer_that_does_not_read_pauses_the_writer_and_is_read_later() -> None:
    here, heard_here, there, heard_there = await pair()
    there.pause_reading()
    here.write(b"x" * 4_000_000)
    assert heard_here.paused == [True]
    there.resume_reading()
    await heard_there.until(lambda: len(heard_there.data) == 4_000_000)
    await heard_here.until(lambda: heard_here.paused == [True, False])
    await here.close()
    await there.close()


async def test_closing_sends_what_is_buffered() -> None:
    here, _, there, heard_there = await pair()
    here.write(b"y" * 2_000_000)
    await here.close()
    await heard_there.until(lambda: heard_there.end is not None)
    assert len(heard_there.data) == 2_000_000
    await there.close()


async def test_closing_gives_up_on_a_peer_that_does_not_read() -> None:
    here, _, there, heard_there = await pair()
    there.pause_reading()
    here.write(b"z" * 4_000_000)
    async with asyncio.timeout(60):
        await here.close()
    there.resume_reading()
    await heard_there.until(lambda: heard_there.end is not None)
    await there.close()


async def test_a_channel_is_opened_once() -> None:
    here, heard, there, _ = await pair()
    with pytest.raises(LocalProtocolError):
        await here.open(heard, write_high=1024)
    await here.close()
    await there.close()


async def test_a_channel_that_was_never_opened_can_be_closed() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    await UnixChannel(one).close()
    other.close()
    await UnixChannel("/nowhere").close()

"""File descriptors of every kind: who owns them, and what happens at their end."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpella.transport._pipes import ReadEnd, WriteEnd, open_reader, open_writer

pytestmark = pytest.mark.anyio

KINDS = ["pipe", "socket"]


@pytest.fixture(autouse=True)
def no_descriptor_left() -> Iterator[None]:
    before = os.listdir("/proc/self/fd")
    yield
    assert len(os.listdir("/proc/self/fd")) <= len(before)


def two_ends(kind: str) -> tuple[int, int]:
    """A descriptor to read and one to write."""
    if kind == "pipe":
        return os.pipe()
    one, other = socket.socketpair()
    return one.detach(), other.detach()


class Source:
    """What a reader gave."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = asyncio.Event()
        self.news = asyncio.Event()

    async def open(self, fd: int) -> ReadEnd:
        return await open_reader(fd, self.received, self.ended.set)

    def received(self, data: bytes) -> None:
        self.data += data
        self.news.set()


class Sink:
    """What a writer told."""

    def __init__(self) -> None:
        self.paused = asyncio.Event()
        self.resumed = asyncio.Event()
        self.lost = asyncio.Event()

    async def open(self, fd: int, high: int = 1000) -> WriteEnd:
        return await open_writer(
            fd, high=high, pause=self.paused.set, resume=self.resumed.set, lost=self.lost.set
        )


@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_go_from_the_writer_to_the_reader(kind: str) -> None:
    read, write = two_ends(kind)
    source, sink = Source(), Sink()
    async with asyncio.timeout(60):
        await source.open(read)
        writer = await sink.open(write)
        writer.write(b"x" * 1_000_000)
        writer.write(bytearray(b"end"))
        await writer.close()
        await source.ended.wait()
    assert source.data == b"x" * 1_000_000 + b"end"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_full_buffer_is_told_and_its_draining_too(kind: str) -> None:
    read, write = two_ends(kind)
    source, sink = Source(), Sink()
    async with asyncio.timeout(60):
        writer = await sink.open(write)
        writer.write(b"x" * 1_000_000)
        assert sink.paused.is_set() and not sink.resumed.is_set()
        await source.open(read)
        await sink.resumed.wait()
        await writer.close()
        await source.ended.wait()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_reader_that_is_gone_is_told_to_the_writer(kind: str) -> None:
    read, write = two_ends(kind)
    sink = Sink()
    async with asyncio.timeout(60):
        writer = await sink.open(write)
        os.close(read)
        while not sink.lost.is_set():
            writer.write(b"x")
            await asyncio.sleep(0)
        writer.write(b"ignored")
        await writer.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_paused_reader_takes_nothing(kind: str) -> None:
    read, write = two_ends(kind)
    source = Source()
    async with asyncio.timeout(60):
        reader = await source.open(read)
        reader.pause()
        os.write(write, b"x")
        for _ in range(20):
            await asyncio.sleep(0)
        assert source.data == b""
        reader.resume()
        await source.news.wait()
        assert source.data == b"x"
        reader.close()
        reader.pause()
        reader.resume()
        await source.ended.wait()
    os.close(write)


@pytest.mark.parametrize("kind", KINDS)
async def test_closing_does_not_wait_for_ever_for_a_peer_that_does_not_read(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acpella.transport._pipes.CLOSE_TIMEOUT", 0.01)
    read, write = two_ends(kind)
    async with asyncio.timeout(60):
        writer = await Sink().open(write)
        writer.write(b"x" * 1_000_000)
        await writer.close()
        await asyncio.sleep(0)
    os.close(read)


async def test_closing_waits_for_a_peer_that_reads_slowly() -> None:
    """Longer than for one that does not read at all."""
    read, write = os.pipe()
    async with asyncio.timeout(60):
        writer = await Sink().open(write)
        writer.write(bytes(1_000_000))
        closing = asyncio.create_task(writer.close())
        got = 0
        while data := os.read(read, 30_000):
            got += len(data)
            await asyncio.sleep(0.04)
        await closing
    assert got == 1_000_000
    os.close(read)


async def test_a_socket_that_carries_both_directions_is_not_lost_when_something_arrives() -> None:
    one, other = socket.socketpair()
    with one, other:
        source, sink = Source(), Sink()
        async with asyncio.timeout(60):
            writer = await sink.open(os.dup(one.fileno()))
            reader = await source.open(os.dup(one.fileno()))
            for n in range(10):
                other.send(b"%d" % n)
                await source.news.wait()
                source.news.clear()
                writer.write(b"%d" % n)
            assert other.recv(100) == source.data == b"0123456789"
            assert not sink.lost.is_set()
            reader.close()
            await writer.close()
            await source.ended.wait()


@pytest.mark.parametrize("size", [0, 10, 64 * 1024, 1_000_000])
async def test_a_file_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(size))
    source = Source()
    async with asyncio.timeout(60):
        await source.open(os.open(path, os.O_RDONLY))
        await source.ended.wait()
    assert source.data == path.read_bytes()


async def test_a_paused_reader_of_a_file_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1_000_000))
    source = Source()
    async with asyncio.timeout(60):
        reader = await source.open(os.open(path, os.O_RDONLY))
        while not source.ended.is_set():
            reader.pause()
            await asyncio.sleep(0)
            reader.resume()
            await asyncio.sleep(0)
    assert source.data == path.read_bytes()


async def test_a_reader_of_a_file_that_is_closed_says_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1_000_000))
    source = Source()
    async with asyncio.timeout(60):
        reader = await source.open(os.open(path, os.O_RDONLY))
        await source.news.wait()
        reader.close()
        seen = source.data
        reader._thread.join()  # type: ignore[attr-defined]
        await asyncio.sleep(0)
    assert source.data == seen
    assert not source.ended.is_set()


async def test_a_directory_reads_as_empty(tmp_path: Path) -> None:
    source = Source()
    async with asyncio.timeout(60):
        await source.open(os.open(tmp_path, os.O_RDONLY))
        await source.ended.wait()
    assert source.data == b""


async def test_a_file_is_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    sink = Sink()
    writer = await sink.open(os.open(path, os.O_WRONLY | os.O_CREAT))
    writer.write(b"one ")
    writer.write(bytearray(b"two"))
    assert path.read_bytes() == b"one two"
    await writer.close()
    writer.write(b"ignored")
    assert path.read_bytes() == b"one two"


async def test_a_full_disk_is_told_once() -> None:
    sink = Sink()
    writer = await sink.open(os.open("/dev/full", os.O_WRONLY))
    writer.write(b"x")
    assert sink.lost.is_set()
    writer.write(b"x")
    await writer.close()

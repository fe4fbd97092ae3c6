"""Pipes that no event loop can wait for, as all of them on Windows."""

import asyncio
import os

import pytest

from acpella.transport import _threads
from acpella.transport._threads import ThreadReader, ThreadWriter

pytestmark = pytest.mark.anyio

HIGH = 1000


class End:
    """What a reader gave and a writer told."""

    def __init__(self) -> None:
        self.data = b""
        self.news = asyncio.Event()
        self.ended = asyncio.Event()
        self.paused = asyncio.Event()
        self.resumed = asyncio.Event()
        self.lost = asyncio.Event()

    def received(self, data: bytes) -> None:
        self.data += data
        self.news.set()

    def reader(self, fd: int) -> ThreadReader:
        return ThreadReader(fd, self.received, self.ended.set)

    def writer(self, fd: int) -> ThreadWriter:
        return ThreadWriter(fd, high=HIGH, pause=self.paused.set, resume=self.resumed.set, lost=self.lost.set)


async def test_bytes_arrive_whole_and_the_end_behind_them() -> None:
    read, write = os.pipe()
    end = End()
    async with asyncio.timeout(60):
        end.reader(read)
        writer = end.writer(write)
        for n in range(1000):
            writer.write(b"%04d" % n * 250)
            await asyncio.sleep(0)
        await writer.close()
        await end.ended.wait()
    assert end.data == b"".join(b"%04d" % n * 250 for n in range(1000))
    assert not end.lost.is_set()


async def test_a_full_buffer_is_told_and_its_draining_too() -> None:
    read, write = os.pipe()
    end = End()
    async with asyncio.timeout(60):
        writer = end.writer(write)
        writer.write(b"x" * 1_000_000)  # more than the pipe holds
        assert end.paused.is_set() and not end.resumed.is_set()
        end.reader(read)
        await end.resumed.wait()
        await writer.close()
        await end.ended.wait()
    assert len(end.data) == 1_000_000


async def test_a_reader_that_is_gone_is_told_to_the_writer() -> None:
    read, write = os.pipe()
    end = End()
    os.close(read)
    async with asyncio.timeout(60):
        writer = end.writer(write)
        writer.write(b"x")
        await end.lost.wait()
        writer.write(b"ignored")
        await writer.close()


async def test_a_paused_reader_gives_nothing_until_it_goes_on() -> None:
    read, write = os.pipe()
    end = End()
    async with asyncio.timeout(60):
        reader = end.reader(read)
        os.write(write, b"one")
        await end.news.wait()
        reader.pause()
        os.write(write, b"two")
        os.close(write)
        for _ in range(1000):
            if reader._held is not None:  # the thread has read it
                break
            await asyncio.sleep(0.001)
        assert reader._held == b"two"
        assert end.data == b"one" and not end.ended.is_set()
        reader.resume()
        await end.ended.wait()
    assert end.data == b"onetwo"


async def test_closing_gives_up_on_a_peer_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "CLOSE_TIMEOUT", 0.01)
    read, write = os.pipe()
    async with asyncio.timeout(60):
        writer = End().writer(write)
        writer.write(b"x" * 1_000_000)
        await writer.close()
    os.close(read)  # which ends the thread


async def test_closing_waits_for_a_peer_that_reads_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "CLOSE_TIMEOUT", 0.5)
    read, write = os.pipe()
    taken = 0
    async with asyncio.timeout(20):
        writer = End().writer(write)
        writer.write(bytes(1_000_000))
        closing = asyncio.create_task(writer.close())
        while data := os.read(read, 30_000):
            taken += len(data)
            await asyncio.sleep(0.02)
        await closing
    assert taken == 1_000_000
    os.close(read)

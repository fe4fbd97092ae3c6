"""Two ends in one process: order, back-pressure and the end."""

import asyncio

import pytest

from acpella.errors import ConnectionClosed, LocalProtocolError
from acpella.transport import MemoryChannel, memory_pair

pytestmark = pytest.mark.anyio


class Listener:
    """A receiver that writes down what it hears."""

    def __init__(self) -> None:
        self.data = b""
        self.heard: list[str] = []
        self.reason: ConnectionClosed | None = None

    def received(self, data: bytes) -> None:
        self.data += data

    def pause_writing(self) -> None:
        self.heard.append("pause")

    def resume_writing(self) -> None:
        self.heard.append("resume")

    def ended(self, reason: ConnectionClosed) -> None:
        self.heard.append("ended")
        self.reason = reason


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def opened(write_high: int = 100) -> tuple[MemoryChannel, Listener, MemoryChannel, Listener]:
    here, there = memory_pair()
    ours, theirs = Listener(), Listener()
    await here.open(ours, write_high=write_high)
    await there.open(theirs, write_high=write_high)
    return here, ours, there, theirs


async def test_what_is_written_here_is_read_there() -> None:
    here, ours, there, theirs = await opened()
    here.write(b"one ")
    here.write(bytearray(b"two"))
    there.write(b"three")
    await settle()
    assert (theirs.data, ours.data) == (b"one two", b"three")


async def test_a_buffer_may_be_used_again_after_writing() -> None:
    here, _, _, theirs = await opened()
    buffer = bytearray(b"first")
    here.write(buffer)
    buffer[:] = b"other"
    await settle()
    assert theirs.data == b"first"


async def test_what_was_written_before_the_other_end_opened_is_kept_for_it() -> None:
    here, there = memory_pair()
    await here.open(Listener(), write_high=100)
    here.write(b"early")
    theirs = Listener()
    await there.open(theirs, write_high=100)
    await settle()
    assert theirs.data == b"early"


async def test_a_reader_that_pauses_makes_the_writer_pause() -> None:
    here, ours, there, theirs = await opened(write_high=100)
    there.pause_reading()
    here.write(b"x" * 100)
    assert ours.heard == []
    here.write(b"x" * 10)
    here.write(b"x" * 10)
    await settle()
    assert ours.heard == ["pause"]
    assert theirs.data == b""
    there.resume_reading()
    await settle()
    assert ours.heard == ["pause", "resume"]
    assert theirs.data == b"x" * 120


async def test_the_other_end_reads_what_is_left_and_then_hears_of_the_end() -> None:
    here, ours, _, theirs = await opened()
    here.write(b"last")
    await here.close()
    await here.close()
    await settle()
    assert theirs.data == b"last"
    assert theirs.heard == ["ended"]
    assert theirs.reason is not None and theirs.reason.clean
    assert ours.heard == []


async def test_a_paused_reader_hears_of_the_end_after_it_has_read() -> None:
    here, _, there, theirs = await opened()
    there.pause_reading()
    here.write(b"last")
    await here.close()
    await settle()
    assert theirs.heard == []
    there.resume_reading()
    await settle()
    assert (theirs.data, theirs.heard) == (b"last", ["ended"])


async def test_an_end_that_closed_before_the_other_opened_is_told() -> None:
    here, there = memory_pair()
    await here.open(Listener(), write_high=1)
    await here.close()
    theirs = Listener()
    await there.open(theirs, write_high=1)
    await settle()
    assert theirs.heard == ["ended"]


async def test_writing_to_a_closed_end_is_ignored() -> None:
    here, ours, there, theirs = await opened()
    await there.close()
    here.write(b"x" * 1000)
    await here.close()
    here.write(b"y")
    await settle()
    assert theirs.data == b""
    assert "pause" not in ours.heard


async def test_a_channel_can_be_opened_once() -> None:
    here, _, _, _ = await opened()
    with pytest.raises(LocalProtocolError):
        await here.open(Listener(), write_high=1)

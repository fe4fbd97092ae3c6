"""What goes to a peer: gathered, held back while the peer is behind, and let go at the end."""

import asyncio

import pytest

from acpella.rpc import ChannelInfo, Peer, Receiver
from acpella.rpc.recent_frames import RecentFrames
from acpella.rpc.writing import BURST, FLUSH_AT, WRITE_GAP, Writing
from acpella.schema import methods

pytestmark = pytest.mark.anyio


class Sink:
    """A channel that keeps what is written to it."""

    about = ChannelInfo()

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.wrote = asyncio.Event()

    async def open(self, receiver: Receiver, *, write_high: int) -> None: ...
    def write(self, data: bytes | bytearray) -> None:
        self.written.append(bytes(data))
        self.wrote.set()

    async def next_write(self) -> None:
        self.wrote.clear()
        async with asyncio.timeout(60):
            await self.wrote.wait()

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    async def close(self) -> None: ...


class Wire:
    """A `Writing` with a peer before it and a sink behind it."""

    def __init__(self, *, limit: int = 1000) -> None:
        self.sink, self.peer, self.floods = Sink(), Peer(methods.AGENT, framing="lines"), 0
        self.writing = Writing(self.peer, self.sink, RecentFrames(), limit=limit, on_flood=self._flooded)
        self.writing.mute = False

    def _flooded(self) -> None:
        self.floods += 1

    def tell(self) -> bool:
        return self.writing.gather(self.peer.notify("_told", {}))


async def test_the_first_notification_goes_at_once_and_those_close_behind_it_together() -> None:
    wire = Wire()
    for _ in range(3):
        wire.tell()
    assert len(wire.sink.written) == 1
    await wire.sink.next_write()
    assert [data.count(b"_told") for data in wire.sink.written] == [1, 2]


async def test_a_notification_in_each_turn_of_the_loop_does_not_mean_a_write_for_each() -> None:
    wire = Wire()
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(200):
        wire.tell()
        await asyncio.sleep(0)
    most = 1 + (loop.time() - began) / WRITE_GAP  # one in a gap, however slow this machine is
    assert len(wire.sink.written) <= most
    if sum(data.count(b"_told") for data in wire.sink.written) < 200:
        await wire.sink.next_write()
    assert sum(data.count(b"_told") for data in wire.sink.written) == 200


async def test_after_a_gap_a_notification_goes_at_once_again() -> None:
    wire = Wire()
    wire.tell()
    await asyncio.sleep(2 * WRITE_GAP)
    wire.tell()
    assert len(wire.sink.written) == 2


async def test_much_that_is_gathered_does_not_wait_for_the_gap_to_end() -> None:
    wire = Wire()
    wire.tell()
    wire.writing.gather(wire.peer.notify("_told", {"text": "x" * FLUSH_AT}))
    assert len(wire.sink.written) == 2


async def test_after_a_burst_the_sender_is_asked_to_let_others_run() -> None:
    wire = Wire()
    assert [wire.tell() for _ in range(BURST + 1)] == [*[False] * (BURST - 1), True, False]


async def test_a_mute_connection_writes_nothing_and_keeps_nothing() -> None:
    wire = Wire()
    wire.writing.end(mute=True)
    wire.tell()
    assert wire.sink.written == [] and not wire.peer.unsent


async def test_writers_go_one_after_the_other_when_the_peer_has_caught_up() -> None:
    wire, order = Wire(), list[int]()
    wire.writing.pause()

    async def write(number: int) -> None:
        await wire.writing.until_free()
        order.append(number)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(write(number))
        await asyncio.sleep(0)
        assert order == []
        wire.writing.resume()
    assert order == [0, 1, 2]


async def test_an_answer_does_not_wait_for_the_peer_to_read_once_the_conversation_ends() -> None:
    wire = Wire()
    wire.writing.pause()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        answering = group.create_task(wire.writing.until_answerable())
        await asyncio.sleep(0)
        assert not answering.done()
        wire.writing.end(mute=False)


async def test_a_peer_that_sends_and_never_reads_is_a_flood() -> None:
    wire = Wire(limit=60)
    wire.writing.pause()
    wire.tell()
    assert wire.floods == 0
    wire.peer.notify("_told", {})
    wire.writing.flush()
    assert wire.floods == 1

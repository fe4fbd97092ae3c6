"""Faults on a channel: each does what its name says, the same each time."""

import asyncio
from pathlib import Path

import pytest

from acpella.client import Timeouts, connect
from acpella.client.targets import InProcess
from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc import ChannelInfo, Receiver
from acpella.testing import FaultyChannel, ScriptedAgent, faults, repeat, say
from acpella.transport import ProcessChannel

pytestmark = pytest.mark.anyio

LINES = [b"%d %s\n" % (n, b"x" * n) for n in range(1, 51)]


class Source:
    """A channel whose other end is the test."""

    about = ChannelInfo()

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        self.receiver = receiver

    def write(self, data: bytes | bytearray) -> None:
        self.written.append(bytes(data))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    async def close(self) -> None:
        self.closed = True


class Sink:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.end: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()

    def received(self, data: bytes) -> None:
        self.pieces.append(data)

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: ConnectionClosed) -> None:
        self.end.set_result(reason)


async def through(*broken: faults.Fault, seed: int = 0) -> list[bytes]:
    """What comes out of a channel with faults when fifty lines go in."""
    source, sink = Source(), Sink()
    channel = FaultyChannel(source, *broken, seed=seed)
    await channel.open(sink, write_high=1000)
    for line in LINES:
        source.receiver.received(line)
    source.receiver.ended(ConnectionClosed("over", clean=True))
    async with asyncio.timeout(60):
        await sink.end
    await channel.close()
    return sink.pieces


async def test_without_faults_everything_passes() -> None:
    assert await through() == LINES


async def test_split() -> None:
    pieces = await through(faults.split(3))
    assert b"".join(pieces) == b"".join(LINES)
    assert {len(piece) for piece in pieces} == {1, 2, 3}


async def test_drop_duplicate_and_garbage_by_number() -> None:
    assert await through(faults.drop(1, 50)) == LINES[1:-1]
    assert await through(faults.duplicate(2)) == [*LINES[:2], *LINES[1:]]
    pieces = await through(faults.garbage(1, size=20))
    assert pieces[1:] == LINES and pieces[0] not in LINES and pieces[0].endswith(b"\n")
    assert sum(a != b for a, b in zip(await through(faults.garble(3, 4)), LINES, strict=True)) == 2


async def test_chance_is_the_same_for_the_same_seed() -> None:
    chance = faults.drop(share=0.5), faults.duplicate(share=0.3), faults.split(9)
    once = await through(*chance, seed=1)
    assert once == await through(*chance, seed=1)
    assert once != await through(*chance, seed=2)


async def test_a_fault_may_act_one_way_only() -> None:
    assert await through(faults.drop(share=1, way="out")) == LINES
    source = Source()
    channel = FaultyChannel(source, faults.drop(1, way="out"))
    await channel.open(Sink(), write_high=1000)
    for line in LINES[:3]:
        channel.write(line)
    await channel.close()
    assert source.written == LINES[1:3]


async def test_a_crash_ends_the_channel_after_what_had_passed() -> None:
    source, sink = Source(), Sink()
    channel = FaultyChannel(source, faults.crash(after=2))
    await channel.open(sink, write_high=1000)
    for line in LINES:
        source.receiver.received(line)
    async with asyncio.timeout(60):
        reason = await sink.end
    assert not reason.clean and "broke" in str(reason)
    assert sink.pieces == LINES[:2]
    await channel.close()
    assert source.closed


async def test_a_stall_lets_nothing_more_pass() -> None:
    assert await through(faults.stall(after=3)) == LINES[:3]


@pytest.mark.parametrize("seed", range(5))
async def test_a_client_survives_split_delay_and_garbage(seed: int, tmp_path: Path) -> None:
    script = ScriptedAgent().on("count", repeat(20, say("x")))
    channel = FaultyChannel(
        InProcess(script),
        faults.split(7),
        faults.delay(0.001),
        faults.garbage(share=0.3, way="in"),
        seed=seed,
    )
    async with asyncio.timeout(30), connect(channel) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("count")).text == "x" * 20


@pytest.mark.parametrize("seed", range(5))
async def test_a_client_ends_whatever_is_lost(seed: int, tmp_path: Path) -> None:
    script = ScriptedAgent().on("count", repeat(20, say("x")))
    channel = FaultyChannel(InProcess(script), faults.garble(share=0.2), faults.drop(share=0.1), seed=seed)
    timeouts = Timeouts(startup=1, request=1, idle_turn=1, cancel=1)
    async with asyncio.timeout(30):
        try:
            async with connect(channel, timeouts=timeouts) as agent:
                session = await agent.new_session(tmp_path)
                await session.prompt("count")
        except (AcpellaError, TimeoutError):
            pass


async def test_a_flood_on_stderr_comes_before_the_agent(tmp_path: Path) -> None:
    command = faults.with_stderr_flood(ScriptedAgent().command, size=3_000_000)
    read = 0

    def count(data: bytes) -> None:
        nonlocal read
        read += len(data)

    async with asyncio.timeout(30), connect(ProcessChannel(command, on_stderr=count)) as agent:
        await agent.new_session(tmp_path)
    assert read >= 3_000_000

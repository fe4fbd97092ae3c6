"""A peer that floods or a consumer that stalls: memory stays bounded, and nobody waits for ever."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from acpella.errors import ConnectionClosed, RpcError
from acpella.rpc import Connection, Limits
from interaction.ends import Collector, Connect, Gate, Side, echo, until, until_stuck
from interaction.wire import notification, request

pytestmark = pytest.mark.anyio

KIB = 1024
MIB = 1024 * KIB
SMALL = Limits(
    queue_low=64 * KIB, queue_high=MIB, write_high=64 * KIB, write_max=MIB, max_requests=1000, close_grace=0.1
)
TEXT = "x" * 1000


def queued(connection: Connection) -> int:
    return connection._inbox.size  # pyright: ignore[reportPrivateUsage]


@contextmanager
def at_most(limit: int) -> Iterator[None]:
    """Fail when the block takes more memory than that at any time."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < limit


async def flood(connection: Connection, method: str = "n", count: int = 2**60) -> None:
    """Notify until the count or the end."""
    try:
        for n in range(count):
            await connection.notify(method, [n, TEXT])
    except ConnectionClosed:
        pass


# -- one side floods --------------------------------------------------------------------------


async def test_a_stalled_consumer_stops_a_flooding_peer(connect: Connect) -> None:
    gate = Gate()
    async with connect(there=Side(notifications={"n": gate}), limits=SMALL) as (here, there):
        with at_most(4 * MIB):
            flooding = asyncio.create_task(flood(here))
            await gate.entered.wait()
            await until_stuck(here)
            for _ in range(100):
                await asyncio.sleep(0)
            assert not flooding.done()
            assert queued(there) < SMALL.queue_high
        flooding.cancel()
        gate.open.set()


async def test_a_large_notification_counts_with_all_its_bytes(connect: Connect) -> None:
    """It is read in many pieces; what waits is the whole."""
    gate = Gate()
    async with connect.to_bytes(Side(notifications={"n": gate}), limits=SMALL) as (here, raw):
        raw.send(notification("n"))
        await gate.entered.wait()
        raw.send(notification("n", TEXT * 2000))
        await until(lambda: queued(here) >= 2000 * len(TEXT))
        gate.open.set()
        await until(lambda: queued(here) == 0)


async def test_a_stalled_consumer_that_goes_on_gets_everything_in_order(connect: Connect) -> None:
    got, gate = Collector(), Gate()

    async def handler(params: list[Any]) -> None:
        if params[0] == 0:
            await gate(params)
        got(params[0])

    async with connect(there=Side(notifications={"n": handler}), limits=SMALL) as (here, _):
        flooding = asyncio.create_task(flood(here, count=2000))
        await gate.entered.wait()
        await until_stuck(here)
        gate.open.set()
        await flooding
        assert await got.until(2000) == list(range(2000))


async def test_a_slow_consumer_keeps_the_queue_short(connect: Connect) -> None:
    most = 0
    got = Collector()
    ends: list[Connection] = []

    async def slowly(params: list[Any]) -> None:
        nonlocal most
        most = max(most, queued(ends[0]))
        await asyncio.sleep(0)
        got(params[0])

    async with connect(there=Side(notifications={"n": slowly}), limits=SMALL) as (here, there):
        ends.append(there)
        await flood(here, count=3000)
        assert await got.until(3000) == list(range(3000))
        assert most < 4 * SMALL.queue_low + 2 * 64 * KIB


async def test_a_peer_that_never_reads_makes_notify_wait(connect: Connect) -> None:
    async with connect.to_nobody(limits=SMALL) as (here, _):
        with at_most(2 * MIB):
            flooding = asyncio.create_task(flood(here))
            await until_stuck(here)
            for _ in range(100):
                await asyncio.sleep(0)
            assert not flooding.done()
        flooding.cancel()


async def test_a_peer_that_asks_and_never_reads_the_answers_is_cut_off(connect: Connect) -> None:
    """Answers to a peer that does not listen must not pile up without end."""
    async with connect.to_bytes(Side({"echo": echo}), limits=SMALL) as (here, raw):
        raw.channel.pause_reading()
        line = request(1, "echo", TEXT)
        with at_most(48 * MIB):  # on a busy machine, what was sent waits in threads of the test, too
            while here.closed is None:
                raw.send(line * 100)
                await asyncio.sleep(0.002)  # threads need real time to pass it on
        assert "does not read" in here.closed.reason


async def test_a_peer_that_asks_nonsense_and_never_reads_the_errors_is_cut_off(connect: Connect) -> None:
    async with connect.to_bytes(limits=SMALL) as (here, raw):
        raw.channel.pause_reading()
        with at_most(48 * MIB):  # on a busy machine, what was sent waits in threads of the test, too
            while here.closed is None:
                raw.send(request(1, "nope") * 1000)
                await asyncio.sleep(0.002)  # threads need real time to pass it on
        assert "does not read" in here.closed.reason


async def test_a_large_answer_to_a_peer_that_reads_slowly_is_no_reason_to_cut_it_off(
    connect: Connect,
) -> None:
    size = 4 * SMALL.queue_high
    async with connect(there=Side({"large": lambda _: "x" * size, "echo": echo}), limits=SMALL) as (here, _):
        answers = await asyncio.gather(here.call("large"), *(here.call("echo", n) for n in range(100)))
        assert len(answers[0]) == size
        assert answers[1:] == list(range(100))


async def test_many_answers_at_once_to_a_peer_that_reads_are_no_reason_to_cut_it_off(
    connect: Connect,
) -> None:
    """More than any buffer holds, asked for from both sides at once."""
    side = Side({"text": lambda _: TEXT * 10})
    async with connect(side, side, limits=SMALL) as (here, there):
        calls = [end.call("text") for _ in range(500) for end in (here, there)]
        answers = await asyncio.gather(*calls)
        assert set(answers) == {TEXT * 10}


# -- both sides flood ---------------------------------------------------------------------------


async def test_both_sides_flood_while_their_handlers_call_each_other(connect: Connect) -> None:
    count = 500
    ends: dict[str, Connection] = {}
    done = {"here": Collector(), "there": Collector()}

    def side(name: str) -> Side:
        async def handler(params: list[Any]) -> None:
            assert await ends[name].call("echo", params[0]) == params[0]
            done[name](params[0])

        return Side({"echo": echo}, {"n": handler})

    async with connect(side("here"), side("there"), limits=SMALL) as (here, there):
        ends.update(here=here, there=there)
        with at_most(16 * MIB):
            await asyncio.gather(flood(here, count=count), flood(there, count=count))
            for collector in done.values():
                assert await collector.until(count) == list(range(count))


async def test_both_sides_flood_while_their_handlers_notify_back(connect: Connect) -> None:
    count = 500
    ends: dict[str, Connection] = {}
    back = {"here": Collector(), "there": Collector()}

    def side(name: str) -> Side:
        async def handler(params: list[Any]) -> None:
            await ends[name].notify("back", params)

        return Side({}, {"n": handler, "back": lambda params: back[name](params[0])})

    async with connect(side("here"), side("there"), limits=SMALL) as (here, there):
        ends.update(here=here, there=there)
        await asyncio.gather(flood(here, count=count), flood(there, count=count))
        for collector in back.values():
            assert await collector.until(count) == list(range(count))


async def test_both_sides_flood_and_answer_calls_at_once(connect: Connect) -> None:
    got = [Collector(), Collector()]
    sides = [Side({"echo": echo}, {"n": collector}) for collector in got]
    async with connect(*sides, limits=SMALL) as (here, there):
        calls = [end.call("echo", n) for n in range(300) for end in (here, there)]
        await asyncio.gather(flood(here, count=1000), flood(there, count=1000), *calls)
        for collector in got:
            await collector.until(1000)


@pytest.mark.parametrize("in_a_task", [False, True])
async def test_a_handler_whose_answer_is_stuck_behind_a_flood_does_not_hang_for_ever(
    connect: Connect, in_a_task: bool
) -> None:
    """The peer answers only after more than we hold: the connection ends instead of waiting for itself."""
    ends: list[Connection] = []
    flooded = asyncio.Event()

    async def ask(params: list[Any]) -> None:
        if params[0] == 0:
            call = ends[0].call("slow")
            await (asyncio.create_task(call) if in_a_task else call)

    async def slow(_: Any) -> None:
        await flooded.wait()

    async with connect(Side({"slow": slow}), Side({}, {"n": ask}), limits=SMALL) as (here, there):
        ends.append(there)
        flooding = asyncio.create_task(flood(here, count=2 * SMALL.queue_high // len(TEXT)))
        flooding.add_done_callback(lambda _: flooded.set())
        ending = await there.wait_closed()
        assert "too much is waiting" in ending.reason
        await flooding


async def test_a_slow_call_elsewhere_does_not_end_a_flooded_connection(connect: Connect) -> None:
    """Somebody waits for the peer, but the notifications do get handled: that is only slow."""
    gate, got = Gate(), Collector()

    async def slowly(params: list[Any]) -> None:
        await asyncio.sleep(0)
        got(params[0])

    async with connect(Side({"slow": gate}), Side({}, {"n": slowly}), limits=SMALL) as (here, there):
        call = asyncio.create_task(there.call("slow"))
        await gate.entered.wait()
        count = 3 * SMALL.queue_high // len(TEXT)
        await flood(here, count=count)
        assert await got.until(count) == list(range(count))
        gate.open.set()
        await call


async def test_a_flood_does_not_keep_requests_waiting(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side({"echo": echo}, {"n": gate}), limits=SMALL) as (_, raw):
        raw.send(notification("n", TEXT) * 10, request(1, "echo", "through"))
        (answer,) = await raw.messages(1)
        assert answer["result"] == "through"
        gate.open.set()


async def test_senders_take_turns(connect: Connect) -> None:
    """Ten sessions stream at once: none is starved."""
    order: list[int] = []
    got = Collector()

    def handler(params: list[int]) -> None:
        order.append(params[0])
        got(params)

    async def stream(here: Connection, session: int) -> None:
        for n in range(200):
            await here.notify("n", [session, n])

    async with connect(there=Side(notifications={"n": handler})) as (here, _):
        await asyncio.gather(*(stream(here, session) for session in range(10)))
        await got.until(2000)
        assert len(set(order[:1000])) == 10


async def test_a_call_that_fails_gives_reading_back(connect: Connect) -> None:
    """Each finished call is counted off again, however it ended."""
    async with connect(there=Side({"echo": echo}), limits=SMALL) as (here, _):
        for attempt in range(20):
            try:
                await here.call("echo" if attempt % 2 else "nope", 1)
            except RpcError:
                pass
        assert here._awaited == 0  # pyright: ignore[reportPrivateUsage]

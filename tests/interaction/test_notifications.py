"""Notifications: one after the other, in the order they came."""

import asyncio
from typing import Any

import pytest

from acpella.rpc import Connection, Limits
from acpella.schema import methods
from acpella.transport import memory_pair
from interaction.ends import Collector, Connect, Gate, RawEnd, Side, echo
from interaction.wire import notification, request, result, update

pytestmark = pytest.mark.anyio


async def test_notifications_are_handled_in_the_order_they_came(connect: Connect) -> None:
    got = Collector()
    async with connect(there=Side(notifications={"n": got})) as (here, _):
        for n in range(5000):
            await here.notify("n", n)
        assert await got.until(5000) == list(range(5000))


async def test_a_slow_handler_does_not_change_the_order(connect: Connect) -> None:
    got = Collector()

    async def sometimes_slow(n: int) -> None:
        if n % 3 == 0:
            await asyncio.sleep(0)
        got(n)

    async with connect(there=Side(notifications={"n": sometimes_slow})) as (here, _):
        for n in range(300):
            await here.notify("n", n)
        assert await got.until(300) == list(range(300))


async def test_only_one_notification_is_handled_at_a_time(connect: Connect) -> None:
    running: list[int] = []
    most = 0
    got = Collector()

    async def handler(n: int) -> None:
        nonlocal most
        running.append(n)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.remove(n)
        got(n)

    async with connect(there=Side(notifications={"n": handler})) as (here, _):
        for n in range(100):
            await here.notify("n", n)
        await got.until(100)
        assert most == 1


async def test_a_notification_and_the_call_after_it_arrive_in_that_order(connect: Connect) -> None:
    seen: list[str] = []
    there = Side({"call": lambda _: seen.append("call")}, {"note": lambda _: seen.append("note")})
    async with connect(there=there) as (here, _):
        for _ in range(50):
            await here.notify("note", None)
            await here.call("call")
        assert seen == ["note", "call"] * 50


@pytest.mark.parametrize("raised", [ValueError("no"), asyncio.CancelledError(), TimeoutError()])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
async def test_a_handler_that_fails_does_not_stop_the_next_one(
    connect: Connect, raised: BaseException, is_async: bool
) -> None:
    got = Collector()

    async def later(n: int) -> None:
        handler(n)

    def handler(n: int) -> None:
        if n < 2:
            raise raised
        got(n)

    there = Side({"echo": echo}, {"n": later if is_async else handler})
    async with connect(there=there) as (here, _):
        for n in range(4):
            await here.notify("n", n)
        assert await got.until(2) == [2, 3]
        assert await here.call("echo", 1) == 1


async def test_a_handler_that_awaits_something_cancelled_does_not_stop_the_next_one(connect: Connect) -> None:
    got = Collector()

    async def handler(n: int) -> None:
        if n == 0:
            task = asyncio.create_task(asyncio.sleep(60))
            task.cancel()
            await task
        got(n)

    async with connect(there=Side(notifications={"n": handler})) as (here, _):
        await here.notify("n", 0)
        await here.notify("n", 1)
        assert await got.until(1) == [1]


async def test_notifications_that_nobody_handles_are_dropped(connect: Connect) -> None:
    """R-011, R-028"""
    async with connect.to_bytes(Side({"echo": echo})) as (_, raw):
        raw.send(notification("nope"), notification("_x/nope"), request(1, "echo", "x"))
        assert [answer["id"] for answer in await raw.messages(1)] == [1]


# -- requests among notifications --------------------------------------------------------------


async def test_a_cancel_and_the_request_behind_it_in_one_chunk_keep_their_order(connect: Connect) -> None:
    """`session/cancel`, then the next prompt: the cancel must not hit the prompt behind it."""
    seen: list[str] = []

    async def cancel(_: Any) -> None:
        seen.append("cancel")

    async def prompt(_: Any) -> None:
        seen.append("prompt")

    async with connect.to_bytes(Side({"prompt": prompt}, {"cancel": cancel})) as (_, raw):
        raw.send(
            notification("cancel") + request(1, "prompt") + notification("cancel") + request(2, "prompt")
        )
        await raw.messages(2)
        assert seen == ["cancel", "prompt", "cancel", "prompt"]


async def test_a_request_comes_after_the_notifications_before_it(connect: Connect) -> None:
    seen: list[int] = []
    there = Side({"count": lambda _: len(seen)}, {"n": seen.append})
    async with connect.to_bytes(there) as (_, raw):
        raw.send(
            b"".join(notification("n", n) for n in range(100)) + request(1, "count") + notification("n", 100)
        )
        (answer,) = await raw.messages(1)
        assert answer["result"] == 100


async def test_a_request_does_not_wait_for_a_stuck_notification_handler(connect: Connect) -> None:
    """The handler may wait for that very request."""
    asked = asyncio.Event()
    done = Collector()

    async def wait_for_request(n: int) -> None:
        await asked.wait()
        done(n)

    there = Side({"ask": lambda _: asked.set()}, {"n": wait_for_request})
    async with connect.to_bytes(there) as (_, raw):
        raw.send(notification("n", 1) + notification("n", 2) + request(1, "ask") + notification("n", 3))
        await raw.messages(1)
        assert await done.until(3) == [1, 2, 3]


async def test_a_request_waiting_behind_notifications_can_be_cancelled(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate}, {"n": lambda _: None})) as (_, raw):
        raw.send(notification("n") + request(1, "slow") + notification("$/cancel_request", {"requestId": 1}))
        (answer,) = await raw.messages(1)
        assert answer["error"]["code"] == -32800
        assert gate.runs == 0


# -- calls in order ---------------------------------------------------------------------------------


async def test_a_call_in_order_ends_after_the_notifications_before_its_answer(connect: Connect) -> None:
    """R-205: `prompt()` ends after all its updates were delivered."""
    got: list[int] = []
    ends: list[Connection] = []

    async def slowly(n: int) -> None:
        await asyncio.sleep(0)
        got.append(n)

    async def prompt(_: Any) -> str:
        for n in range(200):
            await ends[0].notify("n", n)
        return "done"

    async with connect(Side(notifications={"n": slowly}), Side({"prompt": prompt})) as (here, there):
        ends.append(there)
        assert await here.call("prompt", in_order=True) == "done"
        assert got == list(range(200))


async def test_a_call_out_of_order_does_not_wait_for_notifications(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side(notifications={"n": gate})) as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(notification("n") + result(0, "quick"))
        assert await call == "quick"
        gate.open.set()


async def test_a_failed_call_in_order_waits_too(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side(notifications={"n": gate})) as (here, raw):
        call = asyncio.create_task(here.call("m", in_order=True))
        await raw.messages(1)
        raw.send(notification("n") + b'{"id":0,"error":{"code":400,"message":"no"}}\n')
        await gate.entered.wait()
        assert not call.done()
        gate.open.set()
        with pytest.raises(Exception, match="no"):
            await call


async def test_a_call_in_order_can_be_cancelled_while_its_answer_waits(connect: Connect) -> None:
    gate = Gate()
    got = Collector()
    async with connect.to_bytes(Side(notifications={"n": gate, "last": got})) as (here, raw):
        call = asyncio.create_task(here.call("m", in_order=True))
        await raw.messages(1)
        raw.send(notification("n") + result(0, "x") + notification("last"))
        await gate.entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        gate.open.set()
        await got.until(1)


# -- the stream -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 50, 100_000])
async def test_updates_arrive_typed_and_in_order_however_they_are_cut(size: int) -> None:
    texts: list[str] = []
    there, end = memory_pair()
    handlers = {"session/update": lambda params: texts.append(params.update.content.text)}
    limits = Limits(queue_low=1000)
    async with (
        asyncio.timeout(60),
        Connection(end, methods.CLIENT, notifications=handlers, limits=limits) as client,
    ):
        agent = Side({"echo": echo}).on(there)
        await agent.open()
        data = b"".join(update(str(n)) for n in range(100))
        for at in range(0, len(data), size):
            there.write(data[at : at + size])
        await client.call("echo", in_order=True)
        assert texts == [str(n) for n in range(100)]
        await agent.close()


async def test_many_small_updates_in_a_row_are_all_handled() -> None:
    """Reading rests for a moment when small reads come hot; nothing may be lost by that."""
    texts = Collector()
    there, end = memory_pair()
    handlers = {"session/update": lambda params: texts(params.update.content.text)}
    async with asyncio.timeout(60), Side().on(there) as agent:
        async with Connection(end, methods.CLIENT, notifications=handlers):
            for n in range(500):
                content = {"type": "text", "text": str(n)}
                chunk = {"sessionUpdate": "agent_message_chunk", "content": content}
                await agent.notify("session/update", {"sessionId": "s", "update": chunk})
                await asyncio.sleep(0)
            assert await texts.until(500) == [str(n) for n in range(500)]


async def test_an_unended_last_line_after_a_stream_is_not_taken_for_a_part_of_it() -> None:
    texts: list[str] = []
    there, end = memory_pair()
    handlers = {"session/update": lambda params: texts.append(params.update.content.text)}
    raw = RawEnd(there)
    await there.open(raw, write_high=2**20)
    async with asyncio.timeout(60), Connection(end, methods.CLIENT, notifications=handlers) as client:
        call = asyncio.create_task(client.call("m"))
        await raw.messages(1)
        raw.send(update("a") + update("b") + result(0, "done").strip())
        await there.close()
        assert await call == "done"
        assert texts == ["a", "b"]

"""The end of a conversation: whoever wants it, everybody hears of it and nothing hangs."""

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from acpella.errors import ConnectionClosed, TransportError
from acpella.rpc import Connection, Limits
from acpella.transport import ProcessChannel, memory_pair
from interaction.ends import (
    Collector,
    Connect,
    FdChannel,
    Gate,
    Side,
    echo,
    forever,
    pipe_pair,
    until,
    until_stuck,
)
from interaction.wire import PLAIN, notification, request, result

pytestmark = pytest.mark.anyio

HASTY = Limits(close_grace=0.02)


# -- the peer goes away -------------------------------------------------------------------


async def test_pending_calls_fail_at_once_when_the_peer_goes(connect: Connect) -> None:
    async with connect.to_bytes() as (here, raw):
        calls = [asyncio.create_task(here.call("m")) for _ in range(10)]
        await raw.messages(10)
        await raw.channel.close()
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, ConnectionClosed)
            assert "the peer" in outcome.reason
        assert here.closed is not None


async def test_each_pending_call_gets_an_error_of_its_own(connect: Connect) -> None:
    """One exception object raised twice would collect two tracebacks."""
    async with connect.to_bytes() as (here, raw):
        calls = [asyncio.create_task(here.call("m")) for _ in range(2)]
        await raw.messages(2)
        await raw.channel.close()
        one, other = await asyncio.gather(*calls, return_exceptions=True)
        assert one is not other


async def test_calls_after_the_end_fail_with_the_same_reason(connect: Connect) -> None:
    async with connect.to_bytes() as (here, raw):
        await raw.channel.close()
        ending = await here.wait_closed()
        for talk in (here.call("m"), here.notify("m", None)):
            with pytest.raises(ConnectionClosed) as caught:
                await talk
            assert caught.value.reason == ending.reason


async def test_requests_read_before_the_end_are_still_answered() -> None:
    """A peer that has stopped talking may still listen: `agent < requests.jsonl`."""
    async with Connect(pipe_pair).to_bytes(Side({"echo": echo})) as (_, raw):
        raw.send(request(1, "echo", "one"), request(2, "echo", "two").strip())  # the last line is not ended
        assert isinstance(raw.channel, FdChannel)
        await raw.channel.stop_writing()
        assert [message["result"] for message in await raw.messages(2)] == ["one", "two"]


async def test_answers_that_wait_for_a_slow_reader_are_not_lost_at_the_end() -> None:
    """`agent < requests | less`: more than any buffer holds is ready when the input ends."""
    text = "x" * 100_000
    options = {"limits": Limits(write_high=1000, close_grace=0.1)}
    async with Connect(pipe_pair).to_bytes(Side({"text": lambda _: text}, options=options)) as (here, raw):
        raw.channel.pause_reading()
        raw.send(*(request(n, "text") for n in range(50)))
        assert isinstance(raw.channel, FdChannel)
        await raw.channel.stop_writing()
        await until(lambda: here.closed)
        raw.channel.resume_reading()
        assert {message["result"] for message in await raw.messages(50)} == {text}


async def test_the_last_notifications_of_a_peer_that_went_are_handled(connect: Connect) -> None:
    got: list[int] = []

    async def slowly(n: int) -> None:
        await asyncio.sleep(0)
        got.append(n)

    async with connect.to_bytes(Side(notifications={"n": slowly})) as (here, raw):
        raw.send(*(notification("n", n) for n in range(100)))
        await raw.channel.close()
        await here.wait_closed()
        assert got == list(range(100))


async def test_a_call_in_order_hears_of_the_end_after_the_last_notifications(connect: Connect) -> None:
    got: list[int] = []
    async with connect.to_bytes(Side(notifications={"n": got.append})) as (here, raw):
        call = asyncio.create_task(here.call("m", in_order=True))
        await raw.messages(1)
        raw.send(*(notification("n", n) for n in range(100)))
        await raw.channel.close()
        with pytest.raises(ConnectionClosed):
            await call
        assert got == list(range(100))


async def test_a_call_in_order_hears_of_the_end_even_behind_a_stuck_handler(connect: Connect) -> None:
    async with connect.to_bytes(Side(notifications={"n": forever}), limits=HASTY) as (here, raw):
        call = asyncio.create_task(here.call("m", in_order=True))
        await raw.messages(1)
        raw.send(notification("n"), notification("n"))
        await raw.channel.close()
        with pytest.raises(ConnectionClosed):
            await call


async def test_a_frame_cut_by_the_end_leaves_its_call_with_the_reason_of_the_end(connect: Connect) -> None:
    """Peer exits mid-frame: how it ended matters, not that half an answer is no JSON."""
    async with connect.to_bytes() as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(result(0, "x" * 1000)[:500])
        await raw.channel.close()
        with pytest.raises(ConnectionClosed, match="the peer"):
            await call


async def test_an_unended_last_line_still_answers_its_call(connect: Connect) -> None:
    async with connect.to_bytes() as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(result(0, "whole").strip())
        await raw.channel.close()
        assert await call == "whole"


@pytest.mark.parametrize("clean", [True, False])
async def test_whoever_waits_to_write_hears_of_the_end(connect: Connect, clean: bool) -> None:
    async with connect.to_nobody(limits=Limits(write_high=1000, close_grace=0.02)) as (here, _):

        async def flood() -> None:
            while True:
                await here.notify("fill", "x" * 10_000)

        flooding = asyncio.create_task(flood())
        await until_stuck(here)
        draining = asyncio.create_task(here.drain())
        calling = asyncio.create_task(here.call("m"))
        await asyncio.sleep(0)
        here.ended(ConnectionClosed("gone", clean=clean))
        for task in (flooding, calling):
            with pytest.raises(ConnectionClosed, match="gone"):
                await task
        await draining


# -- closing ------------------------------------------------------------------------------


async def test_closing_waits_for_running_handlers_and_sends_their_answers(connect: Connect) -> None:
    gate = Gate("done")
    async with connect.to_bytes(Side({"slow": gate})) as (here, raw):
        raw.send(request(1, "slow"))
        await gate.entered.wait()
        closing = asyncio.create_task(here.close())
        await asyncio.sleep(0)
        assert not closing.done()
        gate.open.set()
        await closing
        (answer,) = await raw.messages(1)
        assert answer["result"] == "done"


async def test_handlers_that_take_too_long_are_cancelled_and_answered(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate}), limits=HASTY) as (here, raw):
        raw.send(request(1, "slow"))
        await gate.entered.wait()
        await here.close()
        assert gate.cancelled.is_set()
        (answer,) = await raw.messages(1)
        assert answer["error"]["code"] == -32800


async def test_a_handler_that_ignores_its_cancellation_does_not_hold_the_close(
    connect: Connect, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acpella.rpc.connection.ABORT_GRACE", 0.02)
    entered, release = asyncio.Event(), asyncio.Event()

    async def stubborn(_: Any) -> None:
        entered.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    async with connect.to_bytes(Side({"stubborn": stubborn}), limits=HASTY) as (here, raw):
        raw.send(request(1, "stubborn"))
        await entered.wait()
        await here.close()
        assert "stubborn" in caplog.text
        release.set()


async def test_pending_calls_fail_when_this_side_closes(connect: Connect) -> None:
    async with connect(there=Side({"slow": Gate()}), limits=HASTY) as (here, _):
        call = asyncio.create_task(here.call("slow"))
        await asyncio.sleep(0)
        await here.close()
        with pytest.raises(ConnectionClosed, match="closed by this side") as caught:
            await call
        assert caught.value.clean


async def test_closing_twice_and_at_once_is_fine(connect: Connect) -> None:
    async with connect() as (here, there):
        await asyncio.gather(here.close(), here.close(), there.close(), there.close())
        await here.close()
        assert here.closed is not None and here.closed.clean


@pytest.mark.parametrize("kind", ["request", "notification"])
async def test_a_handler_may_close_the_connection(connect: Connect, kind: str) -> None:
    ends: list[Connection] = []

    async def close(_: Any) -> str:
        await ends[0].close()
        return "closed"

    async with connect.to_bytes(Side({"m": close}, {"m": close})) as (here, raw):
        ends.append(here)
        raw.send(request(1, "m") if kind == "request" else notification("m"))
        ending = await here.wait_closed()
        assert ending.clean
        if kind == "request":
            assert [m["result"] for m in await raw.messages(1)] == ["closed"]
        else:
            await raw.until_end()


async def test_notifications_sent_before_closing_arrive(connect: Connect) -> None:
    got = Collector()
    async with connect(there=Side(notifications={"n": got})) as (here, there):
        for n in range(1000):
            await here.notify("n", n)
        await here.close()
        await there.wait_closed()
        assert got.got == list(range(1000))


async def test_leaving_the_block_with_an_error_does_not_wait_for_handlers(connect: Connect) -> None:
    gate = Gate()
    with pytest.raises(ZeroDivisionError):
        async with connect.to_bytes(Side({"slow": gate}), limits=Limits(close_grace=60)) as (_, raw):
            raw.send(request(1, "slow"))
            await gate.entered.wait()
            raise ZeroDivisionError
    assert gate.cancelled.is_set()


async def test_a_cancelled_close_can_be_called_again(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate}), limits=Limits(close_grace=60)) as (here, raw):
        raw.send(request(1, "slow"))
        await gate.entered.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await here.close()
        await here.close(grace=0)
        assert gate.cancelled.is_set()


async def test_the_last_frames_are_told_shortened_and_without_secrets(connect: Connect) -> None:
    async with connect.to_bytes(Side({"echo": echo})) as (here, raw):
        raw.send(request(1, "echo", {"token": "hunter2", "text": "x" * 1000}))
        await raw.messages(1)
        asked, answered = here.last_frames()
        assert asked.startswith('<- {"jsonrpc"') and answered.startswith('-> {"jsonrpc"')
        for frame in (asked, answered):
            assert "hunter2" not in frame and len(frame) < 500


# -- what could not be opened ----------------------------------------------------------------


async def test_a_connection_that_could_not_be_opened_hangs_nobody() -> None:
    here = Connection(ProcessChannel(["/no/such/program"]), PLAIN)
    async with asyncio.timeout(60):
        with pytest.raises(TransportError):
            await here.open()
        for talk in (here.call("m"), here.notify("m", None)):
            with pytest.raises(ConnectionClosed):
                await talk
        await here.close()
        await here.wait_closed()


async def test_a_channel_that_fails_to_close_does_not_hide_the_end(caplog: pytest.LogCaptureFixture) -> None:
    one, other = memory_pair()

    async def fail() -> None:
        raise OSError("no")

    one.close = fail  # type: ignore[method-assign]
    async with asyncio.timeout(60), Connection(one, PLAIN) as here, Connection(other, PLAIN):
        await here.close()
    with caplog.at_level(logging.ERROR):
        assert "close" in caplog.text

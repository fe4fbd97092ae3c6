"""Calls: answers, errors, time limits and cancelling, over every transport."""

import asyncio
import logging
import sys
from typing import Any

import pytest

from acpella.errors import (
    AuthRequired,
    ConnectionClosed,
    InternalError,
    InvalidParams,
    LocalProtocolError,
    MethodNotFound,
    Overloaded,
    RemoteProtocolError,
    ResourceNotFound,
    RpcError,
)
from acpella.rpc import Connection, Limits, current_request
from acpella.transport import memory_pair
from interaction.ends import Connect, Gate, Side, echo, forever, until
from interaction.wire import PLAIN, error, notification, request, result
from kept_memory import LARGE, nothing_large_kept

pytestmark = pytest.mark.anyio


# -- answers ----------------------------------------------------------------------------


async def test_a_call_gets_its_answer(connect: Connect) -> None:
    async with connect(there=Side({"echo": echo})) as (here, _):
        assert await here.call("echo", {"a": ["é", 1.5, None]}) == {"a": ["é", 1.5, None]}


async def test_both_sides_call_at_once_and_get_their_own_answers(connect: Connect) -> None:
    side = Side({"echo": echo})
    async with connect(side, side) as (here, there):
        calls = [
            (end.call("echo", [name, n]), [name, n])
            for n in range(200)
            for name, end in (("h", here), ("t", there))
        ]
        answers = await asyncio.gather(*(call for call, _ in calls))
        assert answers == [expected for _, expected in calls]


async def test_a_handler_may_call_back_while_it_is_called(connect: Connect) -> None:
    """Nested as deep as anybody likes."""
    ends: dict[str, Connection] = {}

    def down(other: str):
        async def handler(depth: int) -> int:
            return 0 if depth == 0 else 1 + await ends[other].call("down", depth - 1)

        return handler

    async with connect(Side({"down": down("here")}), Side({"down": down("there")})) as (here, there):
        ends.update(here=here, there=there)
        assert await here.call("down", 50) == 50


async def test_ten_thousand_concurrent_calls_get_one_answer_each(connect: Connect) -> None:
    async with connect(there=Side({"echo": echo})) as (here, _):
        answers = await asyncio.gather(*(here.call("echo", n) for n in range(10_000)))
        assert answers == list(range(10_000))


async def test_ten_thousand_requests_in_one_go_are_answered_exactly_once(connect: Connect) -> None:
    async with connect.to_bytes(Side({"echo": echo})) as (_, raw):
        raw.send(*(request(n, "echo", n) for n in range(10_000)))
        answers = await raw.messages(10_000)
        assert sorted(answer["id"] for answer in answers) == list(range(10_000))
        assert all(answer["result"] == answer["id"] for answer in answers)


async def test_answers_may_come_out_of_order(connect: Connect) -> None:
    async with connect.to_bytes() as (here, raw):
        calls = [asyncio.create_task(here.call("m", n)) for n in range(10)]
        asked = await raw.messages(10)
        raw.send(*(result(message["id"], message["params"]) for message in reversed(asked)))
        assert await asyncio.gather(*calls) == list(range(10))


async def test_a_handler_may_be_a_plain_function(connect: Connect) -> None:
    async with connect(there=Side({"add": lambda params: sum(params)})) as (here, _):
        assert await here.call("add", [1, 2]) == 3


async def test_a_plain_function_is_answered_before_what_follows_it(connect: Connect) -> None:
    order: list[str] = []

    async def slow(params: Any) -> None:
        order.append("slow")

    def quick(params: Any) -> str:
        order.append("quick")
        return "done"

    async with connect.to_bytes(Side({"slow": slow, "quick": quick})) as (_, raw):
        raw.send(request(1, "slow") + request(2, "quick"))
        assert [answer["id"] for answer in await raw.messages(2)] == [2, 1]
        assert order == ["quick", "slow"]


async def test_the_coroutine_of_a_plain_function_cancelled_at_once_is_let_go(connect: Connect) -> None:
    gate = Gate()

    def start(params: Any) -> Any:
        return gate(params)

    async with connect.to_bytes(Side({"start": start})) as (_, raw):
        raw.send(request(1, "start") + cancel(1))
        (answer,) = await raw.messages(1)
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        assert gate.runs == 0


async def test_a_handler_may_return_any_awaitable(connect: Connect) -> None:
    class Later:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return "later"

    async with connect(there=Side({"later": lambda _: Later()})) as (here, _):
        assert await here.call("later") == "later"


async def test_a_handler_that_returns_nothing_answers_the_empty_object(connect: Connect) -> None:
    """R-017"""
    async with connect(there=Side({"quiet": lambda _: None})) as (here, _):
        assert await here.call("quiet") == {}


async def test_extension_methods_work_both_ways(connect: Connect) -> None:
    """R-026, R-027"""
    side = Side({"_vendor/thing": echo})
    async with connect(side, side) as (here, there):
        assert await here.call("_vendor/thing", 1) == 1
        assert await there.call("_vendor/thing", 2) == 2
        with pytest.raises(MethodNotFound):
            await here.call("_vendor/other")


async def test_a_handler_knows_which_request_it_answers(connect: Connect) -> None:
    async with connect.to_bytes(Side({"id": lambda _: (current_request.get() or b"").decode()})) as (_, raw):
        raw.send(request('"mine"', "id"))
        (answer,) = await raw.messages(1)
        assert answer["result"] == '"mine"'
        assert current_request.get() is None


# -- errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raised",
    [
        AuthRequired("log in", data={"authMethods": []}),
        ResourceNotFound(data={"uri": "file:///x"}),
        InvalidParams("no"),
        RpcError("teapot", code=418, data=[1]),
    ],
)
async def test_an_rpc_error_crosses_as_it_was_written(connect: Connect, raised: RpcError) -> None:
    def fail(_: Any) -> None:
        raise raised

    async with connect(there=Side({"fail": fail})) as (here, _):
        with pytest.raises(type(raised)) as caught:
            await here.call("fail")
        got = caught.value
        assert (got.code, got.message, got.data) == (raised.code, raised.message, raised.data)


@pytest.mark.parametrize(
    "raised", [ValueError("hunter2"), KeyError("hunter2"), ExceptionGroup("hunter2", [OSError()])]
)
async def test_the_text_of_other_exceptions_stays_here(
    connect: Connect, caplog: pytest.LogCaptureFixture, raised: Exception
) -> None:
    async def fail(_: Any) -> None:
        raise raised

    async with connect.to_bytes(Side({"fail": fail})) as (_, raw):
        raw.send(request(1, "fail"))
        (answer,) = await raw.messages(1)
        assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert "hunter2" in caplog.text


async def test_a_result_that_is_no_json_is_answered_with_an_internal_error(connect: Connect) -> None:
    async with connect(there=Side({"odd": lambda _: {1, object()}, "echo": echo})) as (here, _):
        with pytest.raises(InternalError):
            await here.call("odd")
        assert await here.call("echo", 1) == 1


async def test_error_data_that_is_no_json_does_not_hide_the_error(connect: Connect) -> None:
    def fail(_: Any) -> None:
        raise AuthRequired("log in", data=object())

    async with connect(there=Side({"fail": fail})) as (here, _):
        with pytest.raises(AuthRequired, match="log in"):
            await here.call("fail")


async def test_params_that_are_no_json_fail_here_and_send_nothing(connect: Connect) -> None:
    async with connect(there=Side({"echo": echo})) as (here, _):
        with pytest.raises(TypeError):
            await here.call("echo", object())
        with pytest.raises(TypeError):
            await here.notify("echo", object())
        assert await here.call("echo", 1) == 1


@pytest.mark.parametrize(
    "frame", [error(0, "x"), result(0, 1)[:-2] + b"\n", b'{"id":0}\n', b'{"id":0,"result":{]}\n']
)
async def test_an_answer_of_any_shape_ends_its_call(connect: Connect, frame: bytes) -> None:
    async with connect.to_bytes() as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(frame)
        with pytest.raises((RpcError, RemoteProtocolError)):
            await call


async def test_answers_to_nobody_and_second_answers_are_ignored(connect: Connect) -> None:
    """R-014"""
    async with connect.to_bytes() as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(
            result(77, "stray"), result('"0"', "string"), result(0, "right"), result(0, "again"), error(0, {})
        )
        assert await call == "right"
        raw.send(request(1, "nope"))
        assert [answer["id"] for answer in await raw.messages(1)] == [1]


# -- time limits --------------------------------------------------------------------------


async def test_a_call_that_takes_too_long_is_cancelled_at_the_peer(connect: Connect) -> None:
    gate = Gate()
    async with connect(there=Side({"slow/thing": gate, "echo": echo})) as (here, _):
        with pytest.raises(TimeoutError, match="slow/thing.*0.05"):
            await here.call("slow/thing", timeout=0.05)
        await gate.cancelled.wait()
        assert await here.call("echo", 1, timeout=5) == 1


async def test_a_late_answer_is_ignored(connect: Connect) -> None:
    async with connect.to_bytes() as (here, raw):
        with pytest.raises(TimeoutError):
            await here.call("m", timeout=0.01)
        asked, cancel = await raw.messages(2)
        assert cancel["method"] == "$/cancel_request"
        assert cancel["params"] == {"requestId": asked["id"]}
        call = asyncio.create_task(here.call("m"))
        raw.send(result(asked["id"], "late"))
        (second,) = await raw.messages(1)
        raw.send(result(second["id"], "right"))
        assert await call == "right"


async def test_the_time_limit_counts_the_wait_for_a_peer_that_does_not_read(connect: Connect) -> None:
    async with connect.to_nobody(limits=Limits(write_high=1000, close_grace=0)) as (here, _):
        await fill(here)
        with pytest.raises(TimeoutError, match="ask"):
            await here.call("ask", timeout=0.01)


async def fill(connection: Connection) -> None:
    """Send until the peer, who never reads, makes us wait."""
    try:
        while True:
            async with asyncio.timeout(0.05):
                await connection.notify("fill", "x" * 10_000)
    except TimeoutError:
        pass


# -- cancelling ---------------------------------------------------------------------------


async def test_a_cancelled_call_cancels_the_handler_of_the_peer(connect: Connect) -> None:
    gate = Gate()
    async with connect(there=Side({"slow": gate})) as (here, _):
        call = asyncio.create_task(here.call("slow"))
        await gate.entered.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await gate.cancelled.wait()


async def test_a_cancelled_request_is_answered_once_with_its_code(connect: Connect) -> None:
    """R-220, R-221"""
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate, "echo": echo})) as (_, raw):
        raw.send(request(1, "slow"))
        await gate.entered.wait()
        raw.send(cancel(1), cancel(1), cancel(77), request(2, "echo"), cancel(2))
        answers = {answer["id"]: answer for answer in await raw.messages(2)}
        assert answers[1]["error"]["code"] == -32800
        raw.send(request(3, "echo", "still here"))
        (last,) = await raw.messages(1)
        assert last["result"] == "still here"


def cancel(id: int | str) -> bytes:
    return notification("$/cancel_request", {"requestId": id})


async def test_a_request_cancelled_before_its_first_step_never_runs(connect: Connect) -> None:
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate})) as (_, raw):
        raw.send(request(1, "slow") + cancel(1))
        (answer,) = await raw.messages(1)
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        assert gate.runs == 0


async def test_a_string_id_is_not_cancelled_by_its_number(connect: Connect) -> None:
    gate = Gate("done")
    async with connect.to_bytes(Side({"slow": gate})) as (_, raw):
        raw.send(request('"1"', "slow"))
        await gate.entered.wait()
        raw.send(cancel(1), request(2, "nope"))
        assert [answer["id"] for answer in await raw.messages(1)] == [2]
        gate.open.set()
        (answer,) = await raw.messages(1)
        assert (answer["id"], answer["result"]) == ("1", "done")


async def test_a_handler_may_answer_a_cancelled_request_with_what_it_has(connect: Connect) -> None:
    """R-220: a valid result is as good as -32800."""
    entered = asyncio.Event()

    async def partial(_: Any) -> str:
        try:
            entered.set()
            await forever(_)
        except asyncio.CancelledError:
            return "half"
        return "whole"

    async with connect.to_bytes(Side({"work": partial})) as (_, raw):
        raw.send(request(1, "work"))
        await entered.wait()
        raw.send(cancel(1))
        (answer,) = await raw.messages(1)
        assert answer["result"] == "half"


async def test_cancelling_reaches_the_calls_that_a_handler_waits_for(connect: Connect) -> None:
    gate = Gate()
    ends: list[Connection] = []

    async def ask_back(_: Any) -> Any:
        return await ends[0].call("slow")

    async with connect(Side({"slow": gate}), Side({"ask": ask_back})) as (here, there):
        ends.append(there)
        call = asyncio.create_task(here.call("ask"))
        await gate.entered.wait()
        call.cancel()
        await gate.cancelled.wait()


async def test_two_requests_with_one_id_get_two_answers(connect: Connect) -> None:
    """A peer's mistake; what matters is that nothing hangs."""
    gate = Gate()
    async with connect.to_bytes(Side({"slow": gate})) as (_, raw):
        raw.send(request(1, "slow"), request(1, "slow"))
        await gate.entered.wait()
        gate.open.set()
        assert [answer["id"] for answer in await raw.messages(2)] == [1, 1]


# -- limits -------------------------------------------------------------------------------


async def test_more_requests_than_allowed_are_answered_as_overload(connect: Connect) -> None:
    gate = Gate("done")
    async with connect(there=Side({"slow": gate}, options={"limits": Limits(max_requests=3)})) as (here, _):
        calls = [asyncio.create_task(here.call("slow")) for _ in range(3)]
        await until(lambda: gate.runs == 3)
        with pytest.raises(Overloaded):
            await here.call("slow")
        gate.open.set()
        assert await asyncio.gather(*calls) == ["done"] * 3
        assert await here.call("slow") == "done"


async def test_large_requests_that_wait_do_not_fill_the_memory(connect: Connect) -> None:
    gate = Gate("done")
    limits = Limits(max_request_bytes=100_000)
    async with connect(there=Side({"slow": gate}, options={"limits": limits})) as (here, _):
        calls = [asyncio.create_task(here.call("slow", {"text": "x" * 40_000})) for _ in range(2)]
        await until(lambda: gate.runs == 2)
        with pytest.raises(Overloaded):
            await here.call("slow", {"text": "x" * 40_000})
        gate.open.set()
        assert await asyncio.gather(*calls) == ["done"] * 2
        assert await here.call("slow", {"text": "x" * 200_000}) == "done"  # alone, any size goes


async def test_more_calls_than_allowed_fail_here(connect: Connect) -> None:
    gate = Gate("done")
    async with connect(there=Side({"slow": gate}), limits=Limits(max_calls=2)) as (here, _):
        calls = [asyncio.create_task(here.call("slow")) for _ in range(2)]
        await gate.entered.wait()
        with pytest.raises(LocalProtocolError):
            await here.call("slow")
        gate.open.set()
        assert await asyncio.gather(*calls) == ["done"] * 2


# -- noise --------------------------------------------------------------------------------


async def test_noise_is_told_and_the_conversation_goes_on(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def listen(noise: Any) -> None:
        heard.append(noise.excerpt)
        raise RuntimeError("listeners fail too")

    options = {"on_noise": listen, "answer_noise": False}
    async with connect.to_bytes(Side({"echo": echo}, options=options)) as (_, raw):
        raw.send(b"Welcome to my agent!\n", b"[1,2]\n", request(1, "echo", "x"))
        (answer,) = await raw.messages(1)
        assert answer["result"] == "x"
        assert heard == ["Welcome to my agent!", "[1,2]"]
    assert "Welcome to my agent!" in caplog.text


class Buggy(dict[str, Any]):
    """Fails where nothing is expected to."""

    def __contains__(self, key: object) -> bool:
        raise ZeroDivisionError


async def test_a_bug_of_ours_in_the_last_line_does_not_hide_the_end(connect: Connect) -> None:
    async with connect.to_bytes(Side(Buggy())) as (here, raw):
        call = asyncio.create_task(here.call("m"))
        await raw.messages(1)
        raw.send(request(1, "m").strip())
        await raw.channel.close()
        with pytest.raises(ConnectionClosed):
            await call


async def test_a_bug_of_ours_ends_the_conversation_instead_of_hanging_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Reading fails in a way that nobody foresaw: every waiting call must hear of it."""
    one, other = memory_pair()
    async with (
        asyncio.timeout(60),
        Connection(one, PLAIN, requests=Buggy()) as here,
        Connection(other, PLAIN) as there,
    ):
        with pytest.raises(ConnectionClosed):
            await asyncio.gather(here.call("m"), there.call("m"))
        assert (await here.wait_closed()).clean is False
    with caplog.at_level(logging.ERROR):
        assert "failed to read" in caplog.text


# -- life -----------------------------------------------------------------------------------


async def test_a_connection_must_be_open_to_talk() -> None:
    here = Connection(memory_pair()[0], PLAIN)
    for talk in (here.call("m"), here.notify("m", None), here.wait_closed()):
        with pytest.raises(LocalProtocolError):
            await talk
    await here.close()


async def test_a_connection_can_be_opened_once(connect: Connect) -> None:
    async with connect() as (here, _):
        with pytest.raises(LocalProtocolError):
            await here.open()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
async def test_tasks_that_start_eagerly_are_forgotten_too(connect: Connect) -> None:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
    try:
        side = Side({"echo": echo, "slow": Gate()}, {"n": lambda _: None})
        async with connect.to_bytes(side, limits=Limits(max_requests=5, close_grace=0.1)) as (here, raw):
            raw.send(notification("n"), *(request(n, "echo", n) for n in range(20)))
            assert [answer.get("result") for answer in await raw.messages(20)] == list(range(20))
            raw.send(request(1, "slow") + cancel(1))
            (answer,) = await raw.messages(1)
            assert answer["error"]["code"] == -32800
            assert not here._requests.running  # pyright: ignore[reportPrivateUsage]
    finally:
        loop.set_task_factory(None)


async def test_the_params_of_a_failed_call_are_not_kept() -> None:
    """The error had a traceback, that the frame of the call, and that the params: a cycle."""

    def refuse(params: Any) -> None:
        raise InvalidParams()

    here, there = memory_pair()
    async with (
        Connection(there, PLAIN, requests={"m": refuse}),
        Connection(here, PLAIN) as connection,
    ):
        with nothing_large_kept():
            for _ in range(6):
                with pytest.raises(InvalidParams):
                    await connection.call("m", "x" * LARGE)

"""Answers of both APIs over real HTTP, whole and broken (E8)."""

# ruff: noqa: E501  rows of tables

import asyncio
import logging
from contextlib import aclosing
from typing import Any

import pytest

from acpella.coder.models import (
    ContextOverflow,
    ModelError,
    ModelEvent,
    ModelUsage,
    Retrying,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUse,
    ToolUseStarted,
)
from coder.fake_provider import FakeProvider
from coder.models.asking import APIS, KEY, READ, asked, joined, model_of, of, request

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("api", APIS)]


async def test_text_comes_in_the_pieces_that_were_sent(api: str) -> None:
    async with FakeProvider(
        [{"text": ["Hel", "lo ", "wörld"], "usage": {"input": 30, "output": 7, "cached": 20}}]
    ) as fake:
        events = await asked(model_of(api, fake))
    assert of(events, TextDelta) == [TextDelta("Hel"), TextDelta("lo "), TextDelta("wörld")]
    assert of(events, ModelUsage)[-1] == ModelUsage(input=30, output=7, cached=20)
    assert events[-1] == Stop("end")


@pytest.mark.parametrize(
    "manner", [{"piece": 1}, {"piece": 7}, {"crlf": True}, {"crlf": True, "piece": 1}, {"comments": True}]
)
async def test_the_way_of_the_bytes_does_not_matter(api: str, manner: dict[str, Any]) -> None:
    """Split inside of characters, other line ends, keep-alive comments and pings."""
    turn = {
        "thinking": ["größe ", "🤔"],
        "text": ["naïve ", "日本語 🎉"],
        "tools": [{"name": "read_file", "arguments": {"path": 'a "quoted"\n\\ ü 🎈'}}],
    }
    async with FakeProvider([{**turn, **manner}]) as fake:
        events = await asked(model_of(api, fake), request(tools=[READ]))
    assert joined(events, TextDelta) == "naïve 日本語 🎉"
    assert joined(events, ThinkingDelta) == "größe 🤔"
    (use,) = of(events, ToolUse)
    assert use.arguments == {"path": 'a "quoted"\n\\ ü 🎈'}


@pytest.mark.parametrize("ascii", [True, False])
async def test_tool_arguments_are_put_together(api: str, ascii: bool) -> None:
    """Pieces of three characters: within escapes such as \\ud83c\\udf88 too."""
    arguments = {"path": "x/🎈/ä.txt", "line": 12, "deep": {"list": [1, None, True, "\\u0041"]}}
    async with FakeProvider(
        [{"tools": [{"name": "read_file", "arguments": arguments, "ascii": ascii}]}]
    ) as fake:
        events = await asked(model_of(api, fake), request(tools=[READ]))
    (started,), (use,) = of(events, ToolUseStarted), of(events, ToolUse)
    assert (use.name, use.arguments, use.invalid) == ("read_file", arguments, "")
    assert started.id == use.id
    assert events.index(started) < events.index(use)
    assert events[-1] == Stop("tool_use")


async def test_parallel_tool_calls_keep_apart(api: str) -> None:
    tools = [{"name": "read_file", "arguments": {"path": f"file-{n}"}} for n in range(4)]
    async with FakeProvider([{"text": "I look.", "tools": tools}]) as fake:
        events = await asked(model_of(api, fake), request(tools=[READ]))
    uses = of(events, ToolUse)
    assert [use.arguments["path"] for use in uses] == ["file-0", "file-1", "file-2", "file-3"]
    assert len({use.id for use in uses}) == 4


@pytest.mark.parametrize(
    ("arguments", "why"),
    [('{"path": "a', "not JSON"), ("[1]", "must be a JSON object"), ("nonsense", "not JSON")],
)
async def test_arguments_that_cannot_be_read_are_told(api: str, arguments: str, why: str) -> None:
    async with FakeProvider([{"tools": [{"name": "read_file", "arguments": arguments}]}]) as fake:
        (use,) = of(await asked(model_of(api, fake), request(tools=[READ])), ToolUse)
    assert use.arguments == {}
    assert why in use.invalid


async def test_a_tool_without_arguments_gets_an_empty_object(api: str) -> None:
    async with FakeProvider([{"tools": [{"name": "read_file", "arguments": ""}]}]) as fake:
        (use,) = of(await asked(model_of(api, fake), request(tools=[READ])), ToolUse)
    assert (use.arguments, use.invalid) == ({}, "")


async def test_line_breaks_within_strings_of_arguments_are_forgiven(api: str) -> None:
    async with FakeProvider([{"tools": [{"name": "read_file", "arguments": '{"path": "a\nb"}'}]}]) as fake:
        (use,) = of(await asked(model_of(api, fake), request(tools=[READ])), ToolUse)
    assert use.arguments == {"path": "a\nb"}


@pytest.mark.parametrize("stop", ["end", "max_tokens", "refusal"])
async def test_stop_reasons_are_mapped(api: str, stop: str) -> None:
    async with FakeProvider([{"text": "some", "stop": stop}]) as fake:
        events = await asked(model_of(api, fake))
    assert events[-1] == Stop(stop)  # type: ignore[arg-type]
    assert joined(events, TextDelta) == "some"


async def test_an_answer_of_nothing_ends(api: str) -> None:
    async with FakeProvider([{}]) as fake:
        assert (await asked(model_of(api, fake)))[-1] == Stop("end")


# -- trouble before anything was streamed ----------------------------------------------------------


async def test_a_busy_server_is_asked_again_when_it_says(api: str) -> None:
    busy = {
        "status": 429,
        "headers": {"retry-after": "0.05"},
        "error": "slow down",
        "kind": "rate_limit_error",
    }
    async with FakeProvider([busy, "ok"]) as fake:
        events = await asked(model_of(api, fake))
        assert len(fake.requests) == 2
        assert fake.requests[0].body == fake.requests[1].body
    assert events[0] == Retrying("429: slow down", 0.05)
    assert joined(events, TextDelta) == "ok"


@pytest.mark.parametrize(
    "headers",
    [{"retry-after-ms": "20"}, {"retry-after": "nonsense"}, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}],
)
async def test_every_form_of_retry_after_is_read(api: str, headers: dict[str, str]) -> None:
    async with FakeProvider([{"status": 503, "headers": headers}, "ok"]) as fake:
        events = await asked(model_of(api, fake))
    (again,) = of(events, Retrying)
    assert 0 <= again.seconds <= 0.05
    assert joined(events, TextDelta) == "ok"


async def test_a_server_that_asks_for_an_hour_is_not_waited_for(api: str) -> None:
    async with FakeProvider([{"status": 429, "headers": {"retry-after": "3600"}}]) as fake:
        with pytest.raises(ModelError, match="asks to wait 3600 seconds"):
            await asked(model_of(api, fake))
        assert len(fake.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 408])
async def test_server_errors_are_tried_again_and_then_told(api: str, status: int) -> None:
    async with FakeProvider([{"status": status, "error": "Overloaded"}] * 3) as fake:
        with pytest.raises(ModelError, match=f"did not answer in 3 attempts \\({status}: Overloaded\\)"):
            await asked(model_of(api, fake, attempts=3))
        assert len(fake.requests) == 3


async def test_waits_grow(api: str) -> None:
    async with FakeProvider([{"status": 500}] * 4 + ["ok"]) as fake:
        waits = [event.seconds for event in of(await asked(model_of(api, fake)), Retrying)]
    assert len(waits) == 4
    assert all(0.0074 * 2**n < wait < 0.0126 * 2**n for n, wait in enumerate(waits))


async def test_an_overloaded_event_at_the_beginning_is_tried_again(api: str) -> None:
    async with FakeProvider([{"then": {"error": "Overloaded", "kind": "overloaded_error"}}, "ok"]) as fake:
        events = await asked(model_of(api, fake))
    assert of(events, Retrying)[0].reason == "Overloaded"
    assert joined(events, TextDelta) == "ok"


async def test_a_stream_cut_before_its_first_word_is_tried_again(api: str) -> None:
    async with FakeProvider([{"then": "cut"}, "ok"]) as fake:
        events = await asked(model_of(api, fake))
    assert len(of(events, Retrying)) == 1
    assert joined(events, TextDelta) == "ok"


async def test_a_silent_server_is_given_up(api: str) -> None:
    async with FakeProvider([{"then": "hang"}, {"then": "hang"}]) as fake:
        with pytest.raises(ModelError, match=r"did not answer in 2 attempts \(no byte for"):
            await asked(model_of(api, fake, silence=0.1, attempts=2))
        assert len(fake.requests) == 2


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (
            {"status": 401, "error": "invalid x-api-key"},
            "refused the key .401: invalid x-api-key.*Check .*_API_KEY",
        ),
        ({"status": 403, "error": "no"}, "refused the key"),
        (
            {"status": 404, "error": "model: test"},
            "does not know the model 'test' at 127.0.0.1:.*ACPELLA_MODEL",
        ),
        ({"status": 400, "error": "odd"}, r"rejected the request \(400: odd\)"),
        ({"status": 400, "error": "Your credit balance is too low"}, "wants to be paid first"),
        (
            {"status": 429, "error": "You exceeded your current quota", "kind": "insufficient_quota"},
            "paid first",
        ),
        ({"status": 307, "headers": {"location": "http://127.0.0.1:1/"}}, "sends requests elsewhere"),
        (
            {"status": 500, "headers": {"x-should-retry": "false"}, "error": "never"},
            r"rejected the request \(500",
        ),
        ({"body": "<html>Welcome</html>", "type": "text/html"}, "is not the API of"),
        ({"body": "{nonsense", "type": "application/json"}, "is not the API of"),
    ],
)
async def test_what_will_not_pass_is_told_at_once(api: str, turn: dict[str, Any], words: str) -> None:
    async with FakeProvider([turn, "never asked"]) as fake:
        with pytest.raises(ModelError, match=words):
            await asked(model_of(api, fake))
        assert len(fake.requests) == 1


@pytest.mark.parametrize(
    "turn",
    [
        {"status": 400, "error": "prompt is too long: 210000 tokens > 200000 maximum", "kind": "invalid_request_error"},
        {"status": 400, "error": "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"},
        {"status": 413, "error": "Request exceeds the maximum size", "kind": "request_too_large"},
        {"status": 400, "error": "too much", "kind": "context_length_exceeded"},
        {"status": 400, "error": "This model's maximum context length is 4096 tokens. However, you requested 9000."},
        {"status": 400, "error": "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens"},
        {"status": 400, "error": "the request exceeds the available context size", "kind": "exceed_context_size_error"},
        {"status": 400, "error": "The input token count (1100000) exceeds the maximum number of tokens allowed"},
        {"status": 500, "error": "prompt too long; exceeded max context length by 12 tokens"},
        {"then": {"error": "maximum context length is 100", "kind": "invalid_request_error"}},
    ],
)  # fmt: skip
async def test_an_overflow_is_recognised(api: str, turn: dict[str, Any]) -> None:
    async with FakeProvider([turn, "never asked"]) as fake:
        with pytest.raises(ContextOverflow, match="too long for test"):
            await asked(model_of(api, fake))
        assert len(fake.requests) == 1


# -- trouble in the middle -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("cut", "broke off in the middle of its answer"),
        ({"error": "Overloaded", "kind": "overloaded_error"}, r"broke off .* \(Overloaded\)"),
        ({"error": "Internal", "kind": "api_error"}, r"broke off .* \(Internal\)"),
        ("hang", r"broke off .* \(no byte for"),
    ],
)
async def test_an_answer_that_breaks_off_is_not_repeated(api: str, then: Any, words: str) -> None:
    seen: list[ModelEvent] = []
    async with FakeProvider([{"text": ["half an ", "ans"], "then": then}, "never asked"]) as fake:
        with pytest.raises(ModelError, match=words):
            async with (
                asyncio.timeout(60),
                aclosing(model_of(api, fake, silence=0.3).stream(request())) as events,
            ):
                async for event in events:
                    seen.append(event)  # noqa: PERF401  what came before the error is wanted too
        assert len(fake.requests) == 1
    assert joined(seen, TextDelta) == "half an ans"
    assert not of(seen, Stop)


async def test_an_answer_without_end_is_ended(api: str) -> None:
    async with FakeProvider([{"text": "tick", "then": "hang"}]) as fake:
        with pytest.raises(ModelError, match="broke off"):
            await asked(model_of(api, fake, whole=2.0))  # time enough for the first word


async def test_malformed_events_are_skipped(api: str, caplog: pytest.LogCaptureFixture) -> None:
    good = {
        "anthropic": [
            'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}\n\n',
            'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n',
        ],
        "compatible": [
            'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n',
            'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        ],
    }[api]
    bad = [
        'data: {"type": "content_bl\n\n',
        "nonsense\n\n",
        "data: 7\n\n",
        "data: [1]\n\n",
        'data: {"choices": 5}\n\n',
    ]
    async with FakeProvider([{"chunks": [bad[0], good[0], *bad[1:], good[1]]}]) as fake:
        events = await asked(model_of(api, fake))
    assert joined(events, TextDelta) == "ok"
    assert events[-1] == Stop("end")
    assert "is no JSON" in caplog.text


async def test_a_server_that_does_not_close_after_the_end_is_left(api: str) -> None:
    last = {
        "anthropic": 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        "compatible": 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
    }[api]
    async with FakeProvider([{"chunks": [last], "then": "hang"}]) as fake:
        assert (await asked(model_of(api, fake)))[-1] == Stop("end")
        async with asyncio.timeout(60):
            await fake.disconnected.wait()


# -- cancelling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [{"text": "well", "then": "hang"}, {"then": "hang"}])
async def test_cancelling_who_waits_ends_the_request(api: str, turn: dict[str, Any]) -> None:
    async with asyncio.timeout(60), FakeProvider([turn]) as fake:
        task = asyncio.create_task(asked(model_of(api, fake)))
        await fake.hanging.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fake.disconnected.wait()


async def test_closing_the_stream_ends_the_request(api: str) -> None:
    async with asyncio.timeout(60), FakeProvider([{"text": "well", "then": "hang"}]) as fake:
        events = model_of(api, fake).stream(request())
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        await fake.disconnected.wait()


async def test_cancelling_while_waiting_for_a_retry_sends_nothing_more(api: str) -> None:
    async with (
        asyncio.timeout(60),
        FakeProvider([{"status": 500, "headers": {"retry-after": "60"}}, "no"]) as fake,
    ):
        events = model_of(api, fake).stream(request())
        assert isinstance(await anext(events), Retrying)
        waiting = asyncio.create_task(anext(events))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(fake.requests) == 1


# -- secrets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 404, 500])
async def test_a_key_that_is_echoed_is_not_shown(
    api: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"bad key {KEY} (or {KEY[:9]}***{KEY[-4:]}), header Authorization: Bearer {KEY}"
    async with FakeProvider([{"status": status, "error": said}] * 2) as fake:
        model = model_of(api, fake, attempts=2)
        with pytest.raises(ModelError) as caught:
            await asked(model)
    shown = f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r} {model!r} {caplog.text}"
    assert "bad key ***" in shown
    assert KEY[:8] not in shown and KEY[-4:] not in str(caught.value)


async def test_a_key_echoed_in_the_stream_is_not_shown(api: str) -> None:
    async with FakeProvider([{"text": "a", "then": {"error": f"{KEY} failed"}}]) as fake:
        with pytest.raises(ModelError) as caught:
            await asked(model_of(api, fake))
    assert KEY[:8] not in str(caught.value) and "*** failed" in str(caught.value)


async def test_words_of_a_server_are_short_and_printable(api: str) -> None:
    async with FakeProvider([{"status": 400, "error": "\x1b[31mred\x07 " + "long " * 100_000}]) as fake:
        with pytest.raises(ModelError) as caught:
            await asked(model_of(api, fake))
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


# -- many at once -------------------------------------------------------------------------------------------


async def test_one_model_serves_many_sessions_at_once(api: str) -> None:
    turns = [{"when": f"<{n}>", "text": [f"for {n}", "."], "piece": 5} for n in range(20)]
    async with FakeProvider(turns) as fake:
        model = model_of(api, fake)
        answers = await asyncio.gather(*(asked(model, request(f"<{n}>")) for n in range(20)))
    assert [joined(events, TextDelta) for events in answers] == [f"for {n}." for n in range(20)]

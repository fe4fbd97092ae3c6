"""What is special to chat completions, and to the many servers that offer them (E8)."""

# ruff: noqa: E501  rows of tables

import asyncio
import json
from typing import Any

import pytest

from acpella.coder.models import (
    AssistantMessage,
    Audio,
    Image,
    ModelError,
    ModelUsage,
    Retrying,
    Stop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
    ToolUseStarted,
    UserMessage,
)
from coder.fake_provider import FakeProvider
from coder.models.asking import KEY, READ, asked, joined, model_of, of, request

pytestmark = pytest.mark.anyio

PNG = Image("iVBORw0KGgo=", "image/png")


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", done: bool = True) -> list[str]:
    values: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        values.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [f"data: {json.dumps(value)}\n\n" for value in values] + (["data: [DONE]\n\n"] if done else [])


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"tool_calls": [{**fields, "function": function}]}


async def test_the_request_is_what_the_api_wants() -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("compatible", fake), request("hi", tools=[READ], max_tokens=100, thinking="low"))
        (sent,) = fake.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    function = {"name": "read_file", "description": "Reads a file.", "parameters": READ.parameters}
    assert sent.body == {
        "model": "test",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
        "messages": [{"role": "system", "content": "You help."}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": function}],
        "reasoning_effort": "low",
    }


async def test_images_of_tools_follow_in_a_message_of_the_user() -> None:
    """They may not stand between the results, and no result may hold them."""
    uses = [ToolUse("a", "read_file", {"path": "ä"}), ToolUse("b", "read_file", {})]
    history = [
        UserMessage([Text("look"), PNG, Audio("UklGRg==", "audio/wav")]),
        AssistantMessage([*uses]),
        ToolMessage("b", [Text("gone")], is_error=True),
        ToolMessage("a", [Text("one"), PNG]),
    ]
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("compatible", fake, name="gpt-4o"), request(*history))
        _, user, assistant, one, two, pictures = fake.requests[0].body["messages"]
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG.data}"}}
    assert user["content"][:2] == [{"type": "text", "text": "look"}, image]
    assert "a sound of type audio/wav" in user["content"][2]["text"]
    assert assistant["content"] is None
    assert [json.loads(c["function"]["arguments"]) for c in assistant["tool_calls"]] == [{"path": "ä"}, {}]
    assert one == {"role": "tool", "tool_call_id": "a", "content": "one\n(1 image shown in the next message)"}
    assert two == {"role": "tool", "tool_call_id": "b", "content": "Error: gone"}
    assert pictures == {"role": "user", "content": [image]}


async def test_a_model_that_cannot_see_is_told_of_images() -> None:
    history = [UserMessage([Text("look"), PNG])]
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("compatible", fake), request(*history))
        content = fake.requests[0].body["messages"][1]["content"]
    assert content == "look\n\n(an image of type image/png that this model cannot see)"


@pytest.mark.parametrize(
    "deltas",
    [
        # no ids at all
        [call('{"path":', index=0, name="read_file"), call('"a"}', index=0), call('{"path":"b"}', index=1, name="read_file")],
        # no index: an id begins a call
        [call('{"path":"a"}', id="x", name="read_file"), call('{"path":', id="y", name="read_file"), call('"b"}')],
        # every call is number 0
        [call('{"path":"a"}', index=0, id="x", name="read_file"), call('{"path":"b"}', index=0, id="y", name="read_file")],
        # the id again in each delta
        [call('{"path":', index=0, id="x", name="read_file"), call('"a"}', index=0, id="x"), call('{"path":"b"}', index=1, id="y", name="read_file")],
        # the whole call again and again named
        [call('{"path":', index=0, id="x", name="read_file"), call('"a"}', index=0, id="x", name="read_file"), call('{"path":"b"}', index=1, id="y", name="read_file")],
        # objects instead of text
        [call({"path": "a"}, index=0, id="x", name="read_file"), call({"path": "b"}, index=1, id="y", name="read_file")],
        # neither ids nor index
        [call('{"path":"a"}', name="read_file"), call('{"path":"b"}', name="read_file")],
    ],
)  # fmt: skip
async def test_sloppy_tool_calls_are_put_together(deltas: list[dict[str, Any]]) -> None:
    async with FakeProvider([{"chunks": chunks(*deltas, finish="tool_calls")}]) as fake:
        events = await asked(model_of("compatible", fake), request(tools=[READ]))
    uses = of(events, ToolUse)
    assert [use.arguments for use in uses] == [{"path": "a"}, {"path": "b"}]
    assert len({use.id for use in uses}) == 2 and all(use.id for use in uses)
    assert [started.id for started in of(events, ToolUseStarted)] == [use.id for use in uses]


async def test_tool_calls_that_finish_with_stop_are_tool_uses() -> None:
    deltas = chunks(call("{}", index=0, id="x", name="read_file"), finish="stop")
    async with FakeProvider([{"chunks": deltas}]) as fake:
        assert (await asked(model_of("compatible", fake)))[-1] == Stop("tool_use")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_thinking(field: str) -> None:
    async with FakeProvider([{"thinking": ["hm ", "so"], "thinking_field": field, "text": "ok"}]) as fake:
        events = await asked(model_of("compatible", fake))
    assert joined(events, ThinkingDelta) == "hm so"
    thoughts = of(events, ThinkingDelta)
    assert thoughts[-1].signature == f"field:{field}"
    assert events.index(thoughts[-1]) < events.index(TextDelta("ok"))


async def test_reasoning_goes_back_within_the_turn_only() -> None:
    """Servers that give `reasoning_content` with tool calls want to see it again, until the user speaks."""
    thought = Thinking("hm", "field:reasoning_content")
    said = AssistantMessage([thought, ToolUse("a", "read_file", {})])
    now = request("hi", said, ToolMessage("a", [Text("x")]))
    async with FakeProvider(["ok", "ok"]) as fake:
        model = model_of("compatible", fake)
        await asked(model, now)
        await asked(model, request(*now.messages, "next"))
        first, second = (sent.body["messages"] for sent in fake.requests)
    assert first[2]["reasoning_content"] == "hm"
    assert "reasoning_content" not in second[2]


@pytest.mark.parametrize(
    ("error", "field"),
    [
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ([{"type": "extra_forbidden", "loc": ["body", "stream_options"]}], "stream_options"),
        ("Unsupported parameter: 'reasoning_effort' is not supported with this model.", "reasoning_effort"),
        ('"gemma" does not support thinking', "reasoning_effort"),
    ],
)
async def test_a_field_that_is_rejected_is_left_out_from_then_on(error: Any, field: str) -> None:
    body = json.dumps({"error": {"message": error}} if isinstance(error, str) else {"detail": error})
    async with FakeProvider([{"status": 400, "body": body}, "ok", "ok"]) as fake:
        model = model_of("compatible", fake)
        events = await asked(model, request(thinking="low"))
        await asked(model, request(thinking="low"))
        assert [field in sent.body for sent in fake.requests] == [True, False, False]
        others = {"stream_options", "reasoning_effort", "max_tokens"} - {field}
        assert all(others <= sent.body.keys() for sent in fake.requests)
    assert not of(events, Retrying)


async def test_a_rejection_that_names_no_field_drops_all_that_are_optional() -> None:
    async with FakeProvider([{"status": 422, "error": "Extra inputs are not permitted"}, "ok"]) as fake:
        await asked(model_of("compatible", fake), request(thinking="low"))
        assert fake.requests[1].body.keys() == {"model", "stream", "messages", "max_tokens"}


async def test_the_other_name_of_the_token_limit_is_tried() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    async with FakeProvider([{"status": 400, "error": said}, "ok", "ok"]) as fake:
        model = model_of("compatible", fake)
        await asked(model)
        await asked(model)
        names = [[key for key in sent.body if key.startswith("max_")] for sent in fake.requests]
    assert names == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


async def test_both_names_of_the_limit_rejected_is_an_error() -> None:
    refused = [
        {"status": 400, "error": f"unknown field {name}"} for name in ("max_tokens", "max_completion_tokens")
    ]
    async with FakeProvider([*refused, "never asked"]) as fake:
        with pytest.raises(ModelError, match="unknown field max_completion_tokens"):
            await asked(model_of("compatible", fake))


async def test_a_model_without_tools_is_told() -> None:
    refused = {"status": 400, "body": '{"error": "registry/gemma does not support tools"}'}
    async with FakeProvider([refused]) as fake:
        with pytest.raises(ModelError, match="test cannot use tools"):
            await asked(model_of("compatible", fake), request(tools=[READ]))


async def test_done_may_be_missing() -> None:
    async with FakeProvider([{"text": "ok", "done": False, "usage": {"input": 3}}]) as fake:
        events = await asked(model_of("compatible", fake))
    assert events[-1] == Stop("end")
    assert of(events, ModelUsage)[-1].input == 3


async def test_a_reason_to_finish_may_be_missing_before_done() -> None:
    async with FakeProvider([{"chunks": chunks({"content": "ok"}, finish=None)}]) as fake:
        assert (await asked(model_of("compatible", fake)))[-1] == Stop("end")


async def test_a_stream_without_any_end_is_cut() -> None:
    async with FakeProvider([{"chunks": chunks({"content": "ok"}, finish=None, done=False)}]) as fake:
        with pytest.raises(ModelError, match="broke off"):
            await asked(model_of("compatible", fake))


async def test_a_content_filter_is_a_refusal() -> None:
    async with FakeProvider([{"chunks": chunks({"content": "I"}, finish="content_filter")}]) as fake:
        assert (await asked(model_of("compatible", fake)))[-1] == Stop("refusal")


async def test_an_answer_in_one_piece_is_taken_too() -> None:
    """Some servers do not stream with tools, whatever they are asked."""
    tool = {"id": "x", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
    message = {"role": "assistant", "content": "I look.", "tool_calls": [tool]}
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    async with FakeProvider([{"body": json.dumps(body)}]) as fake:
        events = await asked(model_of("compatible", fake), request(tools=[READ]))
    assert joined(events, TextDelta) == "I look."
    assert of(events, ToolUse) == [ToolUse("x", "read_file", {"path": "a"})]
    assert events[-1] == Stop("tool_use")


async def test_an_error_in_one_piece_with_status_200_is_an_error() -> None:
    body = json.dumps({"error": {"message": "No such model", "code": 400}})
    async with FakeProvider([{"body": body}]) as fake:
        with pytest.raises(ModelError, match="No such model"):
            await asked(model_of("compatible", fake))


async def test_a_choice_that_ends_with_an_error_is_an_error() -> None:
    value = {
        "choices": [
            {"delta": {}, "finish_reason": "error", "error": {"message": "upstream died", "code": 502}}
        ]
    }
    async with FakeProvider([{"chunks": [f"data: {json.dumps(value)}\n\n"]}, "ok"]) as fake:
        events = await asked(model_of("compatible", fake))
    assert of(events, Retrying)[0].reason == "upstream died"


async def test_events_without_empty_lines_between_are_read() -> None:
    lines = [chunk.replace("\n\n", "\n") for chunk in chunks({"content": "a"}, {"content": "b"})]
    async with FakeProvider([{"chunks": [*lines, "\n"]}]) as fake:
        assert joined(await asked(model_of("compatible", fake)), TextDelta) == "ab"


async def test_content_in_parts_is_text() -> None:
    deltas = chunks({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
    async with FakeProvider([{"chunks": deltas}]) as fake:
        assert joined(await asked(model_of("compatible", fake)), TextDelta) == "ab"


# -- Google -----------------------------------------------------------------------------------------------


async def test_signatures_of_google_go_back_with_their_call() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    deltas = chunks(call("{}", index=0, id="x", name="read_file", extra_content=extra), finish="tool_calls")
    async with FakeProvider([{"chunks": deltas}, "ok"]) as fake:
        model = model_of("google", fake)
        events = await asked(model, request(tools=[READ]))
        (thought,), (use,) = of(events, ThinkingDelta), of(events, ToolUse)
        said = AssistantMessage([Thinking("", thought.signature), use])
        await asked(model, request("hi", said, ToolMessage("x", [Text("x")])))
        (back,) = fake.requests[1].body["messages"][2]["tool_calls"]
    assert back["extra_content"] == extra


async def test_calls_of_other_models_are_signed_for_google_alone() -> None:
    said = AssistantMessage([ToolUse("a", "read_file", {}), ToolUse("b", "read_file", {})])
    history = ["hi", said, ToolMessage("a", [Text("x")]), ToolMessage("b", [Text("y")])]
    async with FakeProvider(["ok", "ok"]) as fake:
        await asked(model_of("google", fake), request(*history))
        await asked(model_of("compatible", fake), request(*history))
        google, other = (sent.body["messages"][2]["tool_calls"] for sent in fake.requests)
    assert ["extra_content" in c for c in google] == [True, False]
    assert ["extra_content" in c for c in other] == [False, False]


async def test_what_one_request_learns_helps_the_others_that_are_under_way() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    async with FakeProvider([{"status": 400, "error": said}] * 3 + ["ok"] * 3) as fake:
        model = model_of("compatible", fake)
        answers = await asyncio.gather(*(asked(model) for _ in range(3)))
    assert [joined(events, TextDelta) for events in answers] == ["ok"] * 3


async def test_a_server_that_rejects_everything_is_given_up() -> None:
    async with FakeProvider([{"status": 400, "error": "unknown field"}] * 30) as fake:
        with pytest.raises(ModelError, match="unknown field"):
            await asked(model_of("compatible", fake), request(thinking="low"))
        assert len(fake.requests) <= 5

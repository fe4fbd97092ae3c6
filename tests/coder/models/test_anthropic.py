"""What is special to the Messages API: requests as it wants them, thoughts, and what it rejects (E8)."""

import json

import pytest

from acpella.coder.models import (
    AssistantMessage,
    Audio,
    Image,
    ModelUsage,
    Stop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
    UserMessage,
)
from coder.fake_provider import FakeProvider
from coder.models.asking import KEY, READ, asked, joined, model_of, of, request

pytestmark = pytest.mark.anyio

PNG = Image("iVBORw0KGgo=", "image/png")


async def test_the_request_is_what_the_api_wants() -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake), request("hi", tools=[READ], max_tokens=100))
        (sent,) = fake.requests
    assert sent.path == "/v1/messages"
    assert sent.headers["x-api-key"] == KEY
    assert sent.headers["anthropic-version"] == "2023-06-01"
    cached = {"cache_control": {"type": "ephemeral"}}
    assert sent.body == {
        "model": "test",
        "stream": True,
        "max_tokens": 100,
        "system": [{"type": "text", "text": "You help.", **cached}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **cached}]}],
        "tools": [{"name": "read_file", "description": "Reads a file.", "input_schema": READ.parameters}],
    }


async def test_results_of_tools_come_first_in_what_the_user_says() -> None:
    uses = [ToolUse("a:1", "read_file", {"path": "x"}), ToolUse("b", "read_file", {"path": "y"})]
    history = [
        UserMessage([Text("look"), PNG]),
        AssistantMessage([Text("I look."), *uses]),
        ToolMessage("a:1", [Text("one"), PNG]),
        ToolMessage("b", [Text("gone")], is_error=True),
        UserMessage([Text("and now?"), Audio("UklGRg==", "audio/wav")]),
    ]
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake, name="claude-test"), request(*history))
        body = fake.requests[0].body
    user, assistant, results = body["messages"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG.data}}
    assert user["content"][1] == {**image, "cache_control": {"type": "ephemeral"}}
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use", "tool_use"]
    assert assistant["content"][1]["id"] == "a_1"  # the API takes no colons
    one, two, text, sound = results["content"]
    assert one == {
        "type": "tool_result",
        "tool_use_id": "a_1",
        "content": [{"type": "text", "text": "one"}, image],
    }
    assert (two["is_error"], two["content"][0]["text"]) == (True, "gone")
    assert text["text"] == "and now?"
    assert "a sound of type audio/wav" in sound["text"]


async def test_a_history_with_holes_is_mended() -> None:
    """A tool use without result, a result without use, empty texts, an empty answer, a thought alone."""
    history = [
        ToolMessage("nobody", [Text("lost")]),
        UserMessage([Text("go"), Text("  ")]),
        AssistantMessage([ToolUse("a", "read_file", {})]),
        UserMessage([Text("again")]),
        AssistantMessage([]),
        AssistantMessage([Thinking("hm", "anthropic:c2ln")]),
        UserMessage([Text("still there?")]),
    ]
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake), request(*history))
        messages = fake.requests[0].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]
    result, *texts = messages[2]["content"]
    assert result["tool_use_id"] == "a" and result["is_error"] is True
    assert [block["text"] for block in texts] == ["again", "still there?"]


async def test_a_history_that_begins_with_the_assistant_gets_a_beginning() -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake), request(AssistantMessage([Text("so")]), "go on"))
        assert [m["role"] for m in fake.requests[0].body["messages"]] == ["user", "assistant", "user"]


async def test_thoughts_come_with_their_signature_and_go_back() -> None:
    turns = [
        {"thinking": ["let me ", "see"], "signature": "c2ln", "redacted": "aGlkZGVu", "text": "so"},
        "ok",
    ]
    async with FakeProvider(turns) as fake:
        model = model_of("anthropic", fake)
        thoughts = of(await asked(model, request(thinking="low")), ThinkingDelta)
        assert [t.text for t in thoughts] == ["let me ", "see", "", ""]
        signed, redacted = thoughts[2].signature, thoughts[3].signature
        said = AssistantMessage([Thinking("let me see", signed), Thinking("", redacted), Text("so")])
        await asked(model, request("hi", said, "go on", thinking="low"))
        back = fake.requests[1].body["messages"][1]["content"]
    assert back[0] == {"type": "thinking", "thinking": "let me see", "signature": "c2ln"}
    assert back[1] == {"type": "redacted_thinking", "data": "aGlkZGVu"}


async def test_thoughts_of_other_models_are_not_sent() -> None:
    said = AssistantMessage([Thinking("hm", "field:reasoning"), Thinking("plain"), Text("so")])
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake), request("hi", said, "go on"))
        assert [b["type"] for b in fake.requests[0].body["messages"][1]["content"]] == ["text"]


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "claude-haiku-4-5-20251001",
        "claude-opus-4-1",
        "claude-3-7-sonnet-latest",
        "glm-5",
    ],
)
async def test_older_models_get_a_budget_for_thought(name: str) -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake, name=name), request(thinking="medium", max_tokens=1000))
        body = fake.requests[0].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 8192}
    assert body["max_tokens"] == 1000 + 8192


@pytest.mark.parametrize("name", ["claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-5", "claude-opus-5-5"])
async def test_newer_models_get_an_effort(name: str) -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake, name=name), request(thinking="high"))
        body = fake.requests[0].body
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}


async def test_the_other_way_of_thinking_is_tried_and_remembered() -> None:
    refused = {"status": 400, "error": '"thinking.type.enabled" is not supported for this model'}
    async with FakeProvider([refused, "ok", "ok"]) as fake:
        model = model_of("anthropic", fake)
        assert joined(await asked(model, request(thinking="low")), TextDelta) == "ok"
        await asked(model, request(thinking="low"))
        assert [sent.body["thinking"]["type"] for sent in fake.requests] == [
            "enabled",
            "adaptive",
            "adaptive",
        ]


async def test_a_model_that_cannot_think_is_asked_without() -> None:
    refused = {"status": 400, "error": "thinking is not supported for this model"}
    async with FakeProvider([refused, refused, "ok"]) as fake:
        assert joined(await asked(model_of("anthropic", fake), request(thinking="low")), TextDelta) == "ok"
        assert "thinking" not in fake.requests[-1].body


async def test_thoughts_that_the_server_does_not_recognise_are_left_out() -> None:
    said = AssistantMessage([Thinking("hm", "anthropic:wrong"), ToolUse("a", "read_file", {})])
    refused = {"status": 400, "error": "messages.1.content.0: Invalid `signature` in `thinking` block"}
    async with FakeProvider([refused, "ok"]) as fake:
        asking = request("hi", said, ToolMessage("a", [Text("x")]), thinking="low")
        assert joined(await asked(model_of("anthropic", fake), asking), TextDelta) == "ok"
        again = fake.requests[1].body
    assert "thinking" not in again
    assert [block["type"] for block in again["messages"][1]["content"]] == ["tool_use"]


async def test_a_smaller_limit_of_output_is_learnt() -> None:
    refused = {
        "status": 400,
        "error": "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens",
    }
    async with FakeProvider([refused, "ok", "ok"]) as fake:
        model = model_of("anthropic", fake)
        await asked(model)
        await asked(model)
        assert [sent.body["max_tokens"] for sent in fake.requests] == [8192, 4096, 4096]


async def test_a_server_without_caching_is_asked_without() -> None:
    refused = {"status": 400, "error": "system.0.cache_control: Extra inputs are not permitted"}
    async with FakeProvider([refused, "ok"]) as fake:
        await asked(model_of("anthropic", fake))
        assert "cache_control" not in str(fake.requests[1].body)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("stop_sequence", "end"),
        ("pause_turn", "end"),
        ("model_context_window_exceeded", "max_tokens"),
        ("new", "end"),
    ],
)
async def test_rare_reasons_to_stop_are_mapped(stop: str, expected: str) -> None:
    async with FakeProvider([{"text": "a", "stop": stop}]) as fake:
        assert (await asked(model_of("anthropic", fake)))[-1] == Stop(expected)  # type: ignore[arg-type]


async def test_a_tool_use_cut_by_the_limit_is_told_as_invalid() -> None:
    cut = {"name": "read_file", "arguments": '{"path": "very/lo'}
    async with FakeProvider([{"tools": [cut], "stop": "max_tokens"}]) as fake:
        events = await asked(model_of("anthropic", fake), request(tools=[READ]))
    assert of(events, ToolUse)[0].invalid
    assert events[-1] == Stop("max_tokens")


async def test_the_input_holds_what_was_cached() -> None:
    async with FakeProvider([{"text": "a", "usage": {"input": 100, "cached": 80, "output": 9}}]) as fake:
        assert of(await asked(model_of("anthropic", fake)), ModelUsage)[-1] == ModelUsage(100, 9, 80)


async def test_half_characters_of_files_are_replaced() -> None:
    async with FakeProvider(["ok"]) as fake:
        await asked(model_of("anthropic", fake), request("a\udc80b"))
        assert fake.requests[0].body["messages"][0]["content"][0]["text"] == "a?b"


async def test_an_answer_in_one_piece_is_taken_too() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": "a"}},
    ]
    usage = {"input_tokens": 3, "output_tokens": 4}
    body = {
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use",
        "usage": usage,
    }
    async with FakeProvider([{"body": json.dumps(body)}]) as fake:
        events = await asked(model_of("anthropic", fake), request(tools=[READ]))
    assert of(events, ThinkingDelta) == [ThinkingDelta("hm", "anthropic:c2ln")]
    assert joined(events, TextDelta) == "I look."
    assert of(events, ToolUse) == [ToolUse("x", "read_file", {"path": "a"})]
    assert (of(events, ModelUsage)[-1], events[-1]) == (ModelUsage(3, 4), Stop("tool_use"))

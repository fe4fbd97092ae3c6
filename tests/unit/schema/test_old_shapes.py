"""FEATURES D12: what older peers send is read as today's messages, and never written."""

from typing import Any

import msgspec
import pytest

from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CurrentModeUpdate,
    EmbeddedResource,
    ImageContent,
    Plan,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolCall,
    ToolCallProgress,
    encode,
    methods,
)


def params(method: methods.Method[Any, Any], value: object) -> Any:
    return method.read_params(msgspec.json.encode(value))


def update(value: object) -> Any:
    return params(methods.UPDATE, {"sessionId": "s", "update": value}).update


def prompt(*blocks: object) -> Any:
    return params(methods.PROMPT, {"sessionId": "s", "content": list(blocks)}).prompt


def test_a_prompt_given_as_content() -> None:
    read = params(methods.PROMPT, {"sessionId": "s", "content": [{"type": "text", "text": "hi"}]})
    assert read.prompt == [TextContent(text="hi")]
    assert b'"prompt"' in encode(read) and b'"content"' not in encode(read)


@pytest.mark.parametrize("key", ["prompt", "content"])
def test_a_prompt_given_as_a_string_is_refused(key: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `array`"):
        params(methods.PROMPT, {"sessionId": "s", key: "hi"})


def test_media_under_source() -> None:
    source = {"type": "base64", "mediaType": "image/png", "data": "AA=="}
    assert prompt({"type": "image", "source": source}) == [ImageContent(data="AA==", mime_type="image/png")]


def test_a_resource_without_its_inner_object() -> None:
    inner = TextResourceContents(uri="file:///a.ex", mime_type="text/x-elixir", text="def")
    flat = {"type": "resource", "uri": "file:///a.ex", "mimeType": "text/x-elixir", "text": "def"}
    assert prompt(flat) == [EmbeddedResource(resource=inner)]


def test_a_resource_without_contents_is_a_link_named_after_its_file() -> None:
    (link,) = prompt({"type": "resource", "uri": "file:///src/main.ex"})
    assert isinstance(link, ResourceLink) and link.name == "main.ex"


@pytest.mark.parametrize(
    "terminal, offered", [({"create": True}, True), ({"create": False}, False), (True, True), (False, False)]
)
def test_initialize_with_capabilities_and_file_system(terminal: object, offered: bool) -> None:
    capabilities = {"fileSystem": {"readTextFile": True, "writeTextFile": True}, "terminal": terminal}
    read = params(methods.INITIALIZE, {"protocolVersion": 1, "capabilities": capabilities})
    assert read.client_capabilities.fs.read_text_file is True
    assert read.client_capabilities.terminal is offered
    assert b'"capabilities"' not in encode(read)


def test_todays_capabilities_win_over_old_ones() -> None:
    both = {
        "protocolVersion": 1,
        "clientCapabilities": {"terminal": True},
        "capabilities": {"terminal": False},
    }
    assert params(methods.INITIALIZE, both).client_capabilities.terminal is True


@pytest.mark.parametrize("version", ["1", 1.0])
def test_a_protocol_version_given_as_a_string_or_a_fraction_is_read_as_a_number(version: object) -> None:
    assert params(methods.INITIALIZE, {"protocolVersion": version}).protocol_version == 1
    answer = {"protocolVersion": "1", "agentCapabilities": {}}
    assert methods.INITIALIZE.read_result(msgspec.json.encode(answer)).protocol_version == 1


@pytest.mark.parametrize(
    "version", ["", "one", "1.0", "-1", "²", "70000", "9" * 5000, 1.5, -1.0, 1e300, None, True]
)
def test_a_protocol_version_that_is_no_number_is_refused(version: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        params(methods.INITIALIZE, {"protocolVersion": version})


def test_an_old_initialize_answer() -> None:
    old = {
        "protocolVersion": 1,
        "agentCapabilities": {"sessions": {"new": True, "load": True}, "prompts": {"image": True}},
        "meta": {"name": "AI Agent", "version": "2.0.0"},
        "authenticationMethods": [{"id": "key", "name": "API key"}],
    }
    read = methods.INITIALIZE.read_result(msgspec.json.encode(old))
    assert read.agent_capabilities.load_session is True
    assert read.agent_capabilities.prompt_capabilities.image is True
    assert read.agent_info is not None and read.agent_info.name == "AI Agent"
    assert [method.id for method in read.auth_methods] == ["key"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "given, read", [("done", "end_turn"), ("error", "error"), ("cancelled", "cancelled")]
)
def test_old_stop_reasons(given: str, read: str) -> None:
    assert methods.PROMPT.read_result(msgspec.json.encode({"stopReason": given})).stop_reason == read


@pytest.mark.parametrize(
    "old, new",
    [
        ({"kind": "message", "content": "Hello"}, AgentMessageChunk(content=TextContent(text="Hello"))),
        ({"kind": "thought", "content": "Hm"}, AgentThoughtChunk(content=TextContent(text="Hm"))),
        (
            {"kind": "agent_thought_chunk", "content": {"thought": "Hm"}},
            AgentThoughtChunk(content=TextContent(text="Hm")),
        ),
        (
            {
                "kind": "agent_message_chunk",
                "content": {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                },
            },
            AgentMessageChunk(content=TextContent(text="ab")),
        ),
        (
            {"sessionUpdate": "current_mode_update", "modeId": "safe"},
            CurrentModeUpdate(current_mode_id="safe"),
        ),
    ],
)
def test_old_updates(old: dict[str, Any], new: object) -> None:
    assert update(old) == new


def test_an_old_tool_call_and_its_result() -> None:
    call = update(
        {
            "kind": "tool_call",
            "content": {
                "toolCallId": "c1",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "/a"}'},
            },
        }
    )
    assert isinstance(call, ToolCall)
    assert (call.tool_call_id, call.title, call.raw_input) == ("c1", "read_file", {"path": "/a"})
    done = update({"kind": "tool_call_update", "content": {"toolCallId": "c1", "output": "text"}})
    assert isinstance(done, ToolCallProgress)
    assert (done.status, done.raw_output) == ("completed", "text")


def test_an_old_plan() -> None:
    plan = update({"kind": "plan", "content": {"steps": ["1. Analyze", "2. Fix"]}})
    assert isinstance(plan, Plan)
    assert [entry.content for entry in plan.entries] == ["1. Analyze", "2. Fix"]


def test_a_broken_old_message_is_still_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        params(methods.PROMPT, {"sessionId": "s", "content": 5})
    with pytest.raises(msgspec.ValidationError):
        update({"kind": 5})

"""How messages that are not quite right are read, and what is kept of them."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
from msgspec import UNSET

from acpella.schema import (
    AgentMessageChunk,
    AuthMethodAgent,
    AuthMethodEnvVar,
    AuthMethodTerminal,
    BlobResourceContents,
    CompactionUpdate,
    ContentChunk,
    CreateElicitationRequest,
    CreateElicitationResponse,
    CreateTerminalRequest,
    ElicitationAcceptAction,
    ElicitationFormMode,
    ElicitationSchema,
    EmbeddedResource,
    Error,
    IdleStateUpdate,
    InitializeRequest,
    InitializeResponse,
    LegacyMessageMcpRequest,
    ListSessionsResponse,
    McpServerHttp,
    McpServerStdio,
    MessageMcpRequest,
    MessageMcpResponse,
    MultiSelectPropertySchema,
    NewSessionRequest,
    NewSessionResponse,
    PlanEntry,
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    SessionConfigBoolean,
    SessionConfigSelect,
    SessionConfigSelectGroup,
    SessionConfigSelectOption,
    SessionInfoUpdate,
    SessionNotification,
    SetSessionConfigOptionRequest,
    StringMultiSelectItems,
    SubagentUpdate,
    TextContent,
    TextResourceContents,
    TitledMultiSelectItems,
    ToolCall,
    ToolCallProgress,
    ToolCallUpdate,
    Unknown,
    decode,
    encode,
    methods,
)
from kept_memory import LARGE, nothing_large_kept

Json: TypeAlias = dict[str, Any]

TRANSCRIPTS = sorted((Path(__file__).resolve().parents[4] / "shared" / "transcripts").glob("*.jsonl"))


def read(kind: Any, value: object) -> Any:
    return decode(kind, msgspec.json.encode(value))


def again(value: object) -> Any:
    """The JSON that a value encodes to."""
    return msgspec.json.decode(encode(value))


def update(**fields: object) -> Any:
    return read(SessionNotification, {"sessionId": "s", "update": fields}).update


# --- the shape on the wire ---


def test_fields_are_camel_case_and_absent_ones_left_out() -> None:
    """R-022"""
    call = ToolCall(tool_call_id="t", title="Read", raw_input={"a": None})
    assert again(call) == {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Read",
        "rawInput": {"a": None},
    }
    assert update(**again(call)) == call


def test_required_lists_are_written_even_when_empty() -> None:
    assert again(NewSessionRequest(cwd="/p", mcp_servers=[])) == {"cwd": "/p", "mcpServers": []}
    server = McpServerStdio(name="n", command="/c", args=[], env=[])
    assert again(server) == {"name": "n", "command": "/c", "args": [], "env": []}


def test_meta_is_kept() -> None:
    """R-024"""
    meta = {"traceparent": "00-1", "x": [1, None, {"y": 2.5}]}
    request = read(PromptRequest, {"sessionId": "s", "prompt": [], "_meta": meta})
    assert request.meta == meta
    assert again(request)["_meta"] == meta


def test_malformed_meta_counts_as_absent() -> None:
    assert read(PromptRequest, {"sessionId": "s", "prompt": [], "_meta": "no"}).meta is None


def test_fields_nobody_specified_are_ignored() -> None:
    assert read(PlanEntry, {"content": "c", "priority": "low", "status": "pending", "weight": 3})


def test_capabilities_default_to_unsupported() -> None:
    """R-030"""
    capabilities = read(InitializeRequest, {"protocolVersion": 1}).client_capabilities
    assert not capabilities.terminal
    assert not capabilities.fs.read_text_file
    assert capabilities.elicitation is None
    agent = read(InitializeResponse, {"protocolVersion": 1})
    assert not agent.agent_capabilities.load_session
    assert agent.agent_capabilities.session_capabilities.list is None
    assert agent.auth_methods == []


def test_an_empty_object_is_a_marker_and_null_is_not() -> None:
    """R-032"""
    sessions: Json = {"list": {}, "resume": None, "close": "yes"}
    answer: Json = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": sessions}}
    found = read(InitializeResponse, answer).agent_capabilities.session_capabilities
    assert found.list is not None
    assert found.resume is None
    assert found.close is None


# --- what may be malformed ---


def test_a_malformed_optional_field_reads_as_its_default() -> None:
    call = update(
        sessionUpdate="tool_call", toolCallId="t", title="T", kind="dance", status=7, locations="no"
    )
    assert call == ToolCall(tool_call_id="t", title="T")


def test_one_malformed_capability_leaves_the_others() -> None:
    params = {"protocolVersion": 1, "clientCapabilities": {"fs": 5, "terminal": True}, "clientInfo": "me"}
    request = read(InitializeRequest, params)
    assert request.client_capabilities.terminal
    assert not request.client_capabilities.fs.write_text_file
    assert request.client_info is None


def test_bad_items_of_a_forgiving_list_are_skipped() -> None:
    plan = update(
        sessionUpdate="plan",
        entries=[{"content": "a", "priority": "low", "status": "pending"}, {"content": "b"}, 3],
    )
    assert [entry.content for entry in plan.entries] == ["a"]


def test_a_required_forgiving_list_may_be_null_but_not_missing() -> None:
    assert read(ListSessionsResponse, {"sessions": None}).sessions == []
    assert read(ListSessionsResponse, {"sessions": {}}).sessions == []
    with pytest.raises(msgspec.ValidationError, match="sessions"):
        read(ListSessionsResponse, {})


def test_null_reads_as_empty_where_the_schema_says_so() -> None:
    request = read(CreateTerminalRequest, {"sessionId": "s", "command": "c", "args": None, "env": None})
    assert (request.args, request.env) == ([], [])
    assert read(NewSessionRequest, {"cwd": "/", "mcpServers": None}).mcp_servers == []


@pytest.mark.parametrize(
    "wrong",
    [{"args": "x"}, {"args": [1]}, {"env": [{"name": "a"}]}, {"cwd": 1}, {"outputByteLimit": -1}],
)
def test_what_a_command_runs_with_is_read_strictly(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(CreateTerminalRequest, {"sessionId": "s", "command": "c", **wrong})


@pytest.mark.parametrize("wrong", [{"line": -1}, {"limit": "5"}, {"line": 2**32}, {"path": None}])
def test_reading_a_file_is_strict(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(ReadTextFileRequest, {"sessionId": "s", "path": "/a", **wrong})


def test_bounds_hold_when_the_rest_is_forgiven() -> None:
    for version in (-1, 65_536, "1"):
        with pytest.raises(msgspec.ValidationError, match="protocolVersion"):
            read(InitializeRequest, {"protocolVersion": version, "clientInfo": 5})


def test_a_missing_required_field_is_named() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`title` - at `\$\.update`"):
        update(sessionUpdate="tool_call", toolCallId="t")


def test_an_unknown_stop_reason_does_not_fail_the_prompt() -> None:
    assert read(PromptResponse, {"stopReason": "tired"}).stop_reason == "tired"
    with pytest.raises(msgspec.ValidationError):
        read(PromptResponse, {"stopReason": 3})


def test_open_enums_keep_values_nobody_knows() -> None:
    """R-033, R-248"""
    notice = update(sessionUpdate="notice", severity="_mine", title="T")
    assert again(notice)["severity"] == "_mine"
    with pytest.raises(msgspec.ValidationError):
        update(sessionUpdate="notice", severity="info", title="")


def test_error_codes_outside_the_reserved_range_are_carried() -> None:
    """R-050"""
    assert read(Error, {"code": 401, "message": "m", "data": None}) == Error(code=401, message="m", data=None)
    assert read(Error, {"code": 401, "message": "m"}).data is UNSET


# --- unknown members ---


def test_an_unknown_update_is_kept_and_encodes_back() -> None:
    whole = {"sessionId": "s", "update": {"sessionUpdate": "dance", "steps": [1, {"a": None}]}}
    notification = read(SessionNotification, whole)
    assert isinstance(notification.update, Unknown)
    assert notification.update.tag == "dance"
    assert again(notification) == whole


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (PromptRequest, {"sessionId": "s", "prompt": [{"type": "video", "url": "u"}]}),
        (NewSessionResponse, {"sessionId": "s", "configOptions": [{"type": "slider", "id": "i"}]}),
        (NewSessionRequest, {"cwd": "/", "mcpServers": [{"type": "carrier-pigeon", "name": "n"}]}),
        (CreateElicitationRequest, {"mode": "_voice", "message": "m", "sessionId": "s"}),
        (CreateElicitationResponse, {"action": "later", "when": 5}),
        (ElicitationSchema, {"type": "object", "properties": {"a": {"type": "color", "default": "red"}}}),
        (MultiSelectPropertySchema, {"type": "array", "items": {"type": "number", "enum": [1]}}),
        (
            SubagentUpdate,
            {
                "sessionUpdate": "subagent_update",
                "sessionId": "c",
                "state": {"state": "dreaming", "deep": True},
            },
        ),
    ],
)
def test_unknown_members_encode_back_to_the_same_json(kind: Any, whole: object) -> None:
    """R-033, R-305, R-372"""
    assert again(read(kind, whole)) == whole


def test_a_known_tag_with_a_broken_payload_is_an_error() -> None:
    """R-035"""
    with pytest.raises(msgspec.ValidationError):
        update(sessionUpdate="agent_message_chunk", content={"type": "text"})
    with pytest.raises(msgspec.ValidationError):
        read(PromptRequest, {"sessionId": "s", "prompt": [{"type": "text", "text": 5}]})
    with pytest.raises(msgspec.ValidationError):
        read(NewSessionRequest, {"cwd": "/", "mcpServers": [{"type": "http", "name": "n"}]})


@pytest.mark.parametrize("tag", [5, None, ["text"], {}])
def test_a_tag_that_is_no_string_is_an_error(tag: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        update(sessionUpdate=tag)


# --- absent and null ---


def test_absent_and_null_differ_in_patches() -> None:
    """R-243, R-247"""
    assert update(sessionUpdate="session_info_update", title=None) == SessionInfoUpdate(title=None)
    assert update(sessionUpdate="session_info_update").title is UNSET
    assert again(SessionInfoUpdate(title=None)) == {"sessionUpdate": "session_info_update", "title": None}
    assert again(SessionInfoUpdate()) == {"sessionUpdate": "session_info_update"}
    cleared = CompactionUpdate(compaction_id="c", status="completed", summary=None, meta=None)
    assert again(cleared) == {
        "sessionUpdate": "compaction_update",
        "compactionId": "c",
        "status": "completed",
        "summary": None,
        "_meta": None,
    }
    assert update(**again(cleared)) == cleared


def test_a_malformed_patch_field_keeps_the_old_value() -> None:
    assert update(sessionUpdate="session_info_update", title=5).title is UNSET
    compaction = update(sessionUpdate="compaction_update", compactionId="c", status="failed", error=[])
    assert compaction.error is UNSET


def test_null_is_absent_in_tool_call_updates() -> None:
    """R-261"""
    change = update(sessionUpdate="tool_call_update", toolCallId="t", title=None, content=None)
    assert again(change) == {"sessionUpdate": "tool_call_update", "toolCallId": "t"}


def test_update_variants_are_also_what_they_share() -> None:
    assert isinstance(update(sessionUpdate="tool_call_update", toolCallId="t"), ToolCallUpdate)
    assert ToolCallProgress(tool_call_id="t") != ToolCallUpdate(tool_call_id="t")
    chunk = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hi"})
    assert isinstance(chunk, AgentMessageChunk) and isinstance(chunk, ContentChunk)
    assert chunk.content == TextContent(text="hi")


# --- unions that JSON does not tag ---


def test_mcp_servers_without_a_type_are_processes() -> None:
    stdio = {"name": "n", "command": "/c", "args": ["-v"], "env": [{"name": "A", "value": "1"}]}
    for extra in ({}, {"type": None}, {"type": "stdio"}):
        (server,) = read(NewSessionRequest, {"cwd": "/", "mcpServers": [{**stdio, **extra}]}).mcp_servers
        assert isinstance(server, McpServerStdio)
        assert again(server) == stdio
    (http,) = read(
        NewSessionRequest,
        {"cwd": "/", "mcpServers": [{"type": "http", "name": "n", "url": "u", "headers": None}]},
    ).mcp_servers
    assert http == McpServerHttp(name="n", url="u", headers=[])


def test_auth_methods_of_unknown_type_are_the_agents() -> None:
    listed = [
        {"id": "a", "name": "A"},
        {"id": "b", "name": "B", "type": "oauth2"},
        {"id": "c", "name": "C", "type": "terminal", "args": ["login"], "env": None},
        {"id": "d", "name": "D", "type": "env_var", "vars": [{"name": "KEY"}, {}]},
        {"id": "e", "name": "E", "type": "terminal", "args": 5},
        {"name": "F"},
    ]
    methods_ = read(InitializeResponse, {"protocolVersion": 1, "authMethods": listed}).auth_methods
    a, b, c, d = methods_
    assert isinstance(a, AuthMethodAgent) and isinstance(b, AuthMethodAgent)
    assert c == AuthMethodTerminal(id="c", name="C", args=["login"])
    assert isinstance(d, AuthMethodEnvVar) and [v.name for v in d.vars] == ["KEY"] and d.vars[0].secret


def test_text_decides_before_blob() -> None:
    """R-281"""
    both = read(EmbeddedResource, {"resource": {"uri": "u", "text": "t", "blob": "b"}}).resource
    assert isinstance(both, TextResourceContents)
    assert isinstance(
        read(EmbeddedResource, {"resource": {"uri": "u", "blob": "b"}}).resource, BlobResourceContents
    )


def test_config_options_are_values_or_groups() -> None:
    value = {"value": "a", "name": "A"}
    group: Json = {"group": "x", "name": "X", "options": [value, {"value": 1}]}
    common = {"id": "i", "name": "N", "category": "_mine"}
    options: list[Json] = [
        {"type": "select", **common, "currentValue": "a", "options": [value]},
        {"type": "select", **common, "currentValue": "a", "options": [group]},
        {"type": "boolean", **common, "currentValue": True},
        {"type": "boolean", **common, "currentValue": "yes"},
    ]
    session = read(NewSessionResponse, {"sessionId": "s", "configOptions": options})
    flat, grouped, boolean = session.config_options
    assert isinstance(flat, SessionConfigSelect)
    assert isinstance(flat.options[0], SessionConfigSelectOption)
    assert isinstance(grouped, SessionConfigSelect)
    assert isinstance(grouped.options[0], SessionConfigSelectGroup)
    assert [option.value for option in grouped.options[0].options] == ["a"]
    assert isinstance(boolean, SessionConfigBoolean)


def test_setting_a_boolean_option_says_so() -> None:
    request = SetSessionConfigOptionRequest(session_id="s", config_id="c", value=True)
    assert again(request) == {"sessionId": "s", "configId": "c", "type": "boolean", "value": True}
    text = SetSessionConfigOptionRequest(session_id="s", config_id="c", value="v")
    assert again(text) == {"sessionId": "s", "configId": "c", "value": "v"}
    other = {"sessionId": "s", "configId": "c", "type": "slider", "value": "v"}
    assert read(SetSessionConfigOptionRequest, other).value == "v"
    with pytest.raises(msgspec.ValidationError, match="boolean"):
        read(SetSessionConfigOptionRequest, {**other, "type": "boolean"})


def test_an_idle_child_may_tell_why_it_failed() -> None:
    child: Json = {
        "sessionUpdate": "subagent_update",
        "sessionId": "c",
        "state": {"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "m"}},
    }
    state = update(**child).state
    assert state == IdleStateUpdate(stop_reason="error", error=Error(code=1, message="m"))
    child["state"] = {"state": "idle", "stopReason": 5, "error": "broken"}
    assert update(**child).state == IdleStateUpdate()


# --- elicitation ---


def test_a_form_always_says_object_and_properties() -> None:
    """R-365"""
    assert again(ElicitationSchema()) == {"type": "object", "properties": {}}
    forms: list[Json] = [{}, {"type": "object"}, {"type": "thing", "properties": {}}, {"type": 5}]
    for lax in forms:
        assert read(ElicitationSchema, lax) == ElicitationSchema()
    with pytest.raises(msgspec.ValidationError):
        read(ElicitationSchema, {"properties": None})


def test_an_elicitation_belongs_to_a_session_or_a_request() -> None:
    form: Json = {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    with pytest.raises(msgspec.ValidationError, match="session_id or request_id"):
        read(CreateElicitationRequest, form)
    for scope in ({"sessionId": "s", "toolCallId": "t"}, {"requestId": 7}, {"requestId": None}):
        assert again(read(CreateElicitationRequest, {**form, **scope})) == {**form, **scope}
    with pytest.raises(ValueError, match="session_id or request_id"):
        ElicitationFormMode(message="m", requested_schema=ElicitationSchema())


def test_multi_select_items_are_told_apart() -> None:
    plain = read(MultiSelectPropertySchema, {"type": "array", "items": {"type": "string", "enum": ["a"]}})
    assert plain.items == StringMultiSelectItems(enum=["a"])
    titled = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}
    assert isinstance(read(MultiSelectPropertySchema, titled).items, TitledMultiSelectItems)
    assert again(read(MultiSelectPropertySchema, titled)) == titled


def test_form_values_keep_their_types() -> None:
    content = {"a": "x", "b": 1, "c": 1.5, "d": True, "e": ["x"]}
    answer = read(CreateElicitationResponse, {"action": "accept", "content": content})
    assert answer == ElicitationAcceptAction(content={"a": "x", "b": 1, "c": 1.5, "d": True, "e": ["x"]})
    assert answer.content["d"] is True
    with pytest.raises(msgspec.ValidationError):
        read(CreateElicitationResponse, {"action": "accept", "content": {"a": {"nested": 1}}})


# --- MCP over ACP ---


def test_an_mcp_response_is_a_result_or_an_error() -> None:
    assert read(MessageMcpResponse, {"result": None}).result is None
    assert again(read(MessageMcpResponse, {"result": None})) == {"result": None}
    failed = {"error": {"code": -32601, "message": "m", "data": None}}
    assert again(read(MessageMcpResponse, failed)) == failed
    assert again(read(MessageMcpResponse, {"result": 1, **failed})) == {"result": 1}
    assert again(read(MessageMcpResponse, {"result": 1, "error": "broken"})) == {"result": 1}
    for neither in ({}, {"error": None}, {"error": {"code": 1}}):
        with pytest.raises(msgspec.ValidationError):
            read(MessageMcpResponse, neither)


def test_both_forms_of_mcp_message_are_received() -> None:
    received = methods.CLIENT.requests["mcp/message"]
    new = {"serverId": "s", "requestId": "r", "method": "tools/list"}
    assert isinstance(received.read_params(msgspec.json.encode(new)), MessageMcpRequest)
    old: Json = {"connectionId": "c", "method": "tools/list", "params": {}}
    assert isinstance(received.read_params(msgspec.json.encode(old)), LegacyMessageMcpRequest)


# --- the methods table ---


@pytest.mark.parametrize("nothing", [b"", b"null", b" null\n", msgspec.Raw(b"null"), msgspec.Raw()])
def test_absent_and_null_params_read_as_an_empty_object(nothing: bytes | msgspec.Raw) -> None:
    assert methods.LOGOUT.read_params(nothing).meta is None
    assert methods.LIST_SESSIONS.read_params(nothing).cwd is None
    with pytest.raises(msgspec.ValidationError, match="protocolVersion"):
        methods.INITIALIZE.read_params(nothing)


def test_null_results_read_as_empty_ones() -> None:
    """R-017"""
    assert methods.LOAD_SESSION.read_result(b"null").modes is None
    assert methods.WRITE_TEXT_FILE.read_result(b"null").meta is None
    assert methods.LIST_SESSIONS.read_result(b"null").sessions == []
    with pytest.raises(msgspec.ValidationError):
        methods.NEW_SESSION.read_result(b"null")
    assert methods.PROXY_SUCCESSOR.read_result(b"null") is None
    assert methods.LEGACY_MESSAGE_MCP.read_result(b"null") is None


def test_the_empty_table_of_lua_reads_as_an_empty_object() -> None:
    assert methods.WRITE_TEXT_FILE.read_result(b"[]").meta is None
    assert methods.READ_TEXT_FILE.read_result(b" [] ").content == ""
    assert methods.PROXY_SUCCESSOR.read_result(b"[]") == []
    with pytest.raises(msgspec.ValidationError):
        methods.NEW_SESSION.read_result(b"[]")
    with pytest.raises(msgspec.ValidationError):
        methods.REQUEST_PERMISSION.read_result(b"[]")


BAD = [
    b"{",
    b"[]",
    b"5",
    b'"x"',
    b"true",
    b'{"a":}',
    b'{"sessionId":5}',
    b'{"update":{"sessionUpdate":{}}}',
    b"\xff",
]


@pytest.mark.parametrize("method", methods.METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("raw", BAD)
def test_bad_input_raises_decode_errors_only(method: methods.Method[Any, Any], raw: bytes) -> None:
    for read_it in (method.read_params, method.read_result):
        try:
            read_it(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass


@pytest.mark.skipif(not TRANSCRIPTS, reason="no recorded conversations beside the repository")
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_conversations_of_real_agents_are_read_to_the_last_frame(path: Path) -> None:
    asked: dict[tuple[str, str], methods.Method[Any, Any]] = {}
    frames = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        direction, message = entry["dir"], entry["msg"]
        receiver = methods.AGENT if direction == "out" else methods.CLIENT
        if "method" in message:
            table = receiver.requests if "id" in message else receiver.notifications
            method = table.get(message["method"])
            if method is None:
                assert message["method"].startswith("_")
                continue
            method.read_params(encode(message["params"]) if "params" in message else b"")
            if "id" in message:
                asked[direction, json.dumps(message["id"])] = method
        elif "result" in message:
            method = asked["in" if direction == "out" else "out", json.dumps(message["id"])]
            method.read_result(encode(message["result"]))
        frames += 1
    assert frames > 10


def test_a_refused_message_is_not_kept() -> None:
    """The error had a traceback, that the frame, and that the message: a cycle."""
    with nothing_large_kept():
        for _ in range(6):
            data = json.dumps({"sessionId": 5, "prompt": [{"type": "text", "text": "x" * LARGE}]}).encode()
            with pytest.raises(msgspec.ValidationError):
                decode(PromptRequest, data)
            del data

"""Version 1 of the protocol: what is advertised, what is served, how doings look on the wire."""

from typing import Any

import msgspec
import pytest

from acpella.agent import Choice, EnvLogin, Login, Mode, Select, TerminalLogin, Toggle
from acpella.agent.choices import Choices
from acpella.agent.codec.v1 import CodecV1, capabilities, editor_capabilities, hidden_updates, shown_login
from acpella.agent.definition import Definition
from acpella.agent.operations import (
    CancelPrompt,
    CloseSession,
    DeleteSession,
    ForkSession,
    ListSessions,
    LogIn,
    LogOut,
    NewSession,
    OpenedSession,
    Prompt,
    ReopenSession,
    SetMode,
    SetOption,
    Workplace,
)
from acpella.schema import (
    AgentMessageChunk,
    ClientCapabilities,
    CompactionSummaryChunk,
    CompactionUpdate,
    InitializeRequest,
    Notice,
    PermissionOption,
    PlanRemoved,
    PlanUpdate,
    SessionMessage,
    SessionMessageChunk,
    SubagentUpdate,
    TextContent,
    ToolCallUpdate,
    decode,
    encode,
    methods,
)

PLACE = {"cwd": "/a", "mcpServers": []}


async def nothing() -> None: ...


MODES = [Mode("ask", "Ask"), Mode("code", "Code", "Writes")]
OPTIONS = [
    Select("model", "Model", [Choice("small"), "large"], category="model"),
    Toggle("fast", "Fast"),
]
LOGINS = [
    Login("page", "In the browser", nothing),
    EnvLogin("key", "By key", ["A_KEY"]),
    TerminalLogin("terminal", "In a terminal", ["login"]),
]

EVERYTHING: dict[str, Any] = {
    "modes": MODES,
    "options": OPTIONS,
    "logins": LOGINS,
    "images": True,
    "audio": True,
    "mcp": ["http", "sse"],
    "meta": {"a": 1},
    "keeps_sessions": True,
}


def plain(value: object) -> Any:
    return msgspec.json.decode(encode(value))


def client(**fields: Any) -> ClientCapabilities:
    return decode(ClientCapabilities, msgspec.json.encode(fields))


def initialized(definition: Definition, **fields: Any) -> CodecV1:
    codec = CodecV1(definition)
    codec.initialize(InitializeRequest(protocol_version=1, client_capabilities=client(**fields)))
    return codec


def read(codec: CodecV1, method: str, params: dict[str, Any]) -> object:
    typed = methods.AGENT.requests[method].read_params(msgspec.json.encode(params))
    return codec.requests()[method].read(typed)


# -- capabilities ------------------------------------------------------------------------


def test_a_bare_agent_advertises_what_every_agent_has() -> None:
    assert plain(capabilities(Definition("bare"))) == {
        "promptCapabilities": {"embeddedContext": True},
        "mcpCapabilities": {},
        "sessionCapabilities": {"close": {}, "additionalDirectories": {}},
        "auth": {},
    }


def test_everything_declared_is_advertised() -> None:
    assert plain(capabilities(Definition("full", **EVERYTHING))) == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True},
        "sessionCapabilities": {
            "close": {},
            "additionalDirectories": {},
            "list": {},
            "delete": {},
            "resume": {},
            "fork": {},
        },
        "auth": {"logout": {}},
        "_meta": {"a": 1},
    }


def test_what_is_advertised_is_served_and_nothing_else() -> None:
    always = {"session/new", "session/close", "session/prompt"}
    stored = {"session/load", "session/resume", "session/list", "session/delete"}
    assert CodecV1(Definition("bare")).requests().keys() == always
    assert CodecV1(Definition("kept", keeps_sessions=True)).requests().keys() == {
        *always,
        *stored,
        "session/fork",
    }
    assert CodecV1(Definition("modes", modes=MODES)).requests().keys() == {
        *always,
        "session/set_mode",
        "session/set_config_option",
    }
    assert CodecV1(Definition("logins", logins=LOGINS)).requests().keys() == {
        *always,
        "authenticate",
        "logout",
    }
    stable = Definition("stable", **EVERYTHING, settings={"unstable": False})
    assert CodecV1(stable).requests().keys() == {
        *always,
        *stored,
        "session/set_mode",
        "session/set_config_option",
        "authenticate",
        "logout",
    }


def test_without_the_unstable_schema_no_fork_is_advertised() -> None:
    stable = Definition("stable", keeps_sessions=True, settings={"unstable": False})
    assert "fork" not in plain(capabilities(stable))["sessionCapabilities"]


def test_an_editors_capabilities_in_the_cores_words() -> None:
    able = editor_capabilities(
        client(
            fs={"readTextFile": True, "writeTextFile": True},
            terminal=True,
            elicitation={"form": {}, "url": {}},
            session={"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            plan={},
            subagents={},
            _meta={"terminal_output": True},
        ),
        unstable=True,
    )
    assert able.reads_files and able.writes_files and able.terminals and able.terminal_output
    assert able.forms and able.pages and able.toggles and able.tokens
    assert able.hidden == frozenset()
    bare = editor_capabilities(ClientCapabilities(), unstable=True)
    assert not (bare.reads_files or bare.writes_files or bare.terminals or bare.terminal_output)
    assert not (bare.forms or bare.pages or bare.toggles or bare.tokens)


GATES: list[tuple[dict[str, Any], set[type]]] = [
    ({"session": {"notices": {}}}, {Notice}),
    ({"session": {"compaction": {}}}, {CompactionUpdate, CompactionSummaryChunk}),
    ({"plan": {}}, {PlanUpdate, PlanRemoved}),
    ({"subagents": {}}, {SubagentUpdate, SessionMessage, SessionMessageChunk}),
]


@pytest.mark.parametrize("fields, opened", GATES)
def test_each_gate_opens_its_own_updates(fields: dict[str, Any], opened: set[type]) -> None:
    """R-244."""
    everything = hidden_updates(ClientCapabilities())
    assert everything == frozenset(kind for _, kinds in GATES for kind in kinds)
    assert everything - hidden_updates(client(**fields)) == opened


def test_without_the_unstable_schema_an_editor_knows_nothing_of_it() -> None:
    able = editor_capabilities(client(plan={}, subagents={}, _meta={"prompt_usage": True}), unstable=False)
    assert not able.tokens
    assert {PlanUpdate, SubagentUpdate} <= able.hidden


# -- logins ------------------------------------------------------------------------------


def test_a_terminal_login_is_offered_to_editors_that_have_one() -> None:
    """R-121."""
    definition = Definition("guarded", logins=LOGINS)
    assert [method.id for method in initialized(definition).auth_methods()] == ["page", "key"]
    with_terminal = initialized(definition, auth={"terminal": True}).auth_methods()
    assert [method.id for method in with_terminal] == ["page", "key", "terminal"]


def test_a_login_by_variables_is_described_where_the_schema_has_no_word_for_it() -> None:
    login = EnvLogin("key", "By key", ["A_KEY", "B_KEY"])
    assert plain(shown_login(login, unstable=True))["type"] == "env_var"
    shown = plain(shown_login(login, unstable=False))
    assert shown == {"id": "key", "name": "By key", "description": "Start the agent with A_KEY, B_KEY set"}


# -- requests ----------------------------------------------------------------------------

REQUESTS: list[tuple[str, dict[str, Any], object]] = [
    ("session/new", PLACE, NewSession(Workplace("/a", [], []))),
    ("session/new", {**PLACE, "additionalDirectories": ["/b"]}, NewSession(Workplace("/a", ["/b"], []))),
    ("session/load", {"sessionId": "s", **PLACE}, ReopenSession("s", Workplace("/a", [], []), replay=True)),
    (
        "session/resume",
        {"sessionId": "s", **PLACE},
        ReopenSession("s", Workplace("/a", [], []), replay=False),
    ),
    ("session/fork", {"sessionId": "s", **PLACE}, ForkSession("s", Workplace("/a", [], []))),
    ("session/list", {"cwd": "/a", "cursor": "next"}, ListSessions("/a", "next")),
    ("session/close", {"sessionId": "s"}, CloseSession("s")),
    ("session/delete", {"sessionId": "s"}, DeleteSession("s")),
    ("session/set_mode", {"sessionId": "s", "modeId": "code"}, SetMode("s", "code")),
    (
        "session/set_config_option",
        {"sessionId": "s", "configId": "fast", "type": "boolean", "value": True},
        SetOption("s", "fast", True),
    ),
    ("session/set_model", {"sessionId": "s", "modelId": "large"}, SetOption("s", "model", "large")),
    ("authenticate", {"methodId": "key"}, LogIn("key")),
    ("logout", {}, LogOut()),
    (
        "session/prompt",
        {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]},
        Prompt("s", [TextContent(text="hi")]),
    ),
]


@pytest.mark.parametrize("method, params, operation", REQUESTS)
def test_requests_become_operations(method: str, params: dict[str, Any], operation: object) -> None:
    assert read(CodecV1(Definition("full", **EVERYTHING)), method, params) == operation


def test_every_request_is_read_somewhere_above() -> None:
    assert CodecV1(Definition("full", **EVERYTHING)).requests().keys() == {
        method for method, _, _ in REQUESTS
    }


def test_a_cancellation_names_its_session() -> None:
    (read_cancel,) = CodecV1(Definition("any")).cancellations().values()
    params = methods.AGENT.notifications["session/cancel"].read_params(b'{"sessionId":"s"}')
    assert read_cancel(params) == CancelPrompt("s")


def written(codec: CodecV1, method: str, opened: OpenedSession) -> Any:
    return plain(codec.requests()[method].write(opened))


def test_an_opened_session_tells_modes_and_options() -> None:
    definition = Definition("full", **EVERYTHING)
    opened = OpenedSession("s", Choices(MODES, OPTIONS, {"mode": "code"}))
    for method in ("session/new", "session/fork"):
        told = written(initialized(definition), method, opened)
        assert told["sessionId"] == "s"
        assert told["modes"]["currentModeId"] == "code"
        assert [mode["id"] for mode in told["modes"]["availableModes"]] == ["ask", "code"]
        assert [option["id"] for option in told["configOptions"]] == ["mode", "model"], "toggles are unknown"
    knowing = initialized(definition, session={"configOptions": {"boolean": {}}})
    options = written(knowing, "session/new", opened)["configOptions"]
    assert [option["id"] for option in options] == ["mode", "model", "fast"]


def test_a_session_taken_over_in_a_turn_says_so() -> None:
    codec = initialized(Definition("full", **EVERYTHING))
    choices = Choices([], [], {})
    for method in ("session/load", "session/resume"):
        assert written(codec, method, OpenedSession("s", choices)) == {}
        running = written(codec, method, OpenedSession("s", choices, is_prompting=True))
        assert running == {"_meta": {"acpella": {"turnRunning": True}}}


# -- what sessions and turns do ------------------------------------------------------------


def test_updates_go_out_unless_the_editor_must_not_see_them() -> None:
    codec = initialized(Definition("any"))
    said = AgentMessageChunk(content=TextContent(text="hi"))
    assert plain(codec.update("s", said)) == {
        "sessionId": "s",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}},
    }
    notice = Notice(severity="info", title="listen")
    assert codec.update("s", notice) is None
    assert initialized(Definition("any"), session={"notices": {}}).update("s", notice) is not None


def test_the_log_is_replayed_by_the_same_rule() -> None:
    codec = initialized(Definition("any"))
    said = encode(AgentMessageChunk(content=TextContent(text="hi")))
    assert plain(codec.stored_update("s", said)) == {"sessionId": "s", "update": msgspec.json.decode(said)}
    assert codec.stored_update("s", encode(CompactionUpdate(compaction_id="1", status="completed"))) is None


def test_a_new_mode_is_told_twice_for_old_and_new_editors() -> None:
    """R-301."""
    codec = initialized(Definition("any", modes=MODES))
    choices = Choices(MODES, [], {"mode": "code"})
    told = [plain(update) for update in codec.choices_changed(choices, mode=True)]
    assert [update["sessionUpdate"] for update in told] == ["current_mode_update", "config_option_update"]
    assert told[0]["currentModeId"] == told[1]["configOptions"][0]["currentValue"] == "code"
    (told_option,) = codec.choices_changed(choices, mode=False)
    assert plain(told_option)["sessionUpdate"] == "config_option_update"


def test_a_question_of_permission_and_its_answer() -> None:
    codec = CodecV1(Definition("any"))
    option = PermissionOption(option_id="yes", name="Yes", kind="allow_once")
    method, params = codec.permission("s", ToolCallUpdate(tool_call_id="t", title="Write"), [option])
    assert method is methods.REQUEST_PERMISSION
    assert plain(params) == {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": "Write"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    }
    answer = method.read_result(b'{"outcome":{"outcome":"selected","optionId":"yes"}}')
    assert codec.chosen(answer) == "yes"
    assert codec.chosen(method.read_result(b'{"outcome":{"outcome":"cancelled"}}')) is None


@pytest.mark.parametrize(
    "method, cancelled, hears",
    [
        ("session/request_permission", False, True),
        ("session/request_permission", True, False),  # the editor closes its own questions
        ("elicitation/create", True, True),
        ("fs/read_text_file", False, False),
        ("terminal/wait_for_exit", False, False),
        ("_vendor/method", False, True),
    ],
)
def test_who_hears_that_a_request_is_void(method: str, cancelled: bool, hears: bool) -> None:
    codec = CodecV1(Definition("any"))
    _, params = codec.permission("s", ToolCallUpdate(tool_call_id="t"), [])
    assert codec.hears_cancel(method, params, lambda session_id: cancelled and session_id == "s") is hears


def test_the_answer_to_initialize_says_who_and_what() -> None:
    definition = Definition("full", version="2", title="Full", logins=LOGINS)
    answer = CodecV1(definition).initialize(
        InitializeRequest(protocol_version=9, client_capabilities=ClientCapabilities())
    )
    assert answer.protocol_version == 1, "R-102: whatever was asked for"
    assert plain(answer.agent_info) == {"name": "full", "version": "2", "title": "Full"}
    assert answer.meta == {"auth_hint": "log in with one of: In the browser, By key"}

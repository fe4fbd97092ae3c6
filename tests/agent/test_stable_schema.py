"""What goes to the editor without `unstable`: nothing that the stable schema does not know."""

import asyncio
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from acpella.agent import Agent, EnvLogin, Mode, Select, Toggle
from acpella.schema import PlanUpdate, Usage, decode
from acpella.sessions import SqliteStore
from acpella.transport import memory_pair
from interaction.ends import RawEnd
from interaction.wire import request, result
from unit.schema.test_official_schema import STABLE

pytestmark = pytest.mark.anyio

RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "logout": "LogoutResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
}
PARAMS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "terminal/create": "CreateTerminalRequest",
    "elicitation/create": "CreateElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
}

CLIENT = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "plan": {},
    "subagents": {},
    "_meta": {"prompt_usage": True},
}
"""An editor that would take everything."""


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    for name in ("properties", "$defs"):
        if name in schema:
            made[name] = {
                key: _whole(value) if name == "properties" else closed(value)
                for key, value in schema[name].items()
            }
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            made[name] = _whole(schema[name])
    return made


def _whole(schema: Any) -> Any:
    made = closed(schema)
    if isinstance(made, dict) and {"$ref", "anyOf", "oneOf", "allOf"} & set(made):
        made["unevaluatedProperties"] = False
    return made


DEFS = closed({"$defs": STABLE})["$defs"]


def check(definition: str, value: Any) -> None:
    schema = {"$ref": f"#/$defs/{definition}", "unevaluatedProperties": False, "$defs": DEFS}
    wrong = [
        f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)
    ]
    assert not wrong, f"{definition} {json.dumps(value)[:300]}: {wrong[:3]}"


async def everything(turn: Any) -> None:
    """Does what an agent can do."""
    await turn.say("text")
    await turn.think("thought")
    await turn.notice("a notice")
    await turn.plan("one", "two")
    await turn.usage(1, 2)
    await turn.session.update(
        decode(
            PlanUpdate,
            b'{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"x"}}',
        )
    )
    turn.tokens = Usage(total_tokens=3, input_tokens=1, output_tokens=2)
    async with turn.tool("Edit", kind="edit") as call:
        await turn.permit(call)
        call.show("done")
    await turn.session.set_title("Title")


def full_agent(store: Path, **options: Any) -> Agent:
    agent = Agent(
        "full",
        store=SqliteStore(store),
        modes=[Mode("ask", "Ask"), Mode("code", "Code")],
        options=[Select("model", "Model", ["a", "b"], category="model"), Toggle("fast", "Fast")],
        logins=[EnvLogin("key", "Key", ["HOME"])],
        **options,
    )
    agent.on_prompt(everything)
    agent.command("test", "Runs the tests")(everything)
    return agent


async def converse(agent: Agent, capabilities: Any = CLIENT) -> list[tuple[str, Any]]:
    """A whole conversation; gives the definitions of what the agent sent, with the values."""
    here, there = memory_pair()
    raw = RawEnd(here)
    await here.open(raw, write_high=2**20)
    serving = asyncio.create_task(agent.serve_on(there))
    sent: list[tuple[str, Any]] = []
    waiting: deque[Any] = deque()

    async def call(number: int, method: str, params: Any) -> Any:
        raw.send(request(number, method, params))
        while True:
            if not waiting:
                waiting.extend(await raw.messages(1))
            message = waiting.popleft()
            if "method" not in message:
                assert message["id"] == number, message
                if "result" in message:
                    sent.append((RESULTS.get(method, method), message["result"]))
                else:
                    sent.append(("Error", message["error"]))
                return message.get("result", message.get("error"))
            sent.append((PARAMS[message["method"]], message["params"]))
            if message["method"] == "session/request_permission":
                raw.send(result(message["id"], {"outcome": {"outcome": "cancelled"}}))
            else:
                assert "id" not in message, message

    at = {"cwd": "/", "mcpServers": []}
    await call(0, "initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
    await call(1, "authenticate", {"methodId": "key"})
    session = (await call(2, "session/new", at))["sessionId"]
    name = {"sessionId": session}
    await call(3, "session/prompt", {**name, "prompt": [{"type": "text", "text": "hi"}]})
    await call(4, "session/set_mode", {**name, "modeId": "code"})
    await call(5, "session/set_config_option", {**name, "configId": "model", "value": "b"})
    await call(6, "session/list", {})
    await call(7, "session/close", name)
    await call(8, "session/load", {**name, **at})
    await call(9, "session/resume", {**name, **at})
    await call(10, "session/fork", {**name, **at})
    await call(11, "session/set_model", {**name, "modelId": "a"})
    await call(12, "session/prompt", {"sessionId": "sess_x", "prompt": []})
    await call(13, "session/delete", name)
    await call(14, "logout", {})
    await here.close()
    await serving
    await agent.close()
    return sent


@pytest.mark.parametrize("how", ["argument", "variable"])
async def test_nothing_is_sent_outside_the_stable_schema(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "variable":
        monkeypatch.setenv("ACPELLA_UNSTABLE", "0")
    async with asyncio.timeout(30):
        sent = await converse(
            full_agent(tmp_path / "s.db", **({"unstable": False} if how == "argument" else {}))
        )
    assert len(sent) > 20
    for definition, value in sent:
        check(definition, value)
    assert [value["code"] for definition, value in sent if definition == "Error"] == [-32601, -32601, -32002]


async def test_an_editor_that_asks_for_nothing_unstable_gets_none_but_what_is_advertised(
    tmp_path: Path,
) -> None:
    """Fork and the like are offered in `initialize`; nothing else goes beyond the stable schema by itself."""
    async with asyncio.timeout(30):
        stable = {key: value for key, value in CLIENT.items() if key in ("fs", "session")}
        sent = await converse(full_agent(tmp_path / "s.db"), stable)
    for definition, value in sent:
        if definition in ("SessionNotification", "PromptResponse", "RequestPermissionRequest"):
            check(definition, value)


async def test_the_check_finds_what_is_unstable(tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        sent = await converse(full_agent(tmp_path / "s.db"))
    unstable = set()
    for definition, value in sent:
        try:
            check(definition, value) if definition in (*RESULTS.values(), *PARAMS.values()) else None
        except AssertionError:
            unstable.add(definition)
    assert unstable == {"InitializeResponse", "PromptResponse", "SessionNotification"}


def test_a_switch_that_is_neither_on_nor_off_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACPELLA_UNSTABLE", "maybe")
    with pytest.raises(ValueError, match="ACPELLA_UNSTABLE='maybe' is neither 1 nor 0"):
        Agent("a")


async def test_commands_are_announced_before_the_answer_to_load_and_after_that_to_new(tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        sent = await converse(full_agent(tmp_path / "s.db"))
    order = [
        "commands"
        if value.get("update", {}).get("sessionUpdate") == "available_commands_update"
        else definition
        for definition, value in sent
    ]
    told = [step for step in order if step in ("commands", "NewSessionResponse", "LoadSessionResponse")]
    assert told[:4] == ["NewSessionResponse", "commands", "commands", "LoadSessionResponse"]

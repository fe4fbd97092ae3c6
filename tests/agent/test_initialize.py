"""The handshake: versions, what is advertised, and that exactly this works (C11)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from acpella.agent import Agent, Login, Mode, Select, Toggle, Tool
from acpella.errors import RpcError
from acpella.transport import memory_pair
from agent.editor import Json, agent_of, editing, opened, prompt_params
from interaction.ends import RawEnd
from interaction.wire import request

pytestmark = pytest.mark.anyio

UNKNOWN = "sess_unknown"
AT = {"cwd": "/project", "mcpServers": []}

REQUESTS: dict[str, Json] = {
    "authenticate": {"methodId": "key"},
    "logout": {},
    "session/new": AT,
    "session/load": {"sessionId": UNKNOWN, **AT},
    "session/resume": {"sessionId": UNKNOWN, **AT},
    "session/fork": {"sessionId": UNKNOWN, **AT},
    "session/list": {},
    "session/delete": {"sessionId": UNKNOWN},
    "session/close": {"sessionId": UNKNOWN},
    "session/set_mode": {"sessionId": UNKNOWN, "modeId": "a"},
    "session/set_config_option": {"sessionId": UNKNOWN, "configId": "a", "value": "b"},
    "session/set_model": {"sessionId": UNKNOWN, "modelId": "a"},
    "session/prompt": prompt_params(UNKNOWN),
    "session/archive": {"sessionId": UNKNOWN},
    "session/status": {"sessionId": UNKNOWN},
    "session/set_title": {"sessionId": UNKNOWN, "title": "a"},
    "auth/status": {},
    "providers/list": {},
    "nes/start": {},
    "_session/list": {},
    "_session/get": {"sessionId": UNKNOWN},
    "_session/delete": {"sessionId": UNKNOWN},
    "_session/export": {"sessionId": UNKNOWN},
    "_session/import": {},
    "_agent/tools": {},
    "_agent/working_dir/update": {"sessionId": UNKNOWN, "path": "/project"},
    "_vendor/method": {},
    "unheard/of": {},
}
"""A request of every kind, well formed."""

ALWAYS = {"session/new", "session/prompt", "session/close", "_agent/working_dir/update"}
STORED = {
    *("session/load", "session/resume", "session/fork", "session/list", "session/delete"),
    *("_session/list", "_session/get", "_session/delete", "_session/export", "_session/import"),
}


async def echo(turn: Any) -> str:
    return turn.text


async def log_in() -> None:
    pass


def plain_agent() -> Agent:
    return agent_of(echo)


def keeping_agent() -> Agent:
    return agent_of(echo, store="memory")


def agent_with_everything() -> Agent:
    agent = agent_of(
        echo,
        version="2.1",
        title="Everything",
        store="memory",
        modes=[Mode("a", "A")],
        options=[Select("model", "Model", ["x", "y"], category="model"), Toggle("fast", "Fast")],
        logins=[Login("key", "Key", log_in)],
        tools=[Tool("read", "Reads files", "read")],
        images=True,
        audio=True,
        mcp=["http"],
        meta={"vendor/flag": True},
    )
    agent.is_logged_in(lambda: True)
    agent.on_request("_vendor/method")(lambda params: {"heard": params})
    return agent


@pytest.mark.parametrize("version", [0, 1, 2, 99, 65535])
async def test_every_version_is_answered_with_the_one_there_is(version: int) -> None:
    """R-102."""
    async with editing(plain_agent(), initialize=False) as editor:
        hello = await editor.initialize(version)
        assert hello["protocolVersion"] == 1
        assert hello["agentInfo"]["name"] == "tested"
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_without_anything_declared_only_the_baseline_is_advertised() -> None:
    """R-030, R-032, R-108."""
    async with editing(plain_agent()) as editor:
        offered = editor.hello["agentCapabilities"]
        assert not offered.get("loadSession")
        assert offered["promptCapabilities"] == {"embeddedContext": True}
        assert set(offered["sessionCapabilities"]) == {"close", "additionalDirectories"}
        assert not editor.hello.get("authMethods")
        assert "logout" not in offered.get("auth", {})


async def test_what_was_declared_is_advertised() -> None:
    async with editing(agent_with_everything()) as editor:
        offered = editor.hello["agentCapabilities"]
        assert offered["loadSession"] is True
        assert offered["promptCapabilities"] == {"embeddedContext": True, "image": True, "audio": True}
        assert offered["mcpCapabilities"] == {"http": True}
        assert set(offered["sessionCapabilities"]) == {
            *("close", "additionalDirectories", "list", "delete", "resume", "fork")
        }
        assert offered["auth"] == {"logout": {}}
        assert offered["_meta"] == {"vendor/flag": True}
        assert editor.hello["authMethods"] == [{"id": "key", "name": "Key"}]
        assert editor.hello["agentInfo"] == {"name": "tested", "title": "Everything", "version": "2.1"}
        assert "Key" in editor.hello["_meta"]["auth_hint"]


@pytest.mark.parametrize(
    "make, works",
    [
        (plain_agent, ALWAYS),
        (keeping_agent, ALWAYS | STORED),
        (
            lambda: agent_of(echo, modes=[Mode("a", "A")]),
            ALWAYS | {"session/set_mode", "session/set_config_option"},
        ),
        (lambda: agent_of(echo, options=[Toggle("a", "A")]), ALWAYS | {"session/set_config_option"}),
        (
            lambda: agent_of(echo, options=[Select("a", "A", ["b"], category="model")]),
            ALWAYS | {"session/set_config_option", "session/set_model"},
        ),
        (lambda: agent_of(echo, tools=[Tool("a", "b")]), ALWAYS | {"_agent/tools"}),
        (
            agent_with_everything,
            set(REQUESTS)
            - {"session/archive", "session/status", "session/set_title", "auth/status", "providers/list"}
            - {"nes/start", "unheard/of"},
        ),
    ],
)
async def test_what_is_not_declared_is_not_found(make: Callable[[], Agent], works: set[str]) -> None:
    """R-011, R-027, R-040: a method answers exactly when its gate is open."""
    async with editing(make()) as editor:
        found = set()
        for method, params in REQUESTS.items():
            try:
                await editor.call(method, params)
                found.add(method)
            except RpcError as error:
                assert error.code in (-32601, -32602, -32002), (method, error)
                if error.code != -32601:
                    found.add(method)
        assert found == works


async def test_before_initialize_nothing_else_is_answered() -> None:
    """R-100."""
    async with editing(agent_with_everything(), initialize=False) as editor:
        for method, params in REQUESTS.items():
            error = await editor.fails(method, params)
            assert error.code in (-32600, -32601), (method, error)
        await editor.initialize()
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_a_second_initialize_changes_what_the_editor_offers() -> None:
    """R-110 leaves it open; ours takes the newer word."""

    async def reply(turn: Any) -> str:
        return str(turn.files.can_read)

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        editor.capabilities = {"fs": {"readTextFile": True}}
        await editor.initialize()
        await editor.prompt(session)
        assert editor.said() == "FalseTrue"


async def test_the_beginning_may_come_in_one_chunk() -> None:
    """marimo pipelines session/new behind initialize."""
    agent = keeping_agent()
    here, there = memory_pair()
    async with opened(agent) as editor:
        session = await editor.new()
        await editor.prompt(session)
        raw = RawEnd(here)
        await here.open(raw, write_high=2**20)
        serving = asyncio.create_task(agent.serve_on(there))
        raw.send(
            request(0, "initialize", {"protocolVersion": 1})
            + request(1, "session/new", AT)
            + request(2, "session/resume", {"sessionId": session, **AT})
            + request(3, "session/prompt", prompt_params("sess_none"))
            + request(4, "session/list", {})
        )
        answers = {m["id"]: m for m in await raw.messages(5)}
        assert answers[0]["result"]["protocolVersion"] == 1
        assert answers[1]["result"]["sessionId"]
        assert "result" in answers[2]
        assert answers[3]["error"]["code"] == -32002
        assert len(answers[4]["result"]["sessions"]) >= 1
        await here.close()
        await serving
    await agent.close()


async def test_extension_requests_and_notifications_reach_their_handlers() -> None:
    """R-026 to R-028."""
    heard: list[Any] = []
    agent = plain_agent()

    @agent.on_request("_vendor/add")
    async def add(params: Any) -> Any:
        return {"sum": params["a"] + params["b"]}

    @agent.on_request("_vendor/plain")
    def plain(params: Any) -> Any:
        return params

    @agent.on_notification("_vendor/note")
    async def note(params: Any) -> None:
        heard.append(params)

    async with editing(agent) as editor:
        assert await editor.call("_vendor/add", {"a": 1, "b": 2}) == {"sum": 3}
        assert await editor.call("_vendor/plain", {"c": [1]}) == {"c": [1]}
        assert (await editor.fails("_vendor/add", {"a": 1})).code == -32603
        await editor.connection.notify("_vendor/note", {"n": 1})
        await editor.connection.notify("_vendor/unknown", {"n": 2})
        await editor.call("_vendor/plain", {})
        assert heard == [{"n": 1}]


def test_an_extension_has_an_underscore() -> None:
    agent = Agent("named")
    with pytest.raises(ValueError, match="_"):
        agent.on_request("vendor/method")
    with pytest.raises(ValueError, match="_"):
        agent.on_notification("session/cancel")


@pytest.mark.parametrize(
    "declared",
    [
        {"modes": [Mode("a", "A"), Mode("a", "B")]},
        {"options": [Toggle("a", "A"), Select("a", "B", ["c"])]},
        {"modes": [Mode("a", "A")], "options": [Toggle("mode", "A")]},
        {"logins": [Login("a", "A", log_in), Login("a", "B", log_in)]},
    ],
)
def test_what_is_declared_twice_is_refused(declared: Any) -> None:
    with pytest.raises(ValueError, match="declared twice"):
        Agent("named", **declared)


@pytest.mark.parametrize("name", ["", "/help", "two words", " help", "tab\tbed"])
def test_a_command_is_one_word(name: str) -> None:
    with pytest.raises(ValueError, match="one word"):
        Agent("named").command(name, "Does something")


def test_an_option_needs_choices_and_a_default_among_them() -> None:
    with pytest.raises(ValueError, match="choice"):
        Select("a", "A", [])
    with pytest.raises(ValueError, match="not one of its choices"):
        Select("a", "A", ["b"], default="c")

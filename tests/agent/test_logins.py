"""Logging in and out (A12)."""

import asyncio
from typing import Any

import pytest

from acpella.agent import EnvLogin, Login, TerminalLogin
from acpella.errors import AuthRequired
from agent.editor import agent_of, editing

pytestmark = pytest.mark.anyio

NEW = {"cwd": "/a", "mcpServers": []}


async def reply(turn: Any) -> str:
    return "in"


async def succeed() -> None:
    pass


async def refuse() -> None:
    raise AuthRequired("the browser was closed")


async def crash() -> None:
    raise RuntimeError("the token is 1234")


async def test_nothing_works_before_the_login() -> None:
    """R-051."""
    agent = agent_of(reply, store="memory", logins=[Login("key", "API key", succeed)])
    async with editing(agent) as editor:
        for method, params in (
            ("session/new", NEW),
            ("session/list", {}),
            ("session/load", {"sessionId": "sess_x", **NEW}),
            ("session/prompt", {"sessionId": "sess_x", "prompt": []}),
            ("_session/list", {}),
        ):
            error = await editor.fails(method, params)
            assert error.code == -32000, method
            assert error.data == {"authMethods": editor.hello["authMethods"]}
        await editor.cancel("sess_x")
        assert await editor.call("authenticate", {"methodId": "key"}) == {}
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_logging_in_twice_is_fine() -> None:
    """CodeCompanion and marimo call `authenticate` always."""
    calls: list[int] = []

    async def count() -> None:
        calls.append(1)

    async with editing(agent_of(reply, logins=[Login("key", "Key", count)])) as editor:
        for _ in range(3):
            assert await editor.call("authenticate", {"methodId": "key"}) == {}
        assert calls == [1]


async def test_logging_out_asks_for_a_login_again() -> None:
    """R-128."""
    out: list[str] = []
    agent = agent_of(reply, logins=[Login("key", "Key", succeed)])
    agent.on_logout(lambda: out.append("out"))
    async with editing(agent) as editor:
        await editor.call("authenticate", {"methodId": "key"})
        session = await editor.new()
        assert await editor.call("logout") == {}
        assert out == ["out"]
        assert (await editor.fails("session/new", NEW)).code == -32000
        assert (await editor.prompt_fails(session)).code == -32000
        await editor.call("authenticate", {"methodId": "key"})
        assert await editor.prompt(session) == "end_turn"


@pytest.mark.parametrize("run, code", [(refuse, -32000), (crash, -32603)])
async def test_a_login_that_fails_leaves_the_door_closed(run: Any, code: int) -> None:
    async with editing(agent_of(reply, logins=[Login("key", "Key", run)])) as editor:
        error = await editor.fails("authenticate", {"methodId": "key"})
        assert error.code == code
        assert "1234" not in str(error)
        assert (await editor.fails("session/new", NEW)).code == -32000


async def test_an_unknown_login_is_refused() -> None:
    async with editing(agent_of(reply, logins=[Login("key", "Key", succeed)])) as editor:
        error = await editor.fails("authenticate", {"methodId": "other"})
        assert error.code == -32602
        assert "key" in error.message


async def test_environment_variables_are_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    login = EnvLogin("env", "Keys", ["ACPELLA_TEST_A", "ACPELLA_TEST_B"], link="https://example.org")
    agent = agent_of(reply, logins=[login])
    async with editing(agent) as editor:
        assert editor.hello["authMethods"] == [
            {
                "id": "env",
                "name": "Keys",
                "type": "env_var",
                "link": "https://example.org",
                "vars": [{"name": "ACPELLA_TEST_A"}, {"name": "ACPELLA_TEST_B"}],
            }
        ]
        monkeypatch.setenv("ACPELLA_TEST_A", "1")
        error = await editor.fails("authenticate", {"methodId": "env"})
        assert error.code == -32000
        assert "ACPELLA_TEST_B" in error.message and "ACPELLA_TEST_A" not in error.message
        monkeypatch.setenv("ACPELLA_TEST_B", "2")
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert await editor.call("authenticate", {"methodId": "env"}) == {}


async def test_one_can_log_out_although_the_variables_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """C11: logout is advertised, so it does something."""
    monkeypatch.setenv("ACPELLA_TEST_A", "1")
    async with editing(agent_of(reply, logins=[EnvLogin("env", "Key", ["ACPELLA_TEST_A"])])) as editor:
        await editor.new()
        await editor.call("logout")
        assert (await editor.fails("session/new", NEW)).code == -32000
        await editor.call("authenticate", {"methodId": "env"})
        await editor.new()


async def test_a_terminal_login_is_shown_to_editors_that_can() -> None:
    """R-121, R-122."""

    def agent() -> Any:
        logins = [
            TerminalLogin("tty", "In a terminal", ["--login"], {"A": "b"}),
            Login("key", "Key", succeed),
        ]
        return agent_of(reply, logins=logins)

    async with editing(agent(), auth={"terminal": True}) as editor:
        assert editor.hello["authMethods"][0] == {
            "id": "tty",
            "name": "In a terminal",
            "type": "terminal",
            "args": ["--login"],
            "env": {"A": "b"},
        }
        assert (await editor.fails("authenticate", {"methodId": "tty"})).code == -32602
    async with editing(agent()) as editor:
        assert [method["id"] for method in editor.hello["authMethods"]] == ["key"]
        assert "In a terminal" not in editor.hello["_meta"]["auth_hint"]


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_an_agent_may_keep_its_credentials_itself(kind: str) -> None:
    known = False
    agent = agent_of(reply, logins=[Login("key", "Key", succeed)])
    if kind == "plain":
        agent.is_logged_in(lambda: known)
    else:

        @agent.is_logged_in
        async def check() -> bool:
            await asyncio.sleep(0)
            return known

    async with editing(agent) as editor:
        assert (await editor.fails("session/new", NEW)).code == -32000
        known = True
        session = await editor.new()
        assert await editor.prompt(session) == "end_turn"
        known = False
        assert (await editor.prompt_fails(session)).code == -32000


async def test_an_agent_without_logins_is_open_and_has_none_of_the_methods() -> None:
    async with editing(agent_of(reply)) as editor:
        assert (await editor.fails("authenticate", {"methodId": "key"})).code == -32601
        assert (await editor.fails("logout")).code == -32601
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_a_handler_may_ask_for_a_login() -> None:
    """R-051: the prompt itself may say so."""

    async def expired(turn: Any) -> None:
        raise AuthRequired("the key has expired")

    async with editing(agent_of(expired)) as editor:
        error = await editor.prompt_fails(await editor.new())
        assert (error.code, error.message) == (-32000, "the key has expired")

"""`_agent/mcp/list`, `add` and `remove` (C15), and what is advertised."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acpella.mcp.servers
from acpella.errors import InvalidParams, MethodNotFound, ResourceNotFound
from agent.editor import editing, opened
from mcp_servers.agents import PLAIN, agent_with_servers, alive, stdio, texts, until, url, use

pytestmark = pytest.mark.anyio


async def test_servers_are_added_listed_and_removed_while_the_session_runs(tmp_path: Path) -> None:
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path))
        one: Any = {"sessionId": session}
        assert await editor.call("_agent/mcp/list", one) == {"servers": []}
        added = await editor.call("_agent/mcp/add", {**one, "server": stdio(PLAIN, name="new")})
        assert added["server"]["name"] == "new" and added["server"]["status"] == "ready"
        assert added["server"]["transport"] == "stdio" and "echo" in added["server"]["tools"]
        assert await editor.call("_agent/mcp/list", one) == {"servers": [added["server"]]}
        pid = int(await texts(editor, session, "new__pid"))
        assert await editor.call("_agent/mcp/remove", {**one, "name": "new"}) == {}
        assert await editor.call("_agent/mcp/list", one) == {"servers": []}
        assert await use(editor, session, "tools") == []
        await until(lambda: not alive(pid))
        short = {"name": "short", "command": sys.executable, "args": [PLAIN]}  # no env
        await editor.call("_agent/mcp/add", {**one, "server": short})


async def test_a_server_of_the_session_can_be_removed_and_its_name_used_again(tmp_path: Path) -> None:
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        one: Any = {"sessionId": session}
        error = await editor.fails("_agent/mcp/add", {**one, "server": stdio(PLAIN)})
        assert isinstance(error, InvalidParams) and "of this name already" in error.message
        await editor.call("_agent/mcp/remove", {**one, "name": "srv"})
        await editor.call("_agent/mcp/add", {**one, "server": stdio(PLAIN)})
        assert await texts(editor, session, 'srv__echo {"text": "x"}') == "x"


async def test_a_server_can_be_removed_while_it_is_called(tmp_path: Path) -> None:
    started = tmp_path / "started"
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        asking = asyncio.create_task(editor.prompt(session, f'srv__wait {{"text": "{started}"}}'))
        await until(started.exists)
        await editor.call("_agent/mcp/remove", {"sessionId": session, "name": "srv"})
        assert await asking == "end_turn"
        assert editor.said() == "ToolError: MCP server srv was stopped during the call"
        assert await use(editor, session, "tools") == []


async def test_what_cannot_be_added_or_removed_is_told(tmp_path: Path) -> None:
    async with editing(agent_with_servers(allowed={"stdio"})) as editor:
        session = await editor.new(cwd=str(tmp_path))
        one: Any = {"sessionId": session}
        for server, words in (
            (stdio(PLAIN, "die"), "did not start: "),
            (url("http", "http://127.0.0.1:1/mcp"), "starts no MCP servers over http"),
            ({"name": "x"}, "as in session/new"),
            ({"name": "x", "command": 7}, "as in session/new"),
            ({"command": "true"}, "name must be"),
            ("text", "as in session/new"),
            ({"type": "acp", "name": "x", "serverId": "y"}, "not supported"),
        ):
            error = await editor.fails("_agent/mcp/add", {**one, "server": server})
            assert isinstance(error, InvalidParams) and words in error.message, server
        assert await editor.call("_agent/mcp/list", one) == {"servers": []}
        error = await editor.fails("_agent/mcp/remove", {**one, "name": "none"})
        assert isinstance(error, ResourceNotFound) and "there are: none" in error.message
        assert isinstance(await editor.fails("_agent/mcp/list", {}), InvalidParams)
        assert isinstance(await editor.fails("_agent/mcp/list", {"sessionId": "none"}), ResourceNotFound)
        await editor.prompt(session, "tools")
        assert "did not start" not in editor.said()  # who added it was told


async def test_the_servers_of_other_editors_are_out_of_reach(tmp_path: Path) -> None:
    agent = agent_with_servers()
    async with opened(agent) as other, editing(agent) as editor:
        session = await editor.new(cwd=str(tmp_path))
        for method in ("list", "add", "remove"):
            params = {"sessionId": session, "name": "x", "server": stdio(PLAIN)}
            assert isinstance(await other.fails(f"_agent/mcp/{method}", params), ResourceNotFound)


async def test_without_the_package_nothing_is_advertised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acpella.mcp.servers, "find_spec", lambda name: None)
    async with editing(agent_with_servers()) as editor:
        capabilities = editor.hello["agentCapabilities"].get("mcpCapabilities", {})
        assert not capabilities.get("http") and not capabilities.get("sse")
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        assert isinstance(await editor.fails("_agent/mcp/list", {"sessionId": session}), MethodNotFound)
        await editor.prompt(session, "tools")
        assert "install acpella[standard]" in editor.said()


async def test_with_the_package_all_transports_are_advertised() -> None:
    async with editing(agent_with_servers()) as editor:
        assert editor.hello["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": True}


def test_importing_the_bridge_imports_no_library() -> None:
    code = (
        "import sys, acpella.mcp, acpella.coder.resources, acpella.coder.mcp_tools\n"
        "print([name for name in ('mcp', 'httpx2', 'pydantic', 'anyio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

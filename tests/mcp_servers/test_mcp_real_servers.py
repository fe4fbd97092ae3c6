"""Real MCP servers: the official SDK's over each transport, `mcp-server-time`, `server-everything` (B9)."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.editor import editing
from mcp_servers.agents import PNG, SDK, agent_with_servers, stdio, texts, until, url, use

pytestmark = pytest.mark.anyio

PATIENCE = 60
EVERYTHING = (
    Path(__file__).parent.parent / "peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
)
NOTICES: Any = {"session": {"notices": {}}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def listening(port: int, *command: str, **env: str) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A server process that takes connections."""
    process = subprocess.Popen(  # noqa: ASYNC220 - a moment
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env}
    )
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    assert process.poll() is None, "the server did not start"
                    await asyncio.sleep(0.05)
        writer.close()
        yield process
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def our_server(kind: str) -> AsyncIterator[dict[str, Any]]:
    """The server of these tests over a transport, as `session/new` gives it."""
    if kind == "stdio":
        yield stdio(SDK)
        return
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    async with listening(port, sys.executable, SDK, kind, str(port)):
        yield url(kind, f"http://127.0.0.1:{port}/{path}", [("Authorization", "Bearer swordfish")])


@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_everything_a_tool_can_give_arrives(kind: str, tmp_path: Path) -> None:
    async with our_server(kind) as server, editing(agent_with_servers(), patience=PATIENCE) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
        tools = await use(editor, session, "tools")
        assert ["srv__echo", "claimed", "other", "mcp:srv:echo"] in tools
        assert await texts(editor, session, 'srv__echo {"text": "hi"}') == "hi"
        call = editor.updates("tool_call")[0]
        assert call["title"] == "srv: Say it back"
        done = editor.updates("tool_call_update")[-1]
        assert done["rawOutput"] == {"result": "hi"}

        picture = await use(editor, session, "srv__picture")
        assert picture[0]["type"] == "image" and picture[0]["mime_type"] == "image/png"
        shown = editor.updates("tool_call_update")[-1]["content"][0]["content"]
        assert shown["type"] == "image" and shown["data"] == picture[0]["data"]
        assert len(PNG) > 60

        told = await texts(editor, session, "srv__sound")
        assert "a sound, audio/wav" in told and "remember" in told and "[two](memo://2)" in told
        shown = [part["content"]["type"] for part in editor.updates("tool_call_update")[-1]["content"]]
        assert shown == ["audio", "resource", "resource_link"]

        assert '"one": 1' in await texts(editor, session, "srv__numbers")
        assert editor.updates("tool_call_update")[-1]["rawOutput"] == {"one": 1}

        assert (await texts(editor, session, "srv__fail")).startswith("ToolError: Error executing tool fail")
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"

        assert await texts(editor, session, 'srv__count {"to": 3}') == "counted"
        titles = [update["title"] for update in editor.updates("tool_call_update") if update.get("title")]
        assert titles[0] == "srv: count (1/3: step 1)" and titles[-1] == "srv: count"

        said = await texts(editor, session, 'srv__echo {"wrong": 1}')
        assert said.startswith("ToolError")


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_tools_that_a_server_learns_are_seen(kind: str, tmp_path: Path) -> None:
    async with our_server(kind) as server, editing(agent_with_servers(), patience=PATIENCE) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
        assert await texts(editor, session, 'srv__learn {"name": "juggle"}') == "learned"
        while "srv__juggle" not in [tool[0] for tool in await use(editor, session, "tools")]:
            pass
        assert await texts(editor, session, "srv__juggle") == "I am juggle"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_lost_connection_is_made_anew(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a busy machine may take longer to start the second server than users are made to wait
    monkeypatch.setattr("acpella.mcp.server.RECONNECT_TIMEOUT", PATIENCE)
    port = free_port()
    path = "mcp" if kind == "http" else "sse"
    command = [sys.executable, SDK, kind, str(port)]
    server = url(kind, f"http://127.0.0.1:{port}/{path}")
    async with editing(agent_with_servers(), patience=PATIENCE, **NOTICES) as editor:
        async with listening(port, *command):
            session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
            assert await texts(editor, session, 'srv__echo {"text": "one"}') == "one"
        async with listening(port, *command):
            said = await texts(editor, session, 'srv__echo {"text": "two"}')
            if said != "two":  # told honestly, as it may or may not have been called
                assert said.startswith("ToolError") and "anew" in said
                assert await texts(editor, session, 'srv__echo {"text": "two"}') == "two"


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    servers = [
        url("http", f"http://127.0.0.1:{free_port()}/mcp", [("Authorization", "Bearer swordfish")], "one"),
        url("sse", f"http://127.0.0.1:{free_port()}/sse", name="two"),
    ]
    async with editing(agent_with_servers(), patience=PATIENCE) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers)
        await editor.prompt(session, "tools")
        assert "MCP server one did not start" in editor.said()
        assert "MCP server two did not start" in editor.said()
        assert "swordfish" not in editor.said()


async def test_a_call_over_http_is_cancelled_with_the_turn(tmp_path: Path) -> None:
    started = tmp_path / "started"
    async with our_server("http") as server, editing(agent_with_servers(), patience=PATIENCE) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
        asking = asyncio.create_task(editor.prompt(session, f'srv__slow {{"started": "{started}"}}'))
        await until(started.exists)
        await editor.cancel(session)
        assert await asking == "cancelled"
        await until((tmp_path / "started.cancelled").exists)
        assert await texts(editor, session, 'srv__echo {"text": "on"}') == "on"


async def test_the_official_time_server_tells_the_time(tmp_path: Path) -> None:
    async with editing(agent_with_servers(), patience=PATIENCE) as editor:
        server = stdio("-m", "mcp_server_time", "--local-timezone", "UTC", name="time")
        session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
        said = await texts(editor, session, 'time__get_current_time {"timezone": "Europe/Zurich"}')
        assert "Europe/Zurich" in said
        said = await texts(editor, session, 'time__get_current_time {"timezone": "Nowhere"}')
        assert said.startswith("ToolError")


@pytest.mark.skipif(not EVERYTHING.exists() or not shutil.which("node"), reason="npm install in tests/peers")
@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
async def test_the_official_everything_server_works(kind: str, tmp_path: Path) -> None:
    node, port = shutil.which("node") or "node", free_port()

    @asynccontextmanager
    async def running() -> AsyncIterator[dict[str, Any]]:
        if kind == "stdio":
            yield {"name": "every", "command": node, "args": [str(EVERYTHING)], "env": []}
            return
        mode, path = ("streamableHttp", "mcp") if kind == "http" else ("sse", "sse")
        async with listening(port, node, str(EVERYTHING), mode, PORT=str(port)) as process:
            yield url(kind, f"http://127.0.0.1:{port}/{path}", name="every")
            process.send_signal(signal.SIGKILL)

    async with running() as server, editing(agent_with_servers(), patience=PATIENCE) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[server])
        assert await texts(editor, session, 'every__echo {"message": "hi"}') == "Echo: hi"
        assert "The sum of 2 and 3 is 5" in await texts(editor, session, 'every__get-sum {"a": 2, "b": 3}')
        image = await use(editor, session, "every__get-tiny-image")
        assert any(part["type"] == "image" for part in image)
        links = await texts(editor, session, 'every__get-resource-links {"count": 2}')
        assert links.count("](") >= 2
        structured = await texts(editor, session, 'every__get-structured-content {"location": "New York"}')
        assert "temperature" in structured
        assert isinstance(editor.updates("tool_call_update")[-1]["rawOutput"], dict)
        arguments = '{"duration": 0.3, "steps": 3}'
        said = await texts(editor, session, f"every__trigger-long-running-operation {arguments}")
        assert "completed" in said
        assert any("/3" in (update.get("title") or "") for update in editor.updates("tool_call_update"))

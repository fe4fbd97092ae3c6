"""MCP servers as processes: started with the session, restarted once, gone with it (B9)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acpella.mcp.servers
from agent.editor import editing
from mcp_servers.agents import PLAIN, agent_with_servers, alive, of_group, stdio, texts, until, use

pytestmark = pytest.mark.anyio

NOTICES: Any = {"session": {"notices": {}}}


async def test_tools_are_listed_page_by_page_and_called(tmp_path: Path) -> None:
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        tools = await use(editor, session, "tools")
        assert tools[0] == ["srv__echo", "claimed", "other", "mcp:srv:echo"]
        assert ["srv__crash", "execute", "other", "mcp:srv:crash"] in tools
        assert len(tools) == 12
        assert await texts(editor, session, 'srv__echo {"text": "grüß"}') == "grüß"
        call = editor.updates("tool_call")[0]
        assert (call["title"], call["name"]) == ("srv: echo", "srv__echo")
        assert "kind" not in call  # the server calls it harmless, but nobody here has checked
        assert editor.updates("tool_call_update")[-1]["status"] == "completed"
        shown = editor.updates("tool_call_update")[-1]["content"][0]["content"]
        assert shown == {"type": "text", "text": "grüß"}


async def test_names_are_valid_unique_and_short(tmp_path: Path) -> None:
    long = "long" * 30
    servers = [stdio(PLAIN, name=name) for name in ("a b", "a.b", "a_b", long, long + "er")]
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers)
        names = [tool[0] for tool in await use(editor, session, "tools")]
        assert len(set(names)) == len(names) == 60
        assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in names)
        assert "a_b__odd_name_" in names
        again = [tool[0] for tool in await use(editor, session, "tools")]
        assert again == names
        for name in (name for name in names if "echo" in name):
            assert await texts(editor, session, f'{name} {{"text": "x"}}') == "x"


async def test_a_server_sees_what_it_was_given_and_no_keys_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ours")
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN, env={"GIVEN": "a value"})])
        assert await texts(editor, session, 'srv__env {"text": "GIVEN"}') == "a value"
        assert await texts(editor, session, 'srv__env {"text": "ANTHROPIC_API_KEY"}') == "not set"
        assert await texts(editor, session, 'srv__env {"text": "PATH"}') == os.environ["PATH"]


async def test_a_server_is_told_the_roots_of_the_session(tmp_path: Path) -> None:
    other = tmp_path / "other"
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(
            cwd=str(tmp_path), additionalDirectories=[str(other)], mcpServers=[stdio(PLAIN)]
        )
        told = await texts(editor, session, "srv__roots")
        assert told == f"{tmp_path.as_uri()} {other.as_uri()}"


async def test_servers_that_fail_are_told_and_the_others_work(tmp_path: Path) -> None:
    servers = [
        stdio(PLAIN, "die", name="dying", env={"GIVEN": "swordfish"}),
        {"name": "missing", "command": "no-such-program-here", "args": [], "env": []},
        stdio(PLAIN, name="good"),
        stdio(PLAIN, name="good"),
        {"type": "acp", "name": "odd", "serverId": "1"},
        {"type": "http", "name": "scheme", "url": "ftp://x/", "headers": []},
    ]
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers)
        await editor.prompt(session, "tools")
        said = editor.said()
        assert "MCP server dying did not start" in said and "exited with code 3" in said
        assert "the disk is full" in said and "swordfish" not in said
        assert "command not found; is it installed" in said
        assert "MCP server good was not started" in said and "of this name already" in said
        assert "MCP server odd was not started" in said and "not supported" in said
        assert "http:// or https://" in said
        assert "good__echo" in said
        editor.forget()
        await editor.prompt(session, "tools")  # told once
        assert "did not start" not in editor.said()


async def test_failures_are_notices_where_the_editor_shows_them(tmp_path: Path) -> None:
    async with editing(agent_with_servers(), **NOTICES) as editor:
        await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN, "die")])
        await editor.until(lambda: editor.updates("notice"))  # without any prompt
        notice = editor.updates("notice")[0]
        assert notice["severity"] == "warning" and notice["title"] == "MCP server srv did not start"


async def test_a_silent_server_has_a_deadline_and_holds_nobody_up(tmp_path: Path) -> None:
    agent = agent_with_servers(start_timeout=0.5)
    async with editing(agent) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN, "silent")])
        await editor.prompt(session, "tools")
        assert "it was not ready after 0.5 seconds" in editor.said()


async def test_a_session_is_there_before_its_servers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acpella.mcp.servers, "QUIET_WAIT", 0.1)
    go = tmp_path / "go"
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN, "slow", str(go))])
        entry = (await editor.call("_agent/mcp/list", {"sessionId": session}))["servers"][0]
        assert entry["status"] == "starting"
        asking = asyncio.create_task(editor.prompt(session, "tools"))
        await editor.until_said("Waiting for MCP servers to start: srv")
        go.touch()
        await asking
        assert "srv__echo" in editor.said()


async def test_a_server_that_crashes_is_restarted_once(tmp_path: Path) -> None:
    servers = [stdio(PLAIN, env={"GIVEN": "swordfish"})]
    async with editing(agent_with_servers(), **NOTICES) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers)
        first = await texts(editor, session, "srv__pid")
        said = await texts(editor, session, "srv__crash")
        assert said.startswith("ToolError: MCP server srv crashed during the call")
        assert "exited with code 3" in said and "the disk is full" in said and "swordfish" not in said
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        second = await texts(editor, session, "srv__pid")  # waits for the new one
        assert second != first and not alive(int(first))
        said = await texts(editor, session, "srv__crash")
        assert "crashed during the call" in said
        await editor.until(lambda: [n for n in editor.updates("notice") if "stays off" in n["title"]])
        assert (await use(editor, session, "tools")) == []
        entry = (await editor.call("_agent/mcp/list", {"sessionId": session}))["servers"][0]
        assert entry["status"] == "failed" and "exited with code 3" in entry["error"]


async def test_a_killed_server_comes_back_without_a_call(tmp_path: Path) -> None:
    async with editing(agent_with_servers(), **NOTICES) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        pid = int(await texts(editor, session, "srv__pid"))
        editor.forget()
        os.kill(pid, signal.SIGKILL)
        await editor.until(lambda: editor.updates("notice"))
        assert "crashed and is restarted" in editor.updates("notice")[0]["title"]
        assert "SIGKILL" in editor.updates("notice")[0]["description"]
        assert int(await texts(editor, session, "srv__pid")) != pid


async def test_noise_and_garbage_do_no_harm(tmp_path: Path) -> None:
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        assert await texts(editor, session, "srv__noise") == "quiet again"
        assert (await texts(editor, session, "srv__garbage")).startswith("ToolError: MCP server srv")
        assert await texts(editor, session, 'srv__echo {"text": "still here"}') == "still here"


async def test_a_result_that_is_too_long_is_cut_for_the_model_and_for_the_user(tmp_path: Path) -> None:
    async with editing(agent_with_servers(), patience=30) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        long, image = await use(editor, session, "srv__much")
        assert len(long["text"]) < 100_100 and "more characters]" in long["text"]
        assert "left out: it is larger than 5 MiB" in image["text"]
        done = editor.updates("tool_call_update")[-1]
        assert "rawOutput" not in done
        long, image = [each["content"]["text"] for each in done["content"]]
        assert len(long) < 10 * 1024 * 1024 + 100 and "more characters]" in long
        assert image.startswith("[left out: content of")


def children() -> int:
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split())


async def test_starting_and_stopping_leaves_nothing_behind(tmp_path: Path) -> None:
    async with editing(agent_with_servers(), patience=30) as editor:
        counts: list[tuple[int, int]] = []
        for _ in range(4):
            session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
            await editor.prompt(session, "tools")
            await editor.call("session/close", {"sessionId": session})
            counts.append((len(os.listdir("/proc/self/fd")), children()))
        assert len(set(counts[1:])) == 1, counts


async def test_an_endless_list_and_an_endless_line_have_an_end(tmp_path: Path) -> None:
    servers = [stdio(PLAIN, "endless", name="list"), stdio(PLAIN, "flood", name="line")]
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers)
        await editor.prompt(session, "tools")
        assert "more than 33554432 bytes" in editor.said()
        assert '"list__t99"' in editor.said() and '"list__t100"' not in editor.said()


async def test_tools_that_an_older_server_learns_are_seen(tmp_path: Path) -> None:
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        assert await texts(editor, session, 'srv__learn {"text": "juggle"}') == "learned"
        while "srv__juggle" not in [tool[0] for tool in await use(editor, session, "tools")]:
            pass
        assert await texts(editor, session, 'srv__juggle {"text": "up"}') == "up"


async def test_a_call_has_a_deadline_and_a_cancelled_turn_cancels_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    agent = agent_with_servers(call_timeout=0.5)
    async with editing(agent) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        said = await texts(editor, session, f'srv__wait {{"text": "{one}"}}')
        assert "did not answer within 0.5 seconds" in said
        await until(lambda: Path(f"{one}.cancelled").exists())
    async with editing(agent_with_servers()) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=[stdio(PLAIN)])
        asking = asyncio.create_task(editor.prompt(session, f'srv__wait {{"text": "{two}"}}'))
        await until(two.exists)
        await editor.cancel(session)
        assert await asking == "cancelled"
        await until(lambda: Path(f"{two}.cancelled").exists())
        assert await texts(editor, session, 'srv__echo {"text": "going on"}') == "going on"


@pytest.mark.parametrize("how", ["close", "leave"])
async def test_a_session_takes_its_servers_and_their_children_with_it(tmp_path: Path, how: str) -> None:
    servers = [stdio(PLAIN), stdio(PLAIN, "stubborn", name="stubborn"), stdio(PLAIN, "silent", name="silent")]
    agent = agent_with_servers(start_timeout=1.0)
    async with editing(agent) as editor:
        session = await editor.new(cwd=str(tmp_path), mcpServers=servers[:2])
        pids = [
            int(await texts(editor, session, tool))
            for tool in ("srv__pid", "srv__child", "stubborn__pid", "stubborn__child")
        ]
        assert all(map(alive, pids))
        starting = await editor.new(cwd=str(tmp_path), mcpServers=servers[2:])
        if how == "close":
            await editor.call("session/close", {"sessionId": session})
            await editor.call("session/close", {"sessionId": starting})
            await until(lambda: not any(map(alive, pids)))
    await until(lambda: not any(map(alive, pids)))


async def test_servers_end_when_the_agent_is_killed(tmp_path: Path) -> None:
    """Even one that ignores the end of its input and SIGTERM, and its children."""
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
        "from mcp_servers.agents import agent_with_servers\nagent_with_servers().run()\n",
        encoding="utf-8",
    )
    agent = subprocess.Popen(  # noqa: ASYNC220 - a moment
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    stdin, stdout = agent.stdin, agent.stdout
    assert stdin and stdout

    def ask(number: int, method: str, params: Any) -> list[Any]:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()
        heard: list[Any] = []
        while not heard or heard[-1].get("id") != number:
            heard.append(json.loads(stdout.readline()))
        return heard

    def talk() -> int:
        ask(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        servers = [stdio(PLAIN, "stubborn")]
        session = ask(2, "session/new", {"cwd": str(tmp_path), "mcpServers": servers})[-1]["result"][
            "sessionId"
        ]
        prompt = [{"type": "text", "text": "srv__child"}]
        ask(3, "session/prompt", {"sessionId": session, "prompt": prompt})
        prompt = [{"type": "text", "text": "srv__pid"}]
        heard = ask(4, "session/prompt", {"sessionId": session, "prompt": prompt})
        said = "".join(
            each["params"]["update"]["content"]["text"]
            for each in heard
            if each.get("method") == "session/update"
            and each["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        )
        return int(json.loads(said)[0]["text"])

    try:
        pid = await asyncio.to_thread(talk)
        assert len(of_group(pid)) == 2
        agent.kill()
        await until(lambda: not of_group(pid))
    finally:
        agent.kill()
        agent.wait()
        stdin.close()
        stdout.close()

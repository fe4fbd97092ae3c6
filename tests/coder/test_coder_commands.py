"""Slash commands, the offline model, and the command line of the agent."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from acpella.coder import agent as coding_agent
from acpella.coder.tools.find import glob_matcher
from agent.editor import editing
from coder.fake_provider import FakeProvider
from coder.harness import AGENT, cli, connected, environment, told, tool_names, use, uses

pytestmark = pytest.mark.anyio


async def test_commands_are_announced_with_hints(project: Path, home: Path) -> None:
    """C22"""
    ran = await cli(project, environment(home), "--list-commands")
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines] == ["/help", "/model", "/mode", "/clear", "/compact"]
    assert "full, read-only, safe or sandbox" in lines[2]


async def test_commands_are_answered_without_the_model(project: Path, home: Path) -> None:
    async with FakeProvider([]) as provider, connected(environment(home, provider)) as agent:
        session = await agent.new_session(project)
        said = (await session.prompt("/help")).text
        assert "`/compact`" in said and "Mode: `full`. Model: `anthropic:test`." in said
        assert "Did you mean `/mode`?" in (await session.prompt("/mod sandbox")).text
        assert provider.requests == []


async def test_a_path_is_no_command(project: Path, home: Path) -> None:
    async with FakeProvider(["It is a file."]) as provider:
        ran = await cli(project, environment(home, provider), "/etc/hosts looks wrong")
    assert ran.out == "It is a file.\n"


async def test_without_a_key_the_offline_model_works_and_says_what_it_is(project: Path, home: Path) -> None:
    """E8: the first five minutes."""
    ran = await cli(project, environment(home), "--write", 'replace "helo" by "hello" in greet.py')
    assert ran.code == 0 and "This is the offline model" in ran.out and '+     return "hello"' in ran.out
    assert "hello" in (project / "greet.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments, hint",
    [
        (["--model", "anthropic:claude-x"], "ANTHROPIC_API_KEY"),
        (["--model", "nonsense"], "names no model"),
        (["--mode", "nonsense"], "read-only, safe, sandbox"),
        (["--max-turns", "0"], "from 1 on"),
    ],
)
async def test_what_cannot_work_is_told_at_once(home: Path, arguments: list[str], hint: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *AGENT,
        *arguments,
        env=environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 2 and out == b"" and hint in err.decode()


async def test_starting_loads_no_http_and_no_mcp(home: Path) -> None:
    code = (
        "import sys; import acpella.coder; acpella.coder.agent(store='memory'); "
        "print([name for name in ('httpx2', 'mcp', 'rich', 'starlette') if name in sys.modules])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=environment(home), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 30)
    assert out == b"[]\n"


async def test_compaction_is_shown_to_editors_that_can(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-244"""
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    agent = coding_agent(model="offline", store="memory")
    async with editing(agent, session={"compaction": {}}) as editor:
        session = await editor.new(cwd=str(project))
        await editor.prompt(session, "list")
        await editor.prompt(session, "/compact")
        steps = editor.updates("compaction_update")
    assert [step["status"] for step in steps] == ["in_progress", "completed"]
    assert "list" in steps[-1]["summary"][0]["text"]


async def test_the_tools_can_be_asked_for(home: Path) -> None:
    """C19: `_agent/tools`"""
    async with connected(environment(home)) as agent:
        answer: Any = await agent.extension("_agent/tools", {})
    assert {"read_file", "edit_file", "run", "delegate"} <= {tool["name"] for tool in answer["tools"]}


@pytest.mark.parametrize(
    "pattern, path, matches",
    [
        ("*.py", "a/b/c.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**", "src/a/b", True),
        ("**/test_*.{py,pyi}", "tests/test_a.pyi", True),
        ("[ab].txt", "c.txt", False),
        ("*" + "a*" * 40 + "b", "a" * 200, False),  # must not take for ever
    ],
)
async def test_globs(pattern: str, path: str, matches: bool) -> None:
    assert glob_matcher(pattern)(path) is matches


async def test_mcp_tools_are_asked_for_and_off_where_nothing_may_run(project: Path, home: Path) -> None:
    """B9: a real server, through the command line."""
    server = f"try={sys.executable} {Path(__file__).parents[1] / 'mcp_servers' / 'sdk_server.py'}"
    both = uses(("try__numbers", {}), ("try__echo", {"text": "says the server"}))
    async with FakeProvider([both, "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--yolo", "--mcp", server, "-o", "jsonl", "go")
    assert ran.code == 0 and {"try__numbers", "try__echo"} <= set(tool_names(provider))
    titles = [asked["toolCall"]["title"] for asked in ran.asked("session/request_permission")]
    assert titles == ["try: numbers"]  # the other says that it changes nothing
    assert "says the server" in told(provider)
    async with FakeProvider([both, "Done."]) as provider:
        await cli(project, environment(home, provider), "--yolo", "--mcp", server, "--mode", "sandbox", "go")
    assert "try__numbers" not in tool_names(provider) and "says the server" in told(provider)
    assert "try__numbers works outside of the sandbox" in told(provider)


@pytest.mark.parametrize("mode", ["read-only", "safe", "sandbox"])
async def test_what_a_server_calls_harmless_is_asked_for_where_a_mode_promises_it(
    project: Path, home: Path, mode: str
) -> None:
    """B5, B9: only the server says that its tool changes nothing; in `full` that is enough."""
    server = f"try={sys.executable} {Path(__file__).parents[1] / 'mcp_servers' / 'sdk_server.py'}"
    turns = [use("try__echo", text="says the server"), "Done."]
    async with FakeProvider(turns) as provider:
        ran = await cli(project, environment(home, provider), "--mcp", server, "--mode", mode, "go")
    assert "refused: try: Say it back" in ran.err and "the user refused" in told(provider)
    async with FakeProvider(turns) as provider:
        env = environment(home, provider)
        ran = await cli(project, env, "--mcp", server, "--mode", mode, "go", agent=("--auto-approve",))
    assert "refused" not in ran.err and told(provider) == "says the server"


async def test_mcp_servers_are_added_and_removed_while_the_session_runs(project: Path, home: Path) -> None:
    """C15"""
    program = str(Path(__file__).parents[1] / "mcp_servers" / "sdk_server.py")
    server = {"name": "late", "command": sys.executable, "args": [program]}
    async with FakeProvider(["One.", use("late__echo", text="hello"), "Two.", "Three."]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            call: Any = agent.call
            assert await call("_agent/mcp/list", {"sessionId": session.id}) == {"servers": []}
            await session.prompt("before")
            await call("_agent/mcp/add", {"sessionId": session.id, "server": server})
            await session.prompt("with it")
            await call("_agent/mcp/remove", {"sessionId": session.id, "name": "late"})
            await session.prompt("after")
    assert ["late__echo" in tool_names(provider, n) for n in range(4)] == [False, True, True, False]
    assert told(provider, 2) == "hello"


async def test_fetch_asks_and_refuses_private_addresses(project: Path, home: Path) -> None:
    async with FakeProvider([]) as provider:
        page = {"body": "<html>never</html>", "type": "text/html"}
        provider.turns += [use("fetch", url=f"{provider.url}/v1/models"), {"text": "Done."}, page]
        ran = await cli(project, environment(home, provider), "--yolo", "-o", "jsonl", "fetch it")
        assert len(ran.asked("session/request_permission")) == 1
        (answer,) = provider.requests[-1].body["messages"][-1]["content"]
        assert answer["is_error"] and len(provider.requests) == 2
        (call,) = ran.calls("fetch")
        assert call["kind"] == "fetch"
    async with FakeProvider([]) as provider:
        provider.turns += [use("fetch", url=f"{provider.url}/v1/models"), {"text": "Done."}]
        env = {**environment(home, provider), "ACPELLA_FETCH_PRIVATE": "1"}
        await cli(project, env, "--yolo", "fetch it")
        assert '"data"' in provider.requests[-1].body["messages"][-1]["content"][0]["content"][0]["text"]

"""A12, FIELD-NOTES 11: every way to log in at an agent, with agents that are processes."""

import asyncio
import os
import pty
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from scripting import Script

from acpella.cli.terminal.mirror import Mirror
from acpella.client import AgentServer, ClientSettings, TerminalCommand, connect, read_recording
from acpella.errors import AuthRequired, Unsupported
from acpella.recording.channel import RecordedChannel
from acpella.transport import ProcessChannel

pytestmark = pytest.mark.anyio

GATED = """
marker = sys.argv[1]
if "--login" in sys.argv:
    open(marker, "w").write(os.environ.get("HOW", ""))
    sys.exit(int(os.environ.get("FAIL", "0")))

def new(request):
    if os.path.exists(marker):
        answer(request, {"sessionId": SESSION})
    else:
        refuse(request, -32000, "Authentication required")

def authenticate(request):
    open(marker, "w").write(request["params"]["methodId"])
    answer(request, None)

def prompt(request):
    say(open(marker).read())
    return "end_turn"

methods = [
    {"id": "plain", "name": "Plain"},
    {"id": "term", "name": "In a terminal", "type": "terminal", "args": ["--login"], "env": {"HOW": "spec"}},
    {"id": "bad", "name": "Bad", "type": "terminal", "args": ["--login"], "env": {"FAIL": "5"}},
    {"id": "meta", "name": "Meta",
        "_meta": {"type": "terminal", "args": ["--login"], "env": {"HOW": "meta"}}},
    {"id": "own", "name": "Own", "_meta": {"terminal-auth": {"command": sys.executable,
        "args": [sys.argv[0], marker, "--login"], "env": {"HOW": "own"}, "label": "Sign in"}}},
]
serve(prompt, hello={"authMethods": methods}, more={"session/new": new, "authenticate": authenticate})
"""


async def run_quietly(login: TerminalCommand) -> int | None:
    """What a terminal would do."""
    process = await asyncio.create_subprocess_exec(*login.command, env={**os.environ, **login.env})
    return await process.wait()


@pytest.fixture
def gated(script: Script, tmp_path: Path) -> list[str]:
    return script(GATED, str(tmp_path / "logged-in"))


async def test_an_agent_that_logs_in_by_itself_is_told_to(gated: list[str], project: Path) -> None:
    async with asyncio.timeout(20), connect(gated) as agent:
        with pytest.raises(AuthRequired, match=r"agent1.py wants you to log in first with one of: plain"):
            await agent.new_session(project)
        await agent.authenticate("plain")
        assert (await (await agent.new_session(project)).prompt("hi")).text == "plain"
        with pytest.raises(ValueError, match="no login 'other'; there are: plain, term"):
            await agent.authenticate("other")


@pytest.mark.parametrize("method, how", [("term", "spec"), ("meta", "meta"), ("own", "own")])
async def test_a_login_in_a_terminal_runs_and_the_agent_starts_again(
    gated: list[str], project: Path, method: str, how: str
) -> None:
    """R-122, R-123: never through `authenticate`; success means a new connection"""
    shown: list[TerminalCommand] = []

    async def run(login: TerminalCommand) -> int | None:
        shown.append(login)
        return await run_quietly(login)

    async with asyncio.timeout(20), connect(gated) as agent:
        before = agent.connection
        await agent.authenticate(method, run=run)
        assert agent.connection is not before
        assert (await (await agent.new_session(project)).prompt("hi")).text == how
    assert list(shown[0].command)[-1] == "--login"
    assert shown[0].label == ("Sign in" if method == "own" else shown[0].label)


async def test_a_login_that_fails_is_told(gated: list[str]) -> None:
    async with asyncio.timeout(20), connect(gated) as agent:
        with pytest.raises(AuthRequired, match="the login 'Bad' ended with code 5"):
            await agent.authenticate("bad", run=run_quietly)

        async def closed(login: TerminalCommand) -> None: ...

        with pytest.raises(AuthRequired, match="the login 'In a terminal' was given up"):
            await agent.authenticate("term", run=closed)
        assert agent.info is None, "the connection still stands"


async def test_arguments_of_a_login_may_replace_the_agents_own(gated: list[str]) -> None:
    shown: list[TerminalCommand] = []

    async def run(login: TerminalCommand) -> int:
        shown.append(login)
        return 1

    async with asyncio.timeout(20), connect(gated) as agent:
        for replace in (False, True):
            with pytest.raises(AuthRequired):
                await agent.authenticate("term", run=run, replace_args=replace)
    assert [list(login.command) for login in shown] == [[*gated, "--login"], [gated[0], "--login"]]


async def test_a_login_runs_where_and_as_the_agent_does(gated: list[str], tmp_path: Path) -> None:
    """R-123: the same program and base configuration; what the login names wins"""
    settings = ClientSettings(
        {"gated": AgentServer(gated[0], gated[1:], {"FROM": "settings", "HOW": "settings"})}
    )
    shown: list[TerminalCommand] = []

    async def run(login: TerminalCommand) -> int:
        shown.append(login)
        return 1

    agent = connect("gated", settings=settings, env={"MORE": "given"}, cwd=tmp_path)
    async with asyncio.timeout(20), agent:
        with pytest.raises(AuthRequired):
            await agent.authenticate("term", run=run)
    assert dict(shown[0].env) == {"FROM": "settings", "HOW": "spec", "MORE": "given"}
    assert shown[0].cwd == str(tmp_path)


async def test_without_a_terminal_the_command_is_named(
    gated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open(encoding="utf-8") as nothing:  # noqa: ASYNC230 - a device
        monkeypatch.setattr(sys, "stdin", nothing)
        async with asyncio.timeout(20), connect(gated) as agent:
            with pytest.raises(Unsupported, match="needs a terminal; run it in one: .*--login"):
                await agent.authenticate("term")


def test_in_a_terminal_the_login_is_shown_there(gated: list[str], project: Path, tmp_path: Path) -> None:
    """The default: the login gets this program's own terminal"""
    program = tmp_path / "client.py"
    program.write_text(
        "import acpella, asyncio, json, sys\n"
        "async def main():\n"
        "    async with acpella.connect(json.loads(sys.argv[1])) as agent:\n"
        "        await agent.authenticate('term')\n"
        "        print((await (await agent.new_session(sys.argv[2])).prompt('hi')).text)\n"
        "asyncio.run(main())\n",
        encoding="utf-8",
    )
    import json

    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the child
        os.execv(sys.executable, [sys.executable, str(program), json.dumps(gated), str(project)])
    said = b""
    try:
        while data := os.read(terminal, 4096):
            said += data
    except OSError:
        pass  # how a terminal ends on Linux
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said.decode()
    assert said.decode().split() == ["spec"]


ENVIRONMENT = """
def authenticate(request):
    if os.environ.get("KEY"):
        answer(request, {})
    else:
        refuse(request, -32000, "no KEY")

def prompt(request):
    say(os.environ.get("KEY", "none") + os.environ.get("OTHER", ""))
    return "end_turn"

methods = [{"id": "env", "name": "By key", "type": "env_var",
    "vars": [{"name": "KEY"}, {"name": "MAYBE", "optional": True}]}]
more = {"authenticate": authenticate} if len(sys.argv) == 1 else {}
serve(prompt, hello={"authMethods": methods}, more=more)
"""


@pytest.mark.parametrize("knows_authenticate", [True, False])
async def test_a_login_by_variables_starts_the_agent_with_them(
    script: Script, project: Path, knows_authenticate: bool
) -> None:
    command = script(ENVIRONMENT, *([] if knows_authenticate else ["silent"]))
    async with asyncio.timeout(20), connect(command, env={"OTHER": " kept"}) as agent:
        with pytest.raises(ValueError, match="the login 'By key' needs KEY; give them with env="):
            await agent.authenticate("env")
        await agent.authenticate("env", env={"KEY": "k1"})
        assert (await (await agent.new_session(project)).prompt("hi")).text == "k1 kept"


async def test_an_agent_in_this_process_offers_no_terminal_login(tmp_path: Path) -> None:
    """R-124: only what can be started again from here"""
    from acpella import Agent

    here = Agent("here")

    @here.on_prompt
    async def reply(turn: Any) -> None: ...

    frames = tmp_path / "frames"
    async with asyncio.timeout(20), connect(here, record=frames):
        pass
    (conversation,) = read_recording(frames)
    hello = next(frame.message for frame in conversation if frame.direction == "out")
    assert not hello["params"]["clientCapabilities"]["auth"].get("terminal")


async def test_a_login_in_a_terminal_through_a_channel_that_wraps_another(
    gated: list[str], project: Path, tmp_path: Path
) -> None:
    """As `run -o jsonl` does: what the inner channel knows of its process is known through the outer ones."""
    frames = BytesIO()
    channel = Mirror(RecordedChannel(ProcessChannel(gated), tmp_path / "frames.jsonl", agent="gated"), frames)
    async with asyncio.timeout(20), connect(channel) as agent:
        assert agent.pid is not None and agent.identity.endswith(gated[-1])
        assert b'"auth":{"terminal":true}' in frames.getvalue()
        with pytest.raises(Unsupported, match="cannot be started again from here; connect to it again"):
            await agent.authenticate("term", run=run_quietly)
    async with asyncio.timeout(20), connect(gated) as agent:  # so it was done
        assert (await (await agent.new_session(project)).prompt("hi")).text == "spec"

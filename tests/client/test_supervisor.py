"""A9: agents that die are started again, with their sessions."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from scripting import Script

from acpella.client import Restarts, Supervisor
from acpella.errors import ConnectionClosed, TransportError
from acpella.schema import McpServerStdio

pytestmark = pytest.mark.anyio

QUICK = Restarts(budget=2, window=60, first_delay=0.01)

PROGRAM = """
import os, acpella
agent = acpella.Agent("mortal", store={store!r})

@agent.on_prompt
async def reply(turn):
    if turn.text == "die":
        os._exit(3)
    turn.session.state["count"] = turn.session.state.get("count", 0) + 1
    yield f"{{os.getpid()}} {{turn.session.state['count']}}"

agent.run()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    path = tmp_path / "mortal.py"
    path.write_text(PROGRAM.format(store=str(tmp_path / "sessions.db")), encoding="utf-8")
    return path


async def test_a_session_goes_on_after_its_agent_died(program: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(30), Supervisor(restarts=QUICK) as agents:
        agent = agents.start("mortal", program)
        session = await agent.new_session(tmp_path)
        first = (await (await session.prompt("hi"))).text.split()
        with pytest.raises(ConnectionClosed, match="exited with code 3"):
            await (await session.prompt("die"))
        again = (await (await session.prompt("hi"))).text.split()
        assert again[0] != first[0], "another process"
        assert (first[1], again[1]) == ("1", "2"), "the same session"
        assert agent.restarts == 1


async def test_kill_9_between_turns_is_survived(program: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(30), Supervisor(restarts=QUICK) as agents:
        agent = agents.start("mortal", program)
        session = await agent.new_session(tmp_path)
        pid = int((await (await session.prompt("hi"))).text.split()[0])
        died = asyncio.Event()
        agent._on_change = lambda a: died.set()  # type: ignore[attr-defined]
        os.kill(pid, signal.SIGKILL)
        await died.wait()
        assert (await (await session.prompt("hi"))).text.split()[1] == "2"


async def test_an_agent_that_keeps_dying_is_given_up(tmp_path: Path) -> None:
    states: list[str] = []
    async with (
        asyncio.timeout(30),
        Supervisor(restarts=QUICK, on_change=lambda a: states.append(a.state)) as agents,
    ):
        agent = agents.start("hopeless", [sys.executable, "-c", "raise SystemExit(5)"])
        for _ in range(2):  # the error is stable
            with pytest.raises(TransportError, match="hopeless died 3 times within 60 s") as caught:
                await agent.ready()
            assert "exited with code 5" in str(caught.value)
    assert states == ["waiting", "waiting", "failed"]


async def test_agents_are_independent(program: Path, tmp_path: Path) -> None:
    """A10"""
    async with asyncio.timeout(30), Supervisor(restarts=QUICK) as agents:
        agents.start("bad", [sys.executable, "-c", "raise SystemExit(5)"])
        good = agents.start("good", program)
        session = await good.new_session(tmp_path)
        assert (await (await session.prompt("hi"))).stop_reason == "end_turn"
        with pytest.raises(ValueError, match="there is an agent 'good' already"):
            agents.start("good", program)
    assert good.state == "stopped"
    with pytest.raises(TransportError, match="good was stopped"):
        await good.ready()


KEEPS = """
def prompt(request):
    if "die" in json.dumps(request):
        os._exit(3)
    update("agent_message_chunk", content={"type": "text", "text": opened})
    answer(request, {"stopReason": "end_turn"})
    update("session_info_update", title="after the turn")

opened = "new"

def opens(request):
    global opened
    opened = request["method"] + " " + ",".join(s["name"] for s in request["params"]["mcpServers"])
    if request["method"] == "session/load":
        update("user_message_chunk", content={"type": "text", "text": "replayed"})
    answer(request, {})

serve(prompt, hello={"agentCapabilities": json.loads(sys.argv[1])},
    more={"session/load": opens, "session/resume": opens})
"""


@pytest.mark.parametrize(
    "capabilities, said",
    [
        ('{"loadSession": true}', "session/load tools"),
        ('{"loadSession": true, "sessionCapabilities": {"resume": {}}}', "session/resume tools"),
    ],
)
async def test_a_session_is_resumed_or_loaded_with_all_it_had(
    script: Script, tmp_path: Path, capabilities: str, said: str
) -> None:
    servers = [McpServerStdio(name="tools", command="/bin/true", args=[], env=[])]
    heard: list[str] = []
    told = asyncio.Event()

    def hear(update: Any) -> None:
        heard.append(type(update).__name__)
        told.set()

    async with asyncio.timeout(30), Supervisor(restarts=QUICK) as agents:
        agent = agents.start("keeps", script(KEEPS, capabilities))
        session = await agent.new_session(tmp_path, mcp_servers=servers)
        session.current.on_update = hear
        with pytest.raises(ConnectionClosed, match="exited with code 3"):
            await (await session.prompt("die"))
        assert (await (await session.prompt("hi"))).text == said
        await told.wait()
    assert heard == ["SessionInfoUpdate"], "still heard, and the replay is not news"


async def test_a_session_that_cannot_be_opened_again_is_lost(script: Script, tmp_path: Path) -> None:
    async with asyncio.timeout(30), Supervisor(restarts=QUICK) as agents:
        agent = agents.start("forgets", script(KEEPS, "{}"))
        session = await agent.new_session(tmp_path)
        with pytest.raises(ConnectionClosed):
            await (await session.prompt("die"))
        for _ in range(2):
            with pytest.raises(TransportError, match="was restarted and keeps no sessions"):
                await session.prompt("hi")
        fresh = await agent.new_session(tmp_path)
        assert (await (await fresh.prompt("hi"))).text == "new"


def test_delays_grow_and_stay_bounded() -> None:
    limits = Restarts(first_delay=1, longest_delay=10)
    for count, longest in enumerate([1, 2, 4, 8, 10, 10]):
        assert longest / 2 <= limits.delay(count) <= longest

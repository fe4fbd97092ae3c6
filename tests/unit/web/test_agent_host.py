"""The agent that pages share: what happens when several of them come back at the same moment."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from acpella import Agent, Turn
from acpella.errors import RpcError
from acpella.rpc.relay import read_frame
from acpella.server.agent_factories import AgentFactory, CommandFactory, InProcessFactory
from acpella.sessions import MemoryStore
from acpella.web.shared import agent_host
from acpella.web.shared.about import About
from acpella.web.shared.agent_host import AgentHost
from acpella.web.shared.records import SessionRecords
from acpella.web.shared.session import SharedPrompt, SharedSession
from acpella.web.shared.viewer import Viewer

pytestmark = pytest.mark.anyio


class Page:
    """Knows whether its prompt was answered."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def received(self, data: bytes) -> None:
        if read_frame(data.strip()).kind == "response":
            self.answered.set()

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: Exception) -> None: ...


def make_agent() -> Agent:
    agent = Agent("echo", store=MemoryStore())

    @agent.on_prompt
    async def answer(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


def make_host(agent: Agent | AgentFactory, directory: Path) -> AgentHost:
    return AgentHost(
        InProcessFactory(agent) if isinstance(agent, Agent) else agent,
        "mira",
        About(cwd=str(directory)),
        records=SessionRecords(),
        on_change=lambda session: None,
    )


def prompt(page: Page, session_id: str, text: str) -> SharedPrompt:
    params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    message = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params}
    return SharedPrompt(read_frame(msgspec.json.encode(message)), Viewer(page, "mira", frozenset()))


def events(session: SharedSession) -> list[dict[str, Any]]:
    return [msgspec.json.decode(event) for event in session.log.after(0, 1_000_000)[1]]


def said(session: SharedSession) -> list[str]:
    """What people and the agent said, in the order of the log."""
    texts: list[str] = []
    for event in events(session):
        if event["k"] == "prompt":
            texts += [block["text"] for block in event["prompt"]]
        elif event["k"] == "update" and "text" in (event["update"].get("content") or {}):
            texts.append(event["update"]["content"]["text"])
    return texts


DIES = """
import json, sys
request = json.loads(sys.stdin.readline())
result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))
"""


async def test_nobody_waits_for_an_agent_that_is_gone(tmp_path: Path) -> None:
    host = make_host(CommandFactory([sys.executable, "-c", DIES]), tmp_path)
    page = Page()
    async with asyncio.timeout(60):
        await host.ready()
        for _ in range(2):  # it dies meanwhile; then it is gone
            with pytest.raises(RpcError):
                await host.call("session/list", {})
        frame = prompt(page, "s", "hello").frame
        host.pass_on(frame, lambda response: page.received(response.data))
        await page.answered.wait()
    await host.close()


SLOW_TO_END = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
time.sleep(0.5)
"""


async def test_the_end_of_an_agent_that_was_let_go_is_not_that_of_the_next_one(tmp_path: Path) -> None:
    host = make_host(CommandFactory([sys.executable, "-c", SLOW_TO_END]), tmp_path)
    async with asyncio.timeout(60):
        await host.ready()
        host.rest()
        await host.ready()
        for _ in range(3):
            assert await host.call("session/list", {})
    await host.close()


async def talk(host: AgentHost, session: SharedSession, text: str) -> None:
    """Send a prompt, and wait until its turn is over."""
    page = Page()
    host.prompt(session, prompt(page, session.id, text))
    async with asyncio.timeout(30):
        await page.answered.wait()


@pytest.fixture
async def earlier(tmp_path: Path) -> tuple[Agent, str]:
    """An agent with a session of a server that is gone."""
    agent = make_agent()
    host = make_host(agent, tmp_path)
    await host.ready()
    made = await host.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
    session = host.new_session(made["sessionId"], cwd=str(tmp_path))
    session.is_open = True
    await talk(host, session, "one")
    await host.close()
    return agent, session.id


@pytest.mark.parametrize("rounds", range(12))
async def test_nobody_meets_an_agent_that_has_not_said_what_it_can_do(rounds: int, tmp_path: Path) -> None:
    host = make_host(make_agent(), tmp_path)
    first = asyncio.ensure_future(host.ready())
    for _ in range(rounds):
        await asyncio.sleep(0)
    await host.ready()
    assert host.capabilities["loadSession"] is True
    await first
    await host.close()


@pytest.mark.parametrize("rounds", range(12))
async def test_a_session_that_two_pages_open_is_told_once(
    rounds: int, earlier: tuple[Agent, str], tmp_path: Path
) -> None:
    agent, session_id = earlier
    host = make_host(agent, tmp_path)
    session = host.session(session_id)
    first = asyncio.ensure_future(host.reopen(session, replay=True))
    for _ in range(rounds):
        await asyncio.sleep(0)
    await host.reopen(session, replay=session.log.last == 0)
    await first
    assert said(session) == ["one", "You said: one"]
    await host.close()


@pytest.mark.parametrize("rounds", range(12))
async def test_a_prompt_waits_until_a_session_was_opened(
    rounds: int, earlier: tuple[Agent, str], tmp_path: Path
) -> None:
    agent, session_id = earlier
    host = make_host(agent, tmp_path)
    session = host.session(session_id)
    opening = asyncio.ensure_future(host.reopen(session, replay=True))
    for _ in range(rounds + 1):  # at first there is nothing yet that could wait
        await asyncio.sleep(0)
    await talk(host, session, "two")
    await opening
    assert said(session) == ["one", "You said: one", "two", "You said: two"]
    await host.close()


LONG = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
    elif message.get("method") == "long":
        say(id=message["id"], result="x" * 5000)
    elif message.get("method") == "question":
        asked = message["id"]
        say(id="w", method="fs/write_text_file", params={"sessionId": "s", "content": "x" * 5000})
    else:
        say(id=asked, result=message["error"]["code"])
"""


async def test_messages_that_are_too_long_leave_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without an end filled the memory."""
    monkeypatch.setattr(agent_host, "MAX_MESSAGE", 1000)
    file = tmp_path / "long.py"
    file.write_text(LONG, encoding="utf-8")
    host = make_host(CommandFactory([sys.executable, str(file)]), tmp_path)
    try:
        async with asyncio.timeout(60):
            await host.ready()
            with pytest.raises(RpcError, match="could not be read"):
                await host.call("long", {})
            assert await host.call("question", {}) == -32600
    finally:
        await host.close()


UNREADABLE = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
    elif message.get("method") == "question":
        asked = message["id"]
        say(id="w", method="session/request_permission", params={"sessionId": "s", "rawInput": float("nan")})
    elif "method" in message:
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"\\xff"}}\\n')
        sys.stdout.flush()  # and what is not UTF-8 in a place that is looked at
        value = "[" * 100_000 if message["method"] == "deep" else "NaN"
        print('{"jsonrpc":"2.0","id":%d,"result":{"_meta":%s}}' % (message["id"], value), flush=True)
    else:
        say(id=asked, result=message["error"]["code"])
"""


async def test_messages_that_cannot_be_read_leave_nobody_waiting(tmp_path: Path) -> None:
    """They were skipped as lines that are not messages: the page waited for ever, and so did the agent."""
    file = tmp_path / "unreadable.py"
    file.write_text(UNREADABLE, encoding="utf-8")
    host = make_host(CommandFactory([sys.executable, str(file)]), tmp_path)
    try:
        async with asyncio.timeout(60):
            await host.ready()
            with pytest.raises(RpcError, match="the answer could not be read: it is not JSON"):
                await host.call("nan", {})
            with pytest.raises(RpcError, match="the answer could not be read"):
                await host.call("deep", {})
            assert await host.call("question", {}) == -32600
    finally:
        await host.close()


SILENT = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


async def test_an_agent_that_does_not_open_a_session_again_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_host, "OPEN_SECONDS", 0.1)
    file = tmp_path / "silent.py"
    file.write_text(SILENT, encoding="utf-8")
    host = make_host(CommandFactory([sys.executable, str(file)]), tmp_path)
    try:
        async with asyncio.timeout(60):
            session = host.session("s")
            with pytest.raises(RpcError, match="did not answer session/load within"):
                await host.reopen(session, replay=True)
            assert session.opening is None
    finally:
        await host.close()

"""Our client with the remote transports of the official SDKs: new, prompt, permission, cancel, load."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import acpella
from acpella.client import ConnectedAgent
from acpella.schema import AgentMessageChunk, TextContent

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def address(official_server: list[str]) -> Iterator[str]:
    """Where an official server listens."""
    process = subprocess.Popen(official_server, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(params=["http", "ws"])
def url(request: pytest.FixtureRequest, address: str) -> str:
    return f"{request.param}://{address}/acp"


def heard_text(updates: list[object]) -> str:
    return "".join(
        update.content.text
        for update in updates
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
    )


async def test_a_prompt_streams_its_updates_in_order(url: str, tmp_path: Path) -> None:
    """T-023, T-043: the answer and the updates come on a stream that is opened after `session/new`."""
    async with asyncio.timeout(30), acpella.connect(url) as agent:
        session = await agent.new_session(tmp_path)
        result = await session.prompt("count 300")
    assert result.text.split() == [str(number) for number in range(300)]
    assert result.stop_reason == "end_turn"


async def test_two_sessions_do_not_hear_each_other(url: str, tmp_path: Path) -> None:
    """CASE-4."""
    async with asyncio.timeout(30), acpella.connect(url) as agent:
        one, other = await agent.new_session(tmp_path), await agent.new_session(tmp_path)

        async def ask(session: acpella.client.ClientSession, text: str) -> str:
            return (await session.prompt(text)).text

        texts = await asyncio.gather(ask(one, "count 50"), ask(other, "a b c"))
    assert texts[0].split() == [str(number) for number in range(50)]
    assert texts[1] == "abc"


async def test_a_permission_request_is_answered(url: str, tmp_path: Path) -> None:
    """T-030: the answer carries the session of the stream that the request came on; hazard 1."""
    async with asyncio.timeout(30), acpella.connect(url, permissions="allow-all") as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("ask may I")).text == "selected"


async def test_a_prompt_is_cancelled(url: str, tmp_path: Path) -> None:
    async with asyncio.timeout(30), acpella.connect(url) as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt("wait here")
        async for _ in turn:
            result = await turn.cancel()
            assert result.stop_reason == "cancelled"
            break


async def test_a_load_is_complete_when_its_replay_was_heard(url: str, tmp_path: Path) -> None:
    """T-042, hazard 3: over HTTP the answer may come before the replay, or the replay on another stream."""
    heard: list[object] = []

    async def load(agent: ConnectedAgent) -> None:
        await agent.load_session(session_id, tmp_path, on_update=heard.append)
        assert heard_text(heard).split() == [str(number) for number in range(200)]

    async with asyncio.timeout(30), acpella.connect(url) as agent:
        session = await agent.new_session(tmp_path)
        session_id = session.id
        await session.prompt("count 200")
        await load(agent)  # while it is open
    heard.clear()
    async with asyncio.timeout(30), acpella.connect(url) as agent:
        await load(agent)  # hazard 2: a server that does not know it yet

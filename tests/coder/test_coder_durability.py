"""A coding session survives: kill -9 in the middle of a turn, then load and go on (C17)."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from acpella.client import ConnectedAgent
from acpella.errors import ConnectionClosed
from acpella.schema import AgentMessageChunk, ToolCall
from agent.processes import nobody_runs, somebody_runs
from coder.fake_provider import FakeProvider
from coder.harness import connected, environment, use, uses
from coder.test_coder_loop import check_valid

pytestmark = pytest.mark.anyio


def kill(agent: ConnectedAgent) -> None:
    assert agent.pid is not None
    os.kill(agent.pid, signal.SIGKILL)  # whoever kills asks nobody


async def test_killed_in_a_tool_the_session_goes_on_with_a_valid_memory(project: Path, home: Path) -> None:
    step = uses(("read_file", {"path": "greet.py"}), ("run", {"command": "echo begun > begun; sleep 63.1"}))
    async with FakeProvider([use("list_files"), step, "Where were we? "]) as provider:
        env = environment(home, provider)
        session_id = ""
        with pytest.raises(ConnectionClosed):
            async with connected(env) as agent:
                session = await agent.new_session(project)
                session_id = session.id
                async for update in session.prompt("remember: the word is banana"):
                    if isinstance(update, ToolCall) and update.name == "run":
                        await somebody_runs("sleep 63.1")
                        kill(agent)
        async with connected(env) as agent:
            again = await agent.load_session(session_id, project)
            assert (await again.prompt("go on")).text == "Where were we? "
    messages = provider.requests[-1].body["messages"]
    check_valid(messages)
    said = str(messages)
    assert "banana" in said and "greet.py" in said  # the prompt, and the step that was done before
    await nobody_runs("sleep 63.1")


async def test_killed_while_the_model_speaks_the_prompt_is_kept(project: Path, home: Path) -> None:
    async with FakeProvider([{"text": "I think", "then": "hang"}, "Back."]) as provider:
        env = environment(home, provider)
        session_id = ""
        with pytest.raises(ConnectionClosed):
            async with connected(env) as agent:
                session = await agent.new_session(project)
                session_id = session.id
                async for update in session.prompt("the word is cherry"):
                    if isinstance(update, AgentMessageChunk):
                        kill(agent)
        async with connected(env) as agent:
            again = await agent.resume_session(session_id, project)
            await again.prompt("and?")
    assert "cherry" in str(provider.requests[-1].body["messages"])


async def test_a_fork_remembers_and_goes_its_own_way(project: Path, home: Path) -> None:
    """C18"""
    async with FakeProvider(["One.", "Two.", "Three."]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            await session.prompt("first")
            fork = await agent.fork_session(session.id, project)
            await fork.prompt("only in the fork")
            await session.prompt("second")
    forked, original = (str(asked.body["messages"]) for asked in provider.requests[1:])
    assert "first" in forked and "only in the fork" in forked
    assert "first" in original and "only in the fork" not in original


async def test_the_mode_and_the_model_come_back_with_the_session(project: Path, home: Path) -> None:
    async with FakeProvider(["One."]) as provider:
        env = {**environment(home, provider), "ACPELLA_MODELS": "anthropic:test,anthropic:other"}
        async with connected(env) as agent:
            session = await agent.new_session(project)
            await session.set_mode("safe")
            await session.set_option("model", "anthropic:other")
        async with connected(env) as agent:
            again = await agent.load_session(session.id, project)
            assert again.mode == "safe"
            await again.prompt("hi")
    assert provider.requests[-1].body["model"] == "other"


async def test_closing_the_connection_in_a_turn_leaves_nothing_running(project: Path, home: Path) -> None:
    async with FakeProvider([use("run", command="sleep 64.9")]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            running = asyncio.ensure_future(_until_end(session.prompt("sleep")))
            await somebody_runs("sleep 64.9")
        await asyncio.wait([running], timeout=10)
        await nobody_runs("sleep 64.9")
        running.exception()  # the connection was closed: told, and expected


async def _until_end(turn: object) -> None:
    async for _ in turn:  # type: ignore[attr-defined]
        pass

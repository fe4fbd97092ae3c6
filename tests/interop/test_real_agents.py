"""Agents that nobody here wrote: initialize, new, prompt, permission, cancel, with models on this machine.

The ones that are installed run; `docs/explanation/agents-tried.md` has their settings.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpella.client import Permissions, Timeouts, Workspace, connect, read_recording
from acpella.schema import AgentMessageChunk
from acpella.testing import FakeModel, Recipe, recipe, recipe_names

pytestmark = pytest.mark.anyio

PATIENCE = 240
"""Seconds for one test: some agents start for half a minute on a busy machine."""

NODE_MODULES = Path(__file__).parents[1] / "peers" / "node_modules"


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


class Started:
    """Everything to connect to an agent with."""

    def __init__(self, agent: Recipe, model: FakeModel, folder: Path) -> None:
        path = os.pathsep.join(
            [str(NODE_MODULES / ".bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        )
        if agent.program(path) is None:
            pytest.skip(f"{agent.name} is not installed ({agent.install})")
        self.agent = agent
        self.prepared = agent.prepare(model, folder / "home", path=path)
        self.project = folder / "project"
        self.project.mkdir()
        self.recording = folder / "recording.jsonl"
        self.asked: list[Any] = []

    def connect(self) -> Any:
        async def ask(request: Any) -> Any:
            self.asked.append(request)
            return next(option for option in request.options if option.kind == "allow_once")

        return connect(
            self.prepared.command,
            env=self.prepared.env,
            cwd=self.project,
            files=Workspace(write=True),
            permissions=Permissions("ask", ask=ask),
            timeouts=Timeouts(startup=PATIENCE),
            record=self.recording,
        )


@pytest.fixture(params=recipe_names())
def started(request: pytest.FixtureRequest, model: FakeModel, tmp_path: Path) -> Started:
    return Started(recipe(request.param), model, tmp_path)


async def test_a_real_agent_answers_asks_and_stops(started: Started, model: FakeModel) -> None:
    """A2, D1, D4, D6, and FIELD-NOTES 1, 3, 7, 8, 9 with the peers that they are about."""
    async with asyncio.timeout(PATIENCE), started.connect() as agent:
        session = await agent.new_session(started.project)

        result = await session.prompt("hello world")
        assert "hello world" in result.text
        assert result.stop_reason == "end_turn"

        ran = started.project / "ran.txt"
        result = await session.prompt(f"!run touch {ran}")
        assert ran.exists()
        assert [request.tool_call.kind for request in started.asked] == ["execute"]
        question = started.asked[0].tool_call  # Kimi calls every command `Bash`
        assert "touch" in f"{question.title} {question.raw_input}"
        assert [call.status for call in result.tool_calls.values()] == ["completed"]

        if started.agent.writes_files:
            made = started.project / "made.txt"
            await session.prompt(f"!write {made} some text")
            assert made.read_text(encoding="utf-8") == "some text\n"

        chunks = 0
        async with session.prompt("!slow") as turn:
            async for update in turn:
                chunks += isinstance(update, AgentMessageChunk)
                if chunks == 3:
                    break
        assert turn.stop_reason == "cancelled"
        assert await asyncio.to_thread(model.hung_up.wait, 60), "the agent went on after the cancel"
        assert "still there" in (await session.prompt("still there")).text

    (conversation,) = read_recording(started.recording)
    assert [frame.message["method"] for frame in conversation if "method" in frame.message][0] == "initialize"


async def test_a_real_agent_takes_no_for_an_answer(started: Started) -> None:
    """D4: what is rejected does not happen, and the turn still ends."""
    agent = connect(
        started.prepared.command,
        env=started.prepared.env,
        cwd=started.project,
        permissions="deny-all",
        timeouts=Timeouts(startup=PATIENCE),
    )
    async with asyncio.timeout(PATIENCE), agent:
        session = await agent.new_session(started.project)
        ran = started.project / "ran.txt"
        result = await session.prompt(f"!run touch {ran}")
        assert not ran.exists()
        assert result.stop_reason is not None
        assert [call.kind for call in result.tool_calls.values()] == ["execute"], result
        assert not any(call.is_open for call in result.tool_calls.values())


async def test_the_command_line_drives_a_real_agent(started: Started) -> None:
    """D10"""
    command = " ".join(started.prepared.command)
    words = ["-m", "acpella", "run", "--yolo", "-o", "simple", "-a", command, "hello world"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        cwd=started.project,
        env={**os.environ, **started.prepared.env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert "hello world" in out.decode()

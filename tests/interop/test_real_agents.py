"""Agents that nobody here wrote: initialize, new, prompt, permission, cancel, with models on this machine.

The ones that are installed run; `docs/explanation/agents-tried.md` has their settings.
"""

import asyncio
import os
import signal
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


class Shell:
    """`acpella` as somebody types it, in the project of a real agent."""

    def __init__(self, started: Started) -> None:
        self._project = started.project
        self._agent = " ".join(started.prepared.command)
        self._env = {**os.environ, **started.prepared.env}

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        agent = ["-a", self._agent] if words[0] == "run" else []
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "acpella", words[0], *agent, *words[1:]),
            cwd=self._project,
            env=self._env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *words: str, code: int = 0) -> str:
        """What it prints; it must end with `code`."""
        process = await self.start(*words)
        out, err = await process.communicate()
        assert process.returncode == code, f"{process.returncode}: {out.decode()} {err.decode()}"
        return out.decode()


async def test_the_command_line_drives_a_real_agent(started: Started) -> None:
    """D10"""
    async with asyncio.timeout(PATIENCE):
        assert "hello world" in await Shell(started).run("run", "--yolo", "-o", "simple", "hello world")


async def test_a_command_that_is_refused_to_a_real_agent_has_an_exit_code(started: Started) -> None:
    ran = started.project / "ran.txt"
    async with asyncio.timeout(PATIENCE):
        await Shell(started).run("run", f"!run touch {ran}", code=10)
    assert not ran.exists()


async def test_a_session_of_a_real_agent_goes_on_in_another_process(started: Started) -> None:
    """D9: while its process lives, and loaded by a new one."""
    if started.agent.name == "gemini":
        pytest.skip("gemini overwrites a session that is loaded within the minute in which it began")
    shell = Shell(started)
    async with asyncio.timeout(PATIENCE):
        await shell.run("run", "--yolo", "-s", "kept", "first words")
        try:
            await shell.run("run", "--yolo", "-s", "kept", "second words")
        finally:
            await shell.run("sessions", "close", "kept")
        seen = await shell.run("sessions", "export", "kept")
    assert "first words" in seen and "second words" in seen


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
async def test_a_real_agent_that_is_ended_in_a_command_leaves_nothing(
    started: Started, ending: signal.Signals
) -> None:
    """Agents start commands in sessions of their own, which a signal to a group does not reach."""
    endless = started.project / "endless.txt"
    endless.touch()
    async with asyncio.timeout(PATIENCE):
        process = await Shell(started).start("run", "--yolo", f"!run tail -f {endless}")
        while not any(words[0].endswith("tail") for words in programs_with(endless)):
            assert process.returncode is None, (await process.communicate())[1].decode()
            await asyncio.sleep(0.1)
        process.send_signal(ending)
        _, err = await process.communicate()
    assert process.returncode == 128 + ending, err.decode()
    assert programs_with(started.project) == []


def programs_with(path: Path) -> list[list[str]]:
    """The command lines of all processes that name this path."""
    lines: list[list[str]] = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            continue  # it has ended meanwhile
        if any(str(path) in word for word in words):
            lines.append(words)
    return lines

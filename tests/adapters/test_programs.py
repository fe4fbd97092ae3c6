"""A user's file with an agent in it, from outside: as a process, by the command line, killed and loaded."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import acpella
from adapters import frameworks

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]
PROGRAM = Path(__file__).parent / "scripted_program.py"


@pytest.fixture(params=frameworks.every())
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """For a process whose agent is of one framework, with a home of its own."""
    homes = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    python_path = os.pathsep.join(paths)
    return {**homes, "ACPELLA_TEST_FRAMEWORK": request.param, "PYTHONPATH": python_path}


async def test_the_model_remembers_after_the_process_was_killed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """kill -9 between turns: what a turn was answered for is kept, for the model, too."""
    target = f"{PROGRAM}:agent"
    async with asyncio.timeout(180):
        async with acpella.connect(target, env=environment) as agent:
            session = await agent.new_session(cwd=tmp_path)
            await session.prompt("one")
            await session.prompt("note a.txt")
            assert agent.pid is not None
            os.kill(agent.pid, signal.SIGKILL)
        async with acpella.connect(target, env=environment) as agent:
            session = await agent.load_session(session.id, cwd=tmp_path)
            result = await session.prompt("three")
            assert result.text == "You said: one | note a.txt | three"


async def test_print_in_a_tool_and_at_import_harms_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    noise: list[object] = []
    stderr: list[bytes] = []
    async with asyncio.timeout(180):
        async with acpella.connect(
            f"{PROGRAM}:agent", env=environment, on_noise=noise.append, on_stderr=stderr.append
        ) as agent:
            session = await agent.new_session(cwd=tmp_path)
            result = await session.prompt("print hello")
            assert result.text == "You said: print hello"
            assert [call.status for call in result.tool_calls.values()] == ["completed"]
    assert not noise
    written = b"".join(stderr).decode()
    assert "hello" in written and "a greeting that a careless file prints" in written


def test_the_command_line_runs_it(environment: dict[str, str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "run", "-a", f"{PROGRAM}:agent", "-o", "simple", "hello"],
        env={**os.environ, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "You said: hello" in ran.stdout

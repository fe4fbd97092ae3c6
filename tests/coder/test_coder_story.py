"""A whole piece of work in a real git repository: read, plan, edit, run the tests, fix, done."""

import asyncio
import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from coder.fake_provider import FakeProvider
from coder.harness import AGENT, cli, environment, use, uses

pytestmark = pytest.mark.anyio

CODE = "def mean(values):\n    return sum(values) / len(values)\n"
FIRST = "    if not values:\n        return None\n    return sum(values) / len(values)\n"
COMMIT = "git add -A && git -c user.name=T -c user.email=t@e commit -qm 'Mean of nothing'"
RIGHT = "    if not values:\n        return 0\n    return sum(values) / len(values)\n"
TEST = (
    "from stats import mean\n\nassert mean([1, 3]) == 2\nassert mean([]) == 0, mean([])\nprint('all good')\n"
)


def git(project: Path, *words: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    ran = subprocess.run(
        ["git", "-C", str(project), *identity, *words], capture_output=True, text=True, check=True, timeout=20
    )
    return ran.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    project = tmp_path / "stats"
    project.mkdir()
    (project / "stats.py").write_text(CODE, encoding="utf-8")
    (project / "check.py").write_text(TEST, encoding="utf-8")
    (project / "AGENTS.md").write_text("Run `python3 check.py` after every change.\n", encoding="utf-8")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Begin")
    return project


def peers() -> Any:
    """How the interop tests start real peers."""
    path = Path(__file__).parents[1] / "interop" / "conftest.py"
    spec = importlib.util.spec_from_file_location("interop_peers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plan(*states: str) -> tuple[str, dict[str, Any]]:
    steps = ("handle the empty list", "run the check", "commit")
    entries = [{"content": c, "status": s} for c, s in zip(steps, states, strict=True)]
    return "plan", {"entries": entries}


def script() -> list[Any]:
    return [
        {
            **uses(("read_file", {"path": "stats.py"}), ("read_file", {"path": "check.py"})),
            "text": "I look. ",
        },
        uses(
            plan("in_progress", "pending", "pending"),
            (
                "edit_file",
                {"path": "stats.py", "old": "    return sum(values) / len(values)\n", "new": FIRST},
            ),
            ("run", {"command": "python3 check.py"}),
        ),
        {
            **use("search", pattern="mean", glob="*.py"),
            "thinking": "None is not 0.",
            "when": "AssertionError",
        },
        uses(
            ("edit_file", {"path": "stats.py", "old": "return None", "new": "return 0"}),
            ("run", {"command": "python3 check.py"}),
        ),
        {
            **uses(
                plan("completed", "completed", "in_progress"),
                (
                    "run",
                    {"command": COMMIT},
                ),
            ),
            "when": "all good",
        },
        {"text": "The mean of nothing is 0 now, and the check passes.", "when": "exit code 0"},
    ]


def check(project: Path, provider: FakeProvider) -> None:
    """The tree, the history, and that every answer of the script was used where it belongs."""
    assert (project / "stats.py").read_text(encoding="utf-8") == CODE.split("\n", 1)[0] + "\n" + RIGHT
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "log", "--format=%s").split("\n")[:2] == ["Mean of nothing", "Begin"]
    assert provider.turns == [] and len(provider.requests) == 6
    assert "Run `python3 check.py` after every change." in json.dumps(provider.requests[0].body)


@pytest.mark.parametrize("api", ["anthropic", "openai"])
async def test_a_change_is_made_tested_mended_and_committed(repository: Path, home: Path, api: str) -> None:
    async with FakeProvider(script()) as provider:
        env = environment(home, provider, api)
        ran = await cli(repository, env, "--yolo", "make mean([]) work and commit it")
    assert ran.code == 0, ran.err
    check(repository, provider)
    assert "The mean of nothing is 0 now" in ran.out and "◐ commit" in ran.out
    assert "[execute] Run python3 check.py ✗ failed" in ran.out
    assert "[execute] Run python3 check.py ✓ completed" in ran.out


async def test_the_same_through_the_official_typescript_client(repository: Path, home: Path) -> None:
    """Permission asked by our agent, answered by the official SDK; files through its fs methods."""
    client = peers().peer("client_typescript.mjs")
    steps = [
        {"do": "new", "cwd": str(repository)},
        {"do": "prompt", "text": "make mean([]) work and commit it"},
        {"do": "mode", "mode": "read-only"},
        {"do": "prompt", "text": "/mode"},
        {"do": "load", "cwd": str(repository)},
    ]
    async with FakeProvider(script()) as provider:
        process = await asyncio.create_subprocess_exec(
            *[*client, json.dumps(steps), *AGENT],
            cwd=repository,
            env=environment(home, provider),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 55)
    assert process.returncode == 0, err.decode()
    check(repository, provider)
    events = [json.loads(line) for line in out.decode().splitlines()]
    stops = [event["reason"] for event in events if event["event"] == "stop"]
    assert stops == ["end_turn", "end_turn"]
    asked = [event["title"] for event in events if event["event"] == "permission"]
    assert asked[:3] == ["Edit stats.py", "Run python3 check.py", "Edit stats.py"]
    assert {event["path"] for event in events if event["event"] == "write"} == {str(repository / "stats.py")}
    kinds = {event["update"]["sessionUpdate"] for event in events if event["event"] == "update"}
    assert {"plan", "tool_call", "agent_thought_chunk", "usage_update", "session_info_update"} <= kinds
    assert {"current_mode_update", "available_commands_update", "user_message_chunk"} <= kinds

"""Agents that nobody here wrote: initialize, new, prompt, permission, cancel, with models on this machine.

The ones that are installed run; `docs/explanation/agents-tried.md` has their settings.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeModels

from acpella.client import Permissions, Timeouts, Workspace, connect, read_recording
from acpella.schema import AgentMessageChunk

pytestmark = pytest.mark.anyio

NODE_MODULES = Path(__file__).parents[1] / "peers" / "node_modules"

Prepare = Callable[[str, Path], dict[str, str]]
"""Writes an agent's own settings into a home directory; gives the variables to start it with."""


def _opencode(url: str, home: Path) -> dict[str, str]:
    model = {"fake-model": {"name": "Fake"}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": model,
    }
    config = {
        "provider": {"fake": provider},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _gemini(url: str, home: Path) -> dict[str, str]:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}}
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": "gemini-2.5-flash"}


def _codex(url: str, home: Path) -> dict[str, str]:
    config = (
        'model = "fake-model"\nmodel_provider = "fake"\n'
        'approval_policy = "on-request"\nsandbox_mode = "read-only"\n'
        f'[model_providers.fake]\nname = "Fake"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    )
    _write(home / ".codex" / "config.toml", config)
    return {"CODEX_HOME": str(home / ".codex"), "FAKE_KEY": "none"}


def _claude(url: str, home: Path) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",  # it refuses to run as root otherwise, as in a container
    }


def _vibe(url: str, home: Path) -> dict[str, str]:
    config = (
        'active_model = "fake"\nenable_telemetry = false\nenable_update_checks = false\n'
        f'[[providers]]\nname = "fake"\napi_base = "{url}/v1"\n'
        'api_key_env_var = "FAKE_KEY"\nbackend = "generic"\n'
        '[[models]]\nname = "fake-model"\nprovider = "fake"\nalias = "fake"\n'
    )
    _write(home / ".vibe" / "config.toml", config)
    return {"VIBE_HOME": str(home / ".vibe"), "FAKE_KEY": "none", "MISTRAL_API_KEY": "none"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class RealAgent:
    """An agent, how it is started, and what it can do."""

    command: tuple[str, ...]
    prepare: Prepare
    package: str
    writes: bool = True


AGENTS = {
    "gemini-cli": RealAgent(("gemini", "--acp"), _gemini, "npm @google/gemini-cli, in tests/peers"),
    "opencode": RealAgent(("opencode", "acp"), _opencode, "npm opencode-ai"),
    "codex": RealAgent(("codex-acp",), _codex, "npm @zed-industries/codex-acp", writes=False),
    "claude": RealAgent(("claude-agent-acp",), _claude, "npm @agentclientprotocol/claude-agent-acp"),
    "vibe": RealAgent(("vibe-acp",), _vibe, "PyPI mistral-vibe"),
}


@pytest.fixture
def models() -> Iterator[FakeModels]:
    with FakeModels() as server:
        yield server


class Started:
    """Everything to connect to an agent with."""

    def __init__(self, agent: RealAgent, models: FakeModels, folder: Path) -> None:
        path = os.pathsep.join(
            [str(NODE_MODULES / ".bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        )
        program = shutil.which(agent.command[0], path=path)
        if program is None:
            pytest.skip(f"{agent.command[0]} is not installed ({agent.package})")
        home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        self.command = [program, *agent.command[1:]]
        self.agent = agent
        self.recording = folder / "recording.jsonl"
        self.asked: list[Any] = []
        homes = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        self.env = {
            "HOME": str(home),
            "PATH": path,
            **{name: str(home / name.lower()) for name in homes},
            **agent.prepare(models.url, home),
        }

    def connect(self) -> Any:
        async def ask(request: Any) -> Any:
            self.asked.append(request)
            return next(option for option in request.options if option.kind == "allow_once")

        return connect(
            self.command,
            env=self.env,
            cwd=self.project,
            files=Workspace(write=True),
            permissions=Permissions("ask", ask=ask),
            timeouts=Timeouts(startup=60),
            record=self.recording,
        )


@pytest.fixture(params=list(AGENTS))
def started(request: pytest.FixtureRequest, models: FakeModels, tmp_path: Path) -> Started:
    return Started(AGENTS[request.param], models, tmp_path)


async def test_a_real_agent_answers_asks_and_stops(started: Started, models: FakeModels) -> None:
    """A2, D1, D4, D6, and FIELD-NOTES 1, 3, 7, 8, 9 with the peers that they are about."""
    async with asyncio.timeout(120), started.connect() as agent:
        session = await agent.new_session(started.project)

        result = await session.prompt("hello world")
        assert "hello world" in result.text
        assert result.stop_reason == "end_turn"

        ran = started.project / "ran.txt"
        result = await session.prompt(f"!run touch {ran}")
        assert ran.exists()
        assert [request.tool_call.kind for request in started.asked] == ["execute"]
        assert "touch" in started.asked[0].tool_call.title
        assert [call.status for call in result.tool_calls.values()] == ["completed"]

        if started.agent.writes:
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
        assert await asyncio.to_thread(models.hung_up.wait, 20), "the agent went on after the cancel"
        assert "still there" in (await session.prompt("still there")).text

    (conversation,) = read_recording(started.recording)
    assert [frame.message["method"] for frame in conversation if "method" in frame.message][0] == "initialize"


async def test_a_real_agent_takes_no_for_an_answer(started: Started) -> None:
    """D4: what is rejected does not happen, and the turn still ends."""
    agent = connect(
        started.command,
        env=started.env,
        cwd=started.project,
        permissions="deny-all",
        timeouts=Timeouts(startup=60),
    )
    async with asyncio.timeout(120), agent:
        session = await agent.new_session(started.project)
        ran = started.project / "ran.txt"
        result = await session.prompt(f"!run touch {ran}")
        assert not ran.exists()
        assert result.stop_reason is not None
        assert [call.kind for call in result.tool_calls.values()] == ["execute"], result
        assert not any(call.is_open for call in result.tool_calls.values())


async def test_the_command_line_drives_a_real_agent(started: Started) -> None:
    """D10"""
    words = ["-m", "acpella", "run", "--yolo", "-o", "simple", "-a", " ".join(started.command), "hello world"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        cwd=started.project,
        env={**os.environ, **started.env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert "hello world" in out.decode()

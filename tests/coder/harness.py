"""The coding agent as a real process, with a scripted model behind real HTTP."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import acpella
from acpella.client import ConnectedAgent, Permissions, Terminals, Workspace
from coder.fake_provider import FakeProvider

Json = dict[str, Any]

AGENT = [sys.executable, "-m", "acpella", "agent"]


def environment(home: Path, provider: FakeProvider | None = None, api: str = "anthropic") -> dict[str, str]:
    """A home of its own and, with a provider, a model of that API."""
    kept = {
        k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith("ACPELLA_")
    }
    own = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    own |= {"GIT_CONFIG_GLOBAL": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    if provider is not None:
        key, url = f"{api.upper()}_API_KEY", f"{api.upper()}_BASE_URL"
        suffix = "/v1" if api == "openai" else ""
        own |= {key: "test-key", url: provider.url + suffix, "ACPELLA_MODEL": f"{api}:test"}
    return {**kept, **own}


def use(name: str, **arguments: Any) -> Json:
    """A turn of the script: the model wants one tool."""
    return {"tools": [{"name": name, "arguments": arguments}]}


def uses(*wanted: tuple[str, Json]) -> Json:
    """A turn of the script: the model wants several tools at once."""
    tools = [{"name": n, "arguments": a, "id": f"use_{i}"} for i, (n, a) in enumerate(wanted)]
    return {"tools": tools}


def told(provider: FakeProvider, request: int = -1) -> str:
    """The results that the model got for the tools it used before this request."""
    last = provider.requests[request].body["messages"][-1]
    assert last["role"] == "user", last
    texts: list[str] = []
    for part in last["content"]:
        if part["type"] == "tool_result":
            texts += [each["text"] for each in part["content"] if each["type"] == "text"]
    return "\n".join(texts)


def tool_names(provider: FakeProvider, request: int = 0) -> list[str]:
    return [tool["name"] for tool in provider.requests[request].body["tools"]]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def frames(self) -> list[Json]:
        """The frames printed by `-o jsonl`, without the first line."""
        return [json.loads(line) for line in self.out.splitlines()][1:]

    @property
    def updates(self) -> list[Json]:
        return [f["params"]["update"] for f in self.frames if f.get("method") == "session/update"]

    def calls(self, name: str) -> list[Json]:
        """The announced calls of a tool."""
        return [u for u in self.updates if u["sessionUpdate"] == "tool_call" and u.get("name") == name]

    def asked(self, method: str) -> list[Json]:
        return [frame["params"] for frame in self.frames if frame.get("method") == method]


async def cli(
    project: Path, env: dict[str, str], *arguments: str, agent: tuple[str, ...] = (), stdin: str = ""
) -> Ran:
    """`acpella run` with the coding agent, as a user types it."""
    command = [sys.executable, "-m", "acpella", "run", "-a", " ".join([*AGENT, *agent]), *arguments]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=project,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(50):
        out, err = await process.communicate(stdin.encode())
    return Ran(process.returncode or 0, out.decode(), err.decode())


@asynccontextmanager
async def connected(
    env: dict[str, str],
    *agent: str,
    permissions: Permissions | None = None,
    write: bool = False,
    terminals: bool = False,
) -> AsyncIterator[ConnectedAgent]:
    """The agent as a client of ours sees it."""
    async with (
        asyncio.timeout(50),
        acpella.connect(
            [*AGENT, *agent],
            env=env,
            files=Workspace(write=write),
            terminals=Terminals() if terminals else False,
            permissions=permissions or Permissions("allow-all"),
        ) as connection,
    ):
        yield connection

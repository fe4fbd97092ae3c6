"""One agent over any transport: in this process, as a child, or behind a URL."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

from acpella.client.targets import Servable, Target, resolve_command
from acpella.rpc import Channel

from .scripted.agent import ScriptedAgent

__all__ = ["TRANSPORTS", "Transport", "reach"]

Transport: TypeAlias = Literal["stdio", "memory", "websocket", "http"]

TRANSPORTS: tuple[Transport, ...] = ("stdio", "memory", "websocket", "http")
"""All ways to an agent, for `parametrize`."""

_START_SECONDS = 30.0
_END_SECONDS = 10.0


@asynccontextmanager
async def reach(
    agent: Target, over: Transport = "stdio", *, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Target]:
    """What to give `connect` so that it talks to `agent` over this transport.

    `agent` is a `ScriptedAgent`, an `acpella.Agent`, the command of any agent or a Python file. Over
    `websocket` and `http` a server on this machine hosts it until the block ends; `env` is laid over the
    environment of a command that is hosted.

    Raises:
        ValueError: the agent cannot be reached in this way; the message says why.
    """
    if over not in TRANSPORTS:
        raise ValueError(f"a transport is one of {', '.join(TRANSPORTS)}, not {over!r}")
    if isinstance(agent, str) and "://" in agent:
        if over not in ("websocket", "http"):
            raise ValueError(f"{agent} is behind a URL: {over} does not lead there")
        yield agent
        return
    if over == "stdio":
        if isinstance(agent, ScriptedAgent):
            yield agent.command
        elif isinstance(agent, Servable | Channel):
            raise ValueError(
                "an agent object lives in this process: name the program that runs it for stdio, "
                "or take memory, websocket or http"
            )
        else:
            yield agent
    elif over == "memory":
        if not isinstance(agent, Servable):
            raise ValueError("a command is another process: only an agent object can be reached over memory")
        yield agent
    else:
        async with _hosted(agent, env or {}) as url:
            yield url if over == "http" else url.replace("http", "ws", 1)


@asynccontextmanager
async def _hosted(agent: Target, env: Mapping[str, str]) -> AsyncGenerator[str]:
    from acpella.server import Runner, ServerSettings
    from acpella.server.access.local_user import can_tell_users

    users = "own" if can_tell_users() else "all"
    settings = ServerSettings(requests_per_second=0.0, drain_seconds=0.2, local_users=users)
    runner = Runner(_hostable(agent, env), port=0, settings=settings)
    runner.bind()
    running = asyncio.get_running_loop().create_task(runner.run(signals=False))
    try:
        started = asyncio.ensure_future(runner.started.wait())
        await asyncio.wait([running, started], timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        if running.done():
            running.result()
        yield runner.url
    finally:
        runner.stop()
        await asyncio.wait([running], timeout=_END_SECONDS)
        if not running.done():
            running.cancel()
        else:
            running.result()


def _hostable(agent: Target, env: Mapping[str, str]) -> Any:
    if isinstance(agent, Servable):
        from acpella.agent import Agent

        return agent if isinstance(agent, Agent) else _Plain(agent)
    if isinstance(agent, Channel):
        raise ValueError("a channel leads to one client: it cannot be hosted for others")
    _, command, _ = resolve_command(agent, None)
    if not env:
        return command
    if os.name == "nt":
        raise ValueError("env= cannot be laid over a hosted command on Windows: set os.environ instead")
    return ["env", *(f"{name}={value}" for name, value in env.items()), *command]


class _Plain:
    """Makes an agent object without users or a store hostable: servers expect both from an agent."""

    store = None

    def __init__(self, agent: Servable) -> None:
        self.name = agent.name
        self._agent = agent

    async def serve_on(self, channel: Channel, **_: Any) -> None:
        await self._agent.serve_on(channel)

    async def open(self) -> None:
        """Do nothing: there is no store to open."""

    async def close(self) -> None:
        """Do nothing: there is no store to close."""

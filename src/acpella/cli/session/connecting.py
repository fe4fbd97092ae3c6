"""An agent for a moment, to ask about its sessions: through the daemon if it lives, or started for that."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from acpella.client import ClientSettings, ConnectedAgent, Permissions, connect
from acpella.client.targets import open_target
from acpella.transport import UnixChannel

from ..daemon import client as daemon
from ..state.agents import resolve_agent
from .lookup import NoSession, settings_of

if TYPE_CHECKING:
    from acpella.rpc import Channel

    from ..state.catalogue import SessionEntry

__all__ = ["reached", "started"]


@asynccontextmanager
async def reached(entry: "SessionEntry", *, agent: str | None = None) -> AsyncGenerator[ConnectedAgent, None]:
    """The agent of a session. `agent` is its command, should that not be remembered."""
    connected = daemon.find(entry.key)
    if connected is not None and (alone := (daemon.status(entry.key) or {}).get("alone")):
        connected.close()
        raise daemon.InUse(f"the session is open in `{alone}`; close that first")
    if connected is None:
        target = entry.target or agent
        if not target:
            raise NoSession(
                f"the command of {entry.agent} held secrets, which are not kept; name it again with --agent"
            )
        settings = resolve_agent(settings_of(entry, ClientSettings()), target)
        _, channel = open_target(target, settings=settings, cwd=entry.where or None)
    else:
        connected.setblocking(False)
        channel = UnixChannel(connected, peer="the session's background process")
    async with _greeted(channel, entry.agent) as connected_agent:
        yield connected_agent


@asynccontextmanager
async def started(target: str, settings: ClientSettings) -> AsyncGenerator[ConnectedAgent, None]:
    """An agent by what `--agent` takes."""
    name, channel = open_target(target, settings=settings)
    async with _greeted(channel, name) as agent:
        yield agent


@asynccontextmanager
async def _greeted(channel: "Channel", name: str) -> AsyncGenerator[ConnectedAgent, None]:
    agent = connect(channel, settings=ClientSettings(), files=False, permissions=Permissions("deny-all"))
    agent.name = name
    async with agent:
        yield agent

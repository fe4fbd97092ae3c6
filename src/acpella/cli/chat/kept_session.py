"""Sessions that stay, in a chat: which one is meant, the way to its daemon, and what is remembered."""

import asyncio
import dataclasses
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import msgspec

from acpella._plain_json import as_dict
from acpella.client import ClientSettings, ConnectedAgent, connect
from acpella.errors import ConnectionClosed, RpcError
from acpella.rpc import ChannelInfo
from acpella.transport import UnixChannel

from ..daemon import client as daemon
from ..daemon import methods
from ..daemon.errors import from_wire
from ..options import ConversationOptions
from ..session.lookup import daemon_config
from ..state import paths
from ..state.catalogue import Catalogue, SessionEntry, new_key, title_of
from ..terminal.questions import Asker
from .opening import chat_offers

__all__ = ["attach", "daemon_session", "is_busy", "known", "other", "remember", "stop"]


def known(cwd: str, agent: str) -> list[SessionEntry]:
    """The sessions of this repository with an agent that are remembered here."""
    return Catalogue(warn=lambda _: None).entries(root=paths.repository(cwd), agent=agent)


def other(entry: SessionEntry, session_id: str | None) -> SessionEntry:
    """Another session of the same agent: an earlier one, or a new one."""
    catalogue = Catalogue()
    for candidate in catalogue.entries(root=entry.root):
        if session_id and candidate.session_id == session_id:
            return candidate
    fresh = msgspec.structs.replace(
        entry, key=new_key(), session_id=session_id or "", name="", title="", created_at="", updated_at=""
    )
    return catalogue.add(fresh)


async def attach(
    options: ConversationOptions,
    settings: ClientSettings,
    entry: SessionEntry,
    asker: Asker,
    stack: AsyncExitStack,
    *,
    env: dict[str, str],
    mcp_servers: list[Any],
    on_queued: Callable[[int], None],
    on_stderr: Callable[[bytes], None] | None,
) -> ConnectedAgent:
    """The agent behind the daemon of a session, which is started if there is none."""

    def wait(params: Any) -> None:
        on_queued(int(params["before"]))

    def hear(params: Any) -> None:
        data = str(params["text"]).encode()
        agent.note_stderr(data)
        if on_stderr is not None:
            on_stderr(data)

    config = await asyncio.to_thread(
        daemon_config, entry, settings, agent=options.agent, mcp_servers=mcp_servers
    )
    config.env = {**config.env, **env}
    allowed = chat_offers(options, asker)
    allowed["timeouts"] = dataclasses.replace(allowed["timeouts"], startup=daemon.READY_WITHIN)
    for _ in range(daemon.ATTACH_TRIES):
        connected = await asyncio.to_thread(daemon.reach, config)
        agent = connect(
            _DaemonChannel(connected, config),
            settings=ClientSettings(),
            on_elicit=asker.elicitation,
            record=options.record,
            notifications={
                methods.QUEUED: wait,
                methods.STDERR: hear,
                methods.NOISE: daemon.tell_noise,
            },
            **allowed,
        )
        agent.name = entry.agent
        try:
            return await stack.enter_async_context(agent)
        except ConnectionClosed:  # it ended just when it was found
            current = await asyncio.to_thread(Catalogue().get, entry.key)
            if current is not None:
                config.session_id = entry.session_id = current.session_id
        except RpcError as error:
            raise from_wire(error) from None
    raise ConnectionClosed(daemon.ended_again_and_again(entry.key))


class _DaemonChannel(UnixChannel):
    """The way to a daemon. Its agent's command is known here, so logins can run in this terminal."""

    def __init__(self, connected: socket.socket, config: daemon.Config) -> None:
        super().__init__(connected, peer="the session's background process")
        if config.command:
            self.about = ChannelInfo(process=_AgentElsewhere(config.command))


@dataclass(frozen=True, slots=True)
class _AgentElsewhere:
    """The daemon's agent as this process knows it: by its command, not as a child."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    pid: int | None = None
    stderr_tail: str = ""

    def kill(self) -> None:
        """The daemon ends it."""

    def note_descendants(self) -> None:
        """The daemon looks after them."""


async def stop(entry: SessionEntry) -> None:
    """End the daemon and its agent."""
    await asyncio.to_thread(daemon.stop, entry.key)


def is_busy(entry: SessionEntry) -> bool:
    """Whether a prompt is running in the session."""
    return (daemon.status(entry.key) or {}).get("running") is not None


def daemon_session(agent: ConnectedAgent, entry: SessionEntry) -> str:
    """The id of the one session that a daemon has; "new" if the agent has not made it yet."""
    status = as_dict(as_dict(agent.hello.meta).get("acpella.daemon"))
    if not status.get("sessionId"):  # perhaps it was made since, after a login
        status = daemon.status(entry.key) or {}
    return str(status.get("sessionId") or "new")


def remember(entry: SessionEntry, *, prompt: str, title: str | None) -> None:
    """Let `--continue` find the session, under the agent's title or else the start of the first prompt."""
    try:
        catalogue = Catalogue(warn=lambda _: None)  # nothing may be written across the chat
        stored = catalogue.get(entry.key) or catalogue.add(entry)
        entry.key = stored.key
        catalogue.update(stored.key, title=title or stored.title or title_of(prompt))
    except OSError:
        pass  # nothing can be kept here; the chat itself needs no memory

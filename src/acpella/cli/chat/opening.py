"""The agent and the session of a chat, opened as the command line says."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from acpella.client import (
    ClientSession,
    ClientSettings,
    ConnectedAgent,
    connect,
)
from acpella.schema import SessionUpdate

from ..capabilities import offers
from ..options import ConversationOptions
from ..session.mcp_servers import all_servers
from ..state.agents import startup_of
from ..terminal.questions import Asker

__all__ = ["chat_offers", "open_agent", "open_session"]


def chat_offers(options: ConversationOptions, asker: Asker) -> dict[str, Any]:
    """What an agent of a chat may do, and who is asked."""
    return offers(
        write=options.write, yolo=options.yolo, ask=asker.permission, tell=asker.tell, interactive=True
    )


def open_agent(
    options: ConversationOptions,
    settings: ClientSettings,
    target: str,
    asker: Asker,
    *,
    env: dict[str, str],
    on_stderr: Callable[[bytes], None] | None,
) -> ConnectedAgent:
    """The agent, to be entered."""
    allowed = chat_offers(options, asker)
    if target in settings.agents:
        startup = startup_of([settings.agents[target].command])
        allowed["timeouts"] = dataclasses.replace(allowed["timeouts"], startup=startup)
    return connect(
        target,
        settings=settings,
        env=env,
        on_elicit=asker.elicitation,
        on_stderr=on_stderr,
        record=options.record,
        **allowed,
    )


async def open_session(
    options: ConversationOptions,
    settings: ClientSettings,
    agent: ConnectedAgent,
    session_id: str | None,
    *,
    on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None,
) -> ClientSession:
    """A new session, or an earlier one, replayed to `on_update` if that is given and the agent can."""
    servers = all_servers(options.mcp, settings)
    if session_id is None:
        return await agent.new_session(options.cwd, mcp_servers=servers)
    can_resume = agent.capabilities.session_capabilities.resume is not None
    if can_resume and (on_update is None or not agent.capabilities.load_session):
        return await agent.resume_session(session_id, options.cwd, mcp_servers=servers)
    return await agent.load_session(
        session_id, options.cwd, mcp_servers=servers, on_update=on_update or _ignore
    )


def _ignore(update: SessionUpdate) -> None: ...

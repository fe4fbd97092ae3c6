"""The agent and the session of a chat, opened as the command line says."""

import argparse
from collections.abc import Awaitable, Callable
from typing import Any

from acpella.client import (
    ClientSession,
    ClientSettings,
    ConnectedAgent,
    Permissions,
    Rule,
    Terminals,
    Timeouts,
    Workspace,
    connect,
)
from acpella.schema import SessionUpdate

from ..ask import Asker

__all__ = ["open_agent", "open_session", "prepare"]


def open_agent(
    arguments: argparse.Namespace,
    settings: ClientSettings,
    target: str,
    asker: Asker,
    *,
    env: dict[str, str],
    on_stderr: Callable[[bytes], None] | None,
) -> ConnectedAgent:
    """The agent, to be entered."""
    return connect(
        target,
        settings=settings,
        env=env,
        files=Workspace(write=arguments.write or arguments.yolo),
        terminals=Terminals() if arguments.yolo else False,
        permissions=Permissions(
            "allow-all" if arguments.yolo else "allow-reads",
            rules=[Rule("allow", kinds=["edit", "move"])] if arguments.write else [],
            ask=asker.permission,
        ),
        on_elicit=asker.elicitation,
        timeouts=Timeouts(cancel=5),
        on_stderr=on_stderr,
    )


async def open_session(
    arguments: argparse.Namespace,
    settings: ClientSettings,
    agent: ConnectedAgent,
    session_id: str | None,
    *,
    on_update: Callable[[SessionUpdate], Awaitable[None] | None] | None = None,
) -> ClientSession:
    """A new session, or one of before: told again to `on_update` if that is given and the agent can."""
    from ..run import _mcp_server, _settings_server  # pyright: ignore[reportPrivateUsage] - its other half

    servers: list[Any] = [_mcp_server(text) for text in arguments.mcp]
    servers += [_settings_server(entry) for entry in settings.mcp_servers]
    if session_id is None:
        return await agent.new_session(arguments.cwd, mcp_servers=servers)
    can_resume = agent.capabilities.session_capabilities.resume is not None
    if can_resume and (on_update is None or not agent.capabilities.load_session):
        return await agent.resume_session(session_id, arguments.cwd, mcp_servers=servers)
    return await agent.load_session(
        session_id, arguments.cwd, mcp_servers=servers, on_update=on_update or _ignore
    )


async def prepare(arguments: argparse.Namespace, session: ClientSession) -> None:
    """Set the mode and the options that the command line names."""
    from ..run import _set_option  # pyright: ignore[reportPrivateUsage] - its other half

    if arguments.mode:
        await session.set_mode(arguments.mode)
    for pair in arguments.option:
        await _set_option(session, pair)


def _ignore(update: SessionUpdate) -> None: ...

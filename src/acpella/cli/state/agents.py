"""Which agent a command means: of the settings, of the command line, or the built-in one."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acpella._redact import redact

if TYPE_CHECKING:
    from acpella.client.settings import ClientSettings

__all__ = ["BUILT_IN", "agent_name", "command_of", "default_agent", "keepable", "startup_of", "with_builtin"]

BUILT_IN = "coder"

STARTED_WITHIN = 30.0
"""Seconds for an agent's first answer; some need 12 s on a cold machine."""

DOWNLOADED_WITHIN = 300.0
"""The same for an agent that may be downloaded first."""


def with_builtin(
    settings: "ClientSettings", target: str | list[str] | None, *, yes: bool = False
) -> "ClientSettings":
    """The settings with the agent in them that is meant, if acpella brings it or knows it by name.

    The built-in one is also meant for want of others. `yes` agrees to download one that is not installed.

    Raises:
        TransportError: a known agent is not installed; says what to do.
    """
    from acpella.client.settings import AgentServer

    if isinstance(target, str) and target not in settings.agents and target != BUILT_IN:
        from .known_agents import find_known, server_of

        if (known := find_known(target)) is not None:
            return dataclasses.replace(
                settings, agents={**settings.agents, target: server_of(known, yes=yes)}
            )
    if BUILT_IN in settings.agents or (settings.agents if target is None else target != BUILT_IN):
        return settings
    own = AgentServer(sys.executable, ["-m", "acpella", "agent"])
    return dataclasses.replace(settings, agents={**settings.agents, BUILT_IN: own})


def default_agent(settings: "ClientSettings") -> str:
    """The first of the settings, which have the built-in one if they have no other."""
    return next(iter(settings.agents))


def startup_of(command: Sequence[str]) -> float:
    """Seconds for an agent's first answer; `npx` and `uvx` may have to download it first."""
    return DOWNLOADED_WITHIN if command and Path(command[0]).name in ("npx", "uvx") else STARTED_WITHIN


def agent_name(target: str, settings: "ClientSettings") -> str:
    """A short name for people."""
    if target in settings.agents:
        return target
    from acpella.client.targets import open_target

    name, _ = open_target(target, settings=settings)
    return name


def command_of(target: str | list[str], settings: "ClientSettings") -> tuple[list[str], dict[str, str]]:
    """The command behind a target, and what it adds to the environment; an empty one for URLs and the like.

    Raises:
        TransportError: there is no such agent; says what there is.
    """
    if isinstance(target, list):
        return target, {}
    if target in settings.agents:
        server = settings.agents[target]
        if server.url:
            return [], {}
        return [server.command, *server.args], server.env
    from acpella.client.targets import file_of, open_target
    from acpella.transport import ProcessChannel

    _, channel = open_target(target, settings=settings)  # says what is wrong with it
    if not isinstance(channel, ProcessChannel):
        return [], {}
    if (path := file_of(target)) is not None:
        return ([sys.executable, path] if path.endswith(".py") else [path]), {}
    return shlex.split(target), {}


def keepable(target: str, settings: "ClientSettings") -> str:
    """The target as it may be written down: a file with its whole path; nothing if it holds secrets."""
    if target in settings.agents:
        return target
    if redact(target) != target:
        return ""
    from acpella.client.targets import file_of

    return file_of(target) or target

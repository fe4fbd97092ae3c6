"""Which agent a command means: of the settings, of the command line, or the built-in one."""

import dataclasses
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acpella._processes import has_directory, is_own_secret
from acpella._redact import redact
from acpella._references import absolute_reference, is_reference
from acpella.errors import TransportError

from ..terminal.output import say

if TYPE_CHECKING:
    from acpella.client.settings import AgentServer, ClientSettings

__all__ = [
    "BUILT_IN",
    "agent_command",
    "agent_name",
    "default_agent",
    "keepable",
    "need_program",
    "note_withheld",
    "resolve_agent",
    "startup_of",
]

BUILT_IN = "coder"

STARTED_WITHIN = 60.0
"""Seconds for an agent's first answer; some need 12 s on a cold machine, three times that on a busy one."""

DOWNLOADED_WITHIN = 300.0
"""The same for an agent that may be downloaded first."""


def resolve_agent(
    settings: "ClientSettings", target: str | list[str] | None, *, yes: bool = False
) -> "ClientSettings":
    """The settings, with the agent that `target` names added if it is built in or known by name.

    Without any agent in the settings, the built-in one is used. `yes` agrees to install a missing one.

    Raises:
        TransportError: a known agent is not installed; says what to do.
    """
    from acpella.client.settings import AgentServer

    if isinstance(target, str) and target not in settings.agents and target != BUILT_IN:
        server = _by_name(target, yes=yes)
        if server is not None:
            return dataclasses.replace(settings, agents={**settings.agents, target: server})
    if BUILT_IN in settings.agents or (settings.agents if target is None else target != BUILT_IN):
        return settings
    store = {name: os.environ[name] for name in ("ACPELLA_STORE",) if name in os.environ}
    own = AgentServer(sys.executable, ["-m", "acpella", "agent"], store)  # our own program may know our store
    return dataclasses.replace(settings, agents={**settings.agents, BUILT_IN: own})


def _by_name(name: str, *, yes: bool) -> "AgentServer | None":
    """An agent that is installed or known; None if the word is something else, such as a command."""
    from acpella.client.installed import is_agent_id

    if not is_agent_id(name):
        return None
    from acpella.client.names import find_by_name

    agent = find_by_name(name)
    if agent is None:
        from .installing import offer_install

        return offer_install(name, yes=yes)
    if sys.stderr.isatty():
        from shutil import which

        if (program := which(name)) is not None and program != agent.server.command:
            say(f"{name} is {agent.origin}, not {program}")
    return agent.server


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


def agent_command(target: str | list[str], settings: "ClientSettings") -> tuple[list[str], dict[str, str]]:
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
    if is_reference(target):
        return [sys.executable, "-m", "acpella", "agent", absolute_reference(target)], {}
    return shlex.split(target), {}


def need_program(command: Sequence[str], cwd: Path, *, path: str | None = None) -> None:
    """Raise early if a program is missing, for commands that start the agent only when a client connects.

    `path` is the agent's own PATH, if it has one.

    Raises:
        TransportError: there is no such program; says what to do.
    """
    program = command[0]
    if (cwd / program).exists() if has_directory(program) else _is_on(path, program):
        return
    from acpella.transport.process import why_not_started

    raise TransportError(why_not_started(program, cwd, FileNotFoundError()))


def keepable(target: str, settings: "ClientSettings") -> str:
    """The target as it may be written down: a file with its whole path; nothing if it holds secrets."""
    if target in settings.agents:
        return target
    if redact(target) != target:
        return ""
    from acpella.client.targets import file_of

    return file_of(target) or (absolute_reference(target) if is_reference(target) else target)


def note_withheld(target: str | None, settings: "ClientSettings") -> None:
    """Warn if our session database is withheld from an agent that may be made with acpella.

    Its sessions would be in another place than its user expects.
    """
    name = target or default_agent(settings)
    value = os.environ.get("ACPELLA_STORE", "")
    if name == BUILT_IN or not is_own_secret("ACPELLA_STORE", value):
        return
    command, env = agent_command(name, settings)
    if "ACPELLA_STORE" not in env and any(word.endswith(".py") for word in command):
        say(
            "ACPELLA_STORE holds a password, so the agent does not get it and keeps its sessions elsewhere. "
            "Put the password into ~/.pgpass, or give the agent the address with `acpella agents add --env`"
        )


def _is_on(path: str | None, program: str) -> bool:
    from shutil import which  # most agents are files, and a start counts

    return which(program, path=path) is not None

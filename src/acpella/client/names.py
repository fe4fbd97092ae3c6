"""Looks up agents that are not in the settings: installed from the registry, or known and on the PATH."""

import dataclasses
import shutil
from typing import NamedTuple

from acpella.errors import TransportError

from .installed import find_installed, is_agent_id, list_installed
from .known_agents import KNOWN_AGENTS, find_known
from .settings import AgentServer, ClientSettings

__all__ = ["NamedAgent", "find_by_name", "hint_for", "registry_id", "with_known"]

ALIKE = 0.7
"""How alike a word must be to a name to count as a slip of it."""


class NamedAgent(NamedTuple):
    """An agent that a name stands for."""

    server: AgentServer
    origin: str
    """Where it comes from, for people."""


def registry_id(name: str) -> str:
    """The id that the registry has for a short name such as `claude`."""
    agent = find_known(name)
    return name if agent is None else agent.id


def find_by_name(name: str) -> NamedAgent | None:
    """Find an agent by name: first among the installed ones, then a known program on the PATH; else None.

    Raises:
        TransportError: it is installed, but what runs it, such as Node, is missing.
    """
    if not is_agent_id(name):
        return None
    agent = find_known(name)
    installed = find_installed(registry_id(name))
    if installed is not None:
        receipt = installed.receipt
        return NamedAgent(installed.server, f"{receipt.id} {receipt.version} of the registry")
    program = None if agent is None else shutil.which(agent.program)
    if agent is None or program is None:
        return None
    return NamedAgent(AgentServer(program, list(agent.args)), program)


def with_known(settings: ClientSettings, target: str) -> ClientSettings:
    """The settings with the agent in them that `target` names, should they not name it themselves.

    Raises:
        TransportError: it is known and not installed; says how to do that. Nothing is downloaded from here.
    """
    if target in settings.agents:
        return settings
    known_agent = find_by_name(target)
    if known_agent is not None:
        return dataclasses.replace(settings, agents={**settings.agents, target: known_agent.server})
    if (agent := find_known(target)) is not None:
        raise TransportError(
            f"{agent.title} is not installed: there is no {agent.program} on the PATH. "
            f"`acpella registry install {agent.name}` installs it"
        )
    return settings


def hint_for(name: str, settings: ClientSettings) -> str:
    """What to say of a name that is not there: the one that was probably meant."""
    from difflib import get_close_matches  # only slips need it

    names = [word for agent in KNOWN_AGENTS for word in (agent.name, agent.id, *agent.aliases)]
    installed = [one.receipt.id for one in list_installed()]
    close = get_close_matches(name, [*settings.agents, *installed, *names], n=1, cutoff=ALIKE)
    if close:
        return f"did you mean {close[0]!r}?"
    suggestion = settings.suggest(name)
    more = "; `acpella registry list` shows those that can be installed"
    return suggestion + more if suggestion.startswith("there are") else suggestion

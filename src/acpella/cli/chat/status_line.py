"""The line below the input: the agent, its mode and model, how full it is, and where we are."""

import os

from acpella.client import ClientSession, ClientSettings, ConnectedAgent
from acpella.schema import UsageUpdate

from ..session.choices import models_of, modes_of
from ..terminal.clean import one_line
from ..terminal.rows import Row, cell_len
from ..terminal.update_rows import usage_text

__all__ = ["shown_name", "status_row"]


def status_row(
    name: str,
    state: str,
    session: ClientSession | None,
    usage: UsageUpdate | None,
    cwd: str,
    *,
    width: int,
) -> Row:
    """What fits, the most important first."""
    parts = [f"{name} ({state})" if state else name]
    if session is not None:
        settings = (modes_of(session), models_of(session))
        parts += [one_line(choices.name, 30) for choices in settings if choices is not None]
    if used := usage_text(usage):
        parts.append(used)
    home = os.path.expanduser("~")
    parts.append("~" + cwd[len(home) :] if cwd.startswith(home + "/") else cwd)
    while len(parts) > 1 and cell_len(" · ".join(parts)) > width:
        parts.pop()
    return [(" · ".join(parts), "dim")]


def shown_name(agent: ConnectedAgent | None, target: str, settings: ClientSettings) -> str:
    """The name that the user gave the agent, or else what it calls itself rather than its file."""
    if agent is None:
        return target
    info = agent.info
    if info is None or target in settings.agents:
        return agent.name
    return info.title or info.name or agent.name

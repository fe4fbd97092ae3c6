"""The settings of a command: those of the project before those of the user, or the file that was named."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from acpella.client.settings import ClientSettings, user_settings

from . import places
from .lines import say
from .trust import is_trusted, why_not

__all__ = ["FoundSettings", "find", "origin", "project_file"]


@dataclass(frozen=True, slots=True)
class FoundSettings(ClientSettings):
    """What several files say together; knows which agent is of which file."""

    origins: dict[str, Path] = field(default_factory=dict[str, Path])
    files: tuple[Path, ...] = ()


def find(path: str | os.PathLike[str] | None, cwd: str | os.PathLike[str] = ".") -> FoundSettings:
    """The named file alone; without one, that of the project if the user agreed to it, and the user's own.

    Raises:
        SettingsError: a file is missing although it was named, or is malformed.
    """
    if path is not None:
        return _merged([Path(path)])
    files: list[Path] = []
    project = project_file(cwd)
    if project is not None and is_trusted(project):
        files.append(project)
    elif project is not None:
        say(why_not(project))
    if user_settings().is_file():
        files.append(user_settings())
    return _merged(files)


def project_file(cwd: str | os.PathLike[str] = ".") -> Path | None:
    """The settings of this directory, or of its repository."""
    for place in (Path(os.path.abspath(cwd)), places.repository(cwd)):
        candidate = place / ".acpella" / "settings.json"
        if candidate.is_file():
            return candidate
    return None


def origin(settings: ClientSettings, agent: str) -> Path | None:
    """The file that names an agent; None for the built-in one, and for what no file names."""
    if agent not in settings.agents:
        return None
    found = settings.origins.get(agent) if isinstance(settings, FoundSettings) else settings.path
    return found.absolute() if found is not None else None


def _merged(files: list[Path]) -> FoundSettings:
    """The first file that has an agent or an MCP server of a name wins."""
    together = FoundSettings(path=files[0].absolute() if files else None, files=tuple(files))
    named: set[object] = set()
    for file in files:
        read = ClientSettings.load(file)
        for name, server in read.agents.items():
            if name not in together.agents:
                together.agents[name] = server
                together.origins[name] = file
        together.mcp_servers.extend(s for s in read.mcp_servers if s.get("name") not in named)
        named |= {s.get("name") for s in read.mcp_servers}
    return together

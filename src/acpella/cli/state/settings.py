"""The settings of a command: those of the project before those of the user, or the file that was named."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from acpella.client.settings import ClientSettings, user_settings
from acpella.client.settings_source import UntrustedSettings
from acpella.client.trust import project_file, read_trusted

from ..terminal.output import say

__all__ = ["FoundSettings", "find", "origin"]


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
        return _merged([ClientSettings.load(Path(path))])
    files: list[ClientSettings] = []
    project = project_file(cwd)
    if project is not None:
        try:
            files.append(ClientSettings.parse(read_trusted(project), project))
        except UntrustedSettings as error:
            say(str(error))
    if user_settings().is_file():
        files.append(ClientSettings.of_user())
    return _merged(files)


def origin(settings: ClientSettings, agent: str) -> Path | None:
    """The file that names an agent; None for the built-in one, and for what no file names."""
    if agent not in settings.agents:
        return None
    path = settings.origins.get(agent) if isinstance(settings, FoundSettings) else settings.path
    return path.absolute() if path is not None else None


def _merged(sources: list[ClientSettings]) -> FoundSettings:
    """The first file that has an agent or an MCP server of a name wins."""
    files = tuple(read.path for read in sources if read.path is not None)
    together = FoundSettings(path=files[0].absolute() if files else None, files=files)
    names: set[object] = set()
    for read in sources:
        for name, server in read.agents.items():
            if name not in together.agents and read.path is not None:
                together.agents[name] = server
                together.origins[name] = read.path
        together.mcp_servers.extend(s for s in read.mcp_servers if s.get("name") not in names)
        names |= {s.get("name") for s in read.mcp_servers}
    return together

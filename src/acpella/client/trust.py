"""Which settings files of projects the user agreed to: they choose commands that are started.

Whoever can write into a project can write one: a repository, an archive, an agent that edits. So each counts
after the user has seen it, and as long as it is the same to the byte.
"""

import os
from pathlib import Path

import msgspec

from acpella import _directories as directories

from .settings_source import UntrustedSettings, read_settings

__all__ = ["forget", "is_project", "is_trusted", "project_file", "read_trusted", "trust", "why_not"]

MAX_FILES = 1000
"""Files that are remembered; those that were agreed to first go first."""


def project_file(cwd: str | os.PathLike[str] = ".") -> Path | None:
    """The settings of this directory, or of its repository."""
    for place in (Path(os.path.abspath(cwd)), directories.repository(cwd)):
        candidate = place / ".acpella" / "settings.json"
        if candidate.is_file():
            return candidate
    return None


def is_project(path: Path) -> bool:
    """Whether it is a project's file, also under a name that some systems take for the same, or by a link."""
    return _own_path(path) is not None


def _own_path(path: Path) -> Path | None:
    """The path by which a file is a project's: as it is named, or where a link leads."""
    for place in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):
        if tuple(name.casefold() for name in place.parts[-2:]) == (".acpella", "settings.json"):
            return place
    return None


def read_trusted(path: Path) -> bytes:
    """The bytes of a project's file; they are what the user agreed to, whatever is written there meanwhile.

    Raises:
        UntrustedSettings: the user has not agreed to them; says how to.
        SettingsError: the file cannot be read.
    """
    data = read_settings(path)
    if not is_trusted(path, data):
        raise UntrustedSettings(why_not(path))
    return data


def is_trusted(path: Path, data: bytes) -> bool:
    """Whether the user agreed to these bytes as the content of that file."""
    return _known().get(_name(path)) == _digest(data)


def trust(path: Path, data: bytes) -> None:
    """Agree to these bytes as the content of that file. Raises `OSError` where nothing can be remembered."""
    digests = _known()
    name = _name(path)
    digests.pop(name, None)
    digests[name] = _digest(data)
    _write(digests)


def forget(path: Path) -> None:
    """The file is gone. Raises `OSError` where nothing can be remembered."""
    digests = _known()
    if digests.pop(_name(path), None) is not None:
        _write(digests)


def why_not(path: Path) -> str:
    """What to tell of a file that is not used."""
    changed = " any more, since it was changed" if _name(path) in _known() else ""
    here = project_file()
    where = "" if here is not None and _name(here) == _name(path) else f" in {Path(_name(path)).parents[1]}"
    return (
        f"{path} is not used{changed}: it names commands, which would run as you; "
        f"`acpella agents trust`{where} shows it and asks whether you agree"
    )


def _name(path: Path) -> str:
    """The project's own name for its file, wherever a link leads.

    The commands in it start from the project: whoever links to a file that was agreed to elsewhere would have
    their own `./agent` started.
    """
    project = os.path.realpath((_own_path(path) or path).parent.parent)
    return os.path.join(project, ".acpella", "settings.json")


def _file() -> Path:
    return directories.state() / "trusted.json"


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _known() -> dict[str, str]:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}  # then the user is asked to agree again


def _write(digests: dict[str, str]) -> None:
    directories.private(directories.state())
    newest = dict(list(digests.items())[-MAX_FILES:])
    directories.write_private(_file(), msgspec.json.format(msgspec.json.encode(newest), indent=1))

"""Which settings files of projects the user agreed to: they choose commands that are started."""

import os
from pathlib import Path

import msgspec

from . import places

__all__ = ["came_along", "forget", "is_project", "is_trusted", "trust", "why_not"]

_SHORTENED = (4).to_bytes(4, "big")
"""The version of git's index that keeps only how each name differs from the one before."""

MAX_FILES = 1000
"""Files that are remembered; those that were agreed to first go first."""


def is_project(path: Path) -> bool:
    """Whether it is a file that can come along with a repository."""
    return path.parts[-2:] == (".acpella", "settings.json")


def is_trusted(path: Path) -> bool:
    """Whether the file is the user's own, or the user agreed to it as it is now."""
    if not came_along(path):
        return True
    digest = _digest(path)
    return bool(digest) and _known().get(os.path.realpath(path)) == digest


def came_along(path: Path) -> bool:
    """Whether the file came with a repository: git tracks it. One that it does not was made here."""
    root = places.repository(path.parent)
    index = root / ".git" / "index"
    if (root / ".git").is_file():  # a worktree or a submodule names the place
        told = (root / ".git").read_text(encoding="utf-8", errors="replace")
        index = root / told.removeprefix("gitdir:").strip() / "index"
    try:
        data = index.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True  # nobody can tell
    if data[4:8] == _SHORTENED:
        return True  # its names are not written out
    spelled = Path(os.path.realpath(path.parent.parent), *path.parts[-2:])
    names = (spelled, spelled.parent, Path(os.path.realpath(path)))  # the directory, if it is a link
    inside = (name.relative_to(root) for name in names if name.is_relative_to(root))
    return any(os.fsencode(name.as_posix()) + b"\0" in data for name in inside)


def trust(path: Path) -> None:
    """Agree to the file as it is now. Raises `OSError` where nothing can be remembered."""
    known = _known()
    name = os.path.realpath(path)
    known.pop(name, None)
    known[name] = _digest(path)
    _write(known)


def forget(path: Path) -> None:
    """The file is gone. Raises `OSError` where nothing can be remembered."""
    known = _known()
    if known.pop(os.path.realpath(path), None) is not None:
        _write(known)


def why_not(path: Path) -> str:
    """What to tell of a file that is not used."""
    changed = " any more, since it was changed" if os.path.realpath(path) in _known() else ""
    return (
        f"{path} is not used{changed}: it names commands, which would run as you; read it, then agree with "
        "`acpella agents trust`"
    )


def _file() -> Path:
    return places.state() / "trusted.json"


def _digest(path: Path) -> str:
    import hashlib

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _known() -> dict[str, str]:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}  # then the user is asked to agree again


def _write(known: dict[str, str]) -> None:
    places.private(places.state())
    kept = dict(list(known.items())[-MAX_FILES:])
    places.write_private(_file(), msgspec.json.format(msgspec.json.encode(kept), indent=1))

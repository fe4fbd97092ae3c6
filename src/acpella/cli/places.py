"""Where the command line keeps what it remembers, and which repository a directory belongs to."""

import os
import stat
import sys
from pathlib import Path

__all__ = ["owners", "permissions", "private", "repository", "sockets", "state", "write_private"]

MAX_SOCKET_PATH = 100
"""Bytes of a socket's path. The system's limit is 104 to 108; longer ones cannot be bound."""


def state() -> Path:
    """The user's directory for what programs remember; not made yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "acpella"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "acpella"
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return base / "acpella"


def owners() -> Path:
    """Where each owner process keeps its lock, its address and its log."""
    return state() / "owners"


def sockets() -> Path:
    """Where the sockets are: the directory that the system clears at logout, or with the rest.

    The lock and the address are never there: another shell may have another environment.
    """
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    place = Path(given) / "acpella" if os.path.isabs(given) and os.path.isdir(given) else owners()
    if len(os.fsencode(place)) + 24 <= MAX_SOCKET_PATH:
        return place
    from zlib import crc32

    temporary = os.environ.get("TMPDIR", "")
    base = temporary if os.path.isabs(temporary) and len(temporary) < 40 else "/tmp"
    return Path(base) / f"acpella-{os.getuid()}-{crc32(os.fsencode(place)):08x}"


def permissions() -> Path:
    """The file of remembered permissions."""
    from acpella.client.permissions import default_file

    return default_file()


def private(directory: Path) -> Path:
    """Make a directory for the user alone.

    Raises:
        OSError: it cannot be made, or belongs to somebody else.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform != "win32":
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise PermissionError(f"{directory} does not belong to you")
        if stat.S_IMODE(status.st_mode) & 0o077:
            directory.chmod(0o700)
    return directory


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step; it is for the user alone."""
    new = path.with_name(f".{path.name}-{os.urandom(6).hex()}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def repository(directory: str | os.PathLike[str]) -> Path:
    """The root of the git repository around a directory, or the directory itself."""
    here = Path(os.path.realpath(directory))
    for place in (here, *here.parents):
        if (place / ".git").exists():  # a file in worktrees and submodules
            return place
    return here

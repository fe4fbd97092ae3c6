"""Where acpella keeps what it remembers, and which repository a directory belongs to."""

import os
import stat
import sys
from pathlib import Path

__all__ = ["private", "repository", "state", "write_private"]


def state() -> Path:
    """The user's directory for what programs remember; not made yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "acpella"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "acpella"
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return base / "acpella"


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

"""Where acpella keeps its files on each system, and which repository a directory belongs to."""

import functools
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["config", "data", "logs", "own", "private", "repository", "runtime", "state", "write_private"]


def config(*, platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of what the user sets; not made yet."""
    if platform == "win32":
        return _windows("APPDATA", "Roaming", environ)
    return _unix("XDG_CONFIG_HOME", ".config", platform, environ)


def data(*, platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of what belongs to the user, such as sessions; not made yet."""
    if platform == "win32":
        return _windows("LOCALAPPDATA", "Local", environ)
    return _unix("XDG_DATA_HOME", ".local/share", platform, environ)


def state(*, platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of what programs remember by themselves; not made yet."""
    if platform == "win32":
        return _windows("LOCALAPPDATA", "Local", environ)
    return _unix("XDG_STATE_HOME", ".local/state", platform, environ)


def logs(*, platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of log files; not made yet."""
    if platform == "darwin":
        return Path.home() / "Library" / "Logs" / "acpella"
    return state(platform=platform, environ=environ)


def runtime(*, platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The directory that the system clears at logout, for sockets; None where there is none."""
    directory = environ.get("XDG_RUNTIME_DIR", "")
    if platform in ("win32", "darwin") or not (os.path.isabs(directory) and os.path.isdir(directory)):
        return None
    return Path(directory) / "acpella"


_VARIABLES = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "APPDATA", "LOCALAPPDATA"),
    *("HOME", "USERPROFILE"),
)


def own() -> frozenset[str]:
    """All directories of acpella's own, without links: as the variables say, and as they would be without."""
    return _own(tuple(os.environ.get(name, "") for name in _VARIABLES))


@functools.lru_cache(maxsize=8)  # every file that an agent reads is compared with them
def _own(values: tuple[str, ...]) -> frozenset[str]:
    environ = dict(zip(_VARIABLES, values, strict=True))
    bare: dict[str, str] = {}
    paths = [
        directory(environ=variables)
        for directory in (config, data, state, logs, runtime)
        for variables in (environ, bare)
    ]
    return frozenset(os.path.realpath(path) for path in paths if path is not None)


def _unix(variable: str, default: str, platform: str, environ: Mapping[str, str]) -> Path:
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "acpella"
    directory = environ.get(variable, "")  # the XDG specification: relative ones are to be ignored
    return (Path(directory) if os.path.isabs(directory) else Path.home() / default) / "acpella"


def _windows(variable: str, default: str, environ: Mapping[str, str]) -> Path:
    return Path(environ.get(variable) or Path.home() / "AppData" / default) / "acpella"


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
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
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

"""The branch that a directory is on, read from git's own small files."""

import os
import stat
from pathlib import Path

__all__ = ["branch_of"]

MAX_BYTES = 4096
"""Of a file that names a branch or a directory."""


_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""O_NONBLOCK: a pipe in a hostile repository must not hang the server."""


def branch_of(directory: str) -> str:
    """The name of the branch; empty without one."""
    place = Path(directory)
    if not place.is_absolute():
        return ""
    try:
        home = next((one / ".git" for one in (place, *place.parents) if (one / ".git").exists()), None)
        if home is None:
            return ""
        if home.is_file():  # a worktree, or a submodule
            home = (home.parent / _read(home).removeprefix("gitdir: ")).resolve()
        head = _read(home / "HEAD")
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _read(file: Path) -> str:
    descriptor = os.open(file, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{file} is not a file")
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)

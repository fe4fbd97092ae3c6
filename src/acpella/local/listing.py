"""The files beneath a directory, as somebody who names one wants to find them."""

import os
import subprocess
import time
from pathlib import Path

from .git import LIST_FILES, git_environment

__all__ = ["ListedFiles"]

MAX_FILES = 20_000
"""Files that are offered; the list of a home directory would never end."""

LIST_TIME = 3.0
"""Seconds that listing files may take."""

FRESH = 10.0
"""Seconds for which a list of files is good."""


class ListedFiles:
    """The files beneath a directory, without those that git ignores."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._names: list[str] = []
        self._listed = 0.0

    def names(self) -> list[str]:
        """Relative paths; may take a moment, so not in the event loop."""
        if not self._listed or time.monotonic() - self._listed > FRESH:
            self._names = _git_files(self.root) or _walk(self.root)
            self._listed = time.monotonic()
        return self._names

    def matching(self, part: str, limit: int = 50) -> list[str]:
        """Those that contain what was typed; first those whose name begins with it."""
        part = part.lower()
        names = [name for name in self.names() if part in name.lower()]

        def rank(name: str) -> tuple[bool, bool, int, str]:
            low = name.lower()
            return (
                not os.path.basename(low.rstrip("/")).startswith(part),
                not low.startswith(part),
                len(low),
                low,
            )

        return sorted(names, key=rank)[:limit]


def _git_files(root: Path) -> list[str]:
    try:
        ran = subprocess.run(
            LIST_FILES,
            cwd=root,
            env=git_environment(),
            capture_output=True,
            timeout=LIST_TIME,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = ran.stdout.decode("utf-8", "replace").split("\0")[:MAX_FILES]
    return list(dict.fromkeys(name for name in names if name)) if ran.returncode == 0 else []


def _walk(root: Path) -> list[str]:
    names: list[str] = []
    until = time.monotonic() + LIST_TIME
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        inside = os.path.relpath(folder, root)
        names += [name if inside == "." else os.path.join(inside, name) for name in sorted(files)]
        if len(names) > MAX_FILES or time.monotonic() > until:
            break
    return names[:MAX_FILES]

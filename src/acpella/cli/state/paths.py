"""Where the command line keeps its files."""

import os
import sys
from pathlib import Path

from acpella._directories import private, repository, runtime, state, write_private

__all__ = ["daemons", "permissions", "private", "repository", "sockets", "state", "write_private"]

MAX_SOCKET_PATH = 100
"""Bytes of a socket's path. The system's limit is 104 to 108; longer ones cannot be bound."""


def daemons() -> Path:
    """Where each background process keeps its lock, its address and its log."""
    return state() / "daemons"


def sockets() -> Path:
    """Where the sockets are: the directory that the system clears at logout, or with the rest.

    The lock and the address are never there: another shell may have another environment.
    """
    place = runtime() or daemons()
    if len(os.fsencode(place)) + 24 <= MAX_SOCKET_PATH:
        return place
    from zlib import crc32

    temporary = os.environ.get("TMPDIR", "")
    base = temporary if os.path.isabs(temporary) and len(temporary) < 40 else "/tmp"
    user = "" if sys.platform == "win32" else os.getuid()
    return Path(base) / f"acpella-{user}-{crc32(os.fsencode(place)):08x}"


def permissions() -> Path:
    """The file of remembered permissions."""
    from acpella.client.permissions import default_file

    return default_file()

"""Where the daemon of a session is found, and how to clean up after one that was killed."""

import contextlib
import os
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec

from acpella._processes import inherited_environment, kill_tree
from acpella.errors import TransportError

from ..state import paths
from ..state.file_locks import try_lock

__all__ = ["DaemonAddress", "started_ticks", "sweep", "unix_socket"]


class DaemonAddress(msgspec.Struct, kw_only=True):
    """Where a daemon is reached, and what must be ended should it be killed."""

    pid: int
    ticks: int
    socket: str
    agent_pid: int = 0
    agent_ticks: int = 0

    @staticmethod
    def read(path: Path) -> "DaemonAddress | None":
        try:
            return msgspec.json.decode(path.read_bytes(), type=DaemonAddress)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def write(self, path: Path) -> None:
        paths.write_private(path, msgspec.json.encode(self))

    @staticmethod
    def end_leftovers(path: Path) -> None:
        """The daemon of this address is dead: end its agent, should that not have noticed."""
        address = DaemonAddress.read(path)
        if address is None:
            return
        if address.agent_ticks and started_ticks(address.agent_pid) == address.agent_ticks:
            kill_tree(address.agent_pid)
        place = Path(address.socket)
        place.unlink(missing_ok=True)
        if place.parent != path.parent:
            with contextlib.suppress(OSError):
                place.parent.rmdir()  # others may be there
        path.unlink(missing_ok=True)


def started_ticks(pid: int) -> int:
    """When a process was started; 0 if there is none. With the pid it names one process for good."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0 if sys.platform == "linux" else _started_by_ps(pid)


def _started_by_ps(pid: int) -> int:
    """The same where there is no /proc, as on macOS."""
    if pid <= 0:
        return 0
    try:
        text = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            env={**inherited_environment(), "LC_ALL": "C"},
            capture_output=True,
            timeout=5,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return zlib.crc32(text.strip()) if text.strip() else 0


def sweep() -> None:
    """Clean up after daemons that were killed."""
    try:
        addresses = list(paths.daemons().glob("*.json"))
    except OSError:
        return
    for path in addresses:
        with contextlib.suppress(OSError):
            lock = try_lock(path.with_suffix(".lock"))
            if lock is not None:
                try:
                    DaemonAddress.end_leftovers(path)
                finally:
                    os.close(lock)


def unix_socket() -> socket.socket:
    """A socket between the processes of this machine.

    Raises:
        TransportError: there are none on this system; says what to do instead.
    """
    if sys.platform == "win32":
        raise TransportError(
            "sessions that stay alive need Unix sockets, which Python does not have on Windows; "
            "use `acpella run` and `acpella chat` without -s, or WSL"
        )
    return socket.socket(socket.AF_UNIX)

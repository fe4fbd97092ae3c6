"""One process's hold on a session: the lock that keeps others off, and the socket where they find it."""

import contextlib
import os
import socket
from pathlib import Path

from ..state import paths
from ..state.file_locks import try_lock
from .address import DaemonAddress, started_ticks, unix_socket

__all__ = ["MAX_CLIENTS", "SessionLock"]

MAX_CLIENTS = 256
"""Clients at once. Without it, a loop in a script would use up the descriptors."""


class SessionLock:
    """Held from `take` until `release`, or until the process dies."""

    def __init__(self, key: str, descriptor: int) -> None:
        directory = paths.daemons()
        self._held = descriptor
        self._place = directory / f"{key}.json"
        self._socket = paths.sockets() / f"{key}.sock"
        try:
            DaemonAddress.end_leftovers(self._place)
            self.listener: socket.socket = _listen(self._socket)
            own = os.getpid()
            self._address = DaemonAddress(pid=own, ticks=started_ticks(own), socket=os.fspath(self._socket))
            self._address.write(self._place)
        except BaseException:
            self.release()
            raise

    @classmethod
    def take(cls, key: str) -> "SessionLock | None":
        """Take a session; None if another process has it.

        Raises:
            OSError: nothing can be kept here.
            TransportError: there are no Unix sockets on this system.
        """
        unix_socket().close()  # says what to do where there are none
        descriptor = try_lock(paths.private(paths.daemons()) / f"{key}.lock")
        return None if descriptor is None else cls(key, descriptor)

    def tell_agent(self, pid: int) -> None:
        """Whoever finds this process dead ends its agent."""
        self._address.agent_pid, self._address.agent_ticks = pid, started_ticks(pid)
        self._address.write(self._place)

    def release(self) -> None:
        """Let others have the session. Safe to call twice."""
        if self._held < 0:
            return
        if hasattr(self, "listener"):
            self.listener.close()
        self._socket.unlink(missing_ok=True)
        self._place.unlink(missing_ok=True)
        if self._socket.parent != self._place.parent:
            with contextlib.suppress(OSError):
                self._socket.parent.rmdir()  # others may be there
        os.close(self._held)
        self._held = -1


def _listen(path: Path) -> socket.socket:
    paths.private(path.parent)
    path.unlink(missing_ok=True)  # the lock says that nobody listens there
    listener = unix_socket()
    mask = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
    except FileNotFoundError:  # another process has just removed the empty directory
        paths.private(path.parent)
        listener.bind(os.fspath(path))
    finally:
        os.umask(mask)
    listener.listen(MAX_CLIENTS)
    listener.setblocking(False)
    return listener

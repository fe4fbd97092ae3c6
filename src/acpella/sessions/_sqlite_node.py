"""Which opened stores on a database are alive, told by file locks: the kernel drops them with their process.

Each opened store is a node. It locks a file of its own beside the database for as long as it lives, and other
nodes try that lock. No heartbeats, and nothing to wait for after a crash.
"""

import os
import secrets
from pathlib import Path

from acpella._processes.locks import lock_file

from .store import StoreError

__all__ = ["SqliteNode"]


class SqliteNode:
    """One opened store among those on the same database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._fd: int | None = None
        self.id = ""

    def enter(self) -> None:
        """Become alive, and clear away what dead nodes left."""
        try:
            while self._fd is None:
                self.id = f"{os.getpid()}-{secrets.token_hex(8)}"
                self._fd = self._claim(self._file(self.id))
            self._sweep()
        except OSError as exc:
            raise StoreError(f"cannot lock a file beside {self._database}: {exc.strerror or exc}") from exc

    def leave(self) -> None:
        """Stop being alive. Safe to call twice."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        _remove(self._file(self.id))
        os.close(fd)
        _remove(self._file(self.id))  # Windows removes no open file

    def is_alive(self, node_id: str) -> bool:
        """Whether that node's process still has it open; a dead one's file is removed."""
        if node_id == self.id:
            return True
        path = self._file(node_id)
        try:
            fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # another user's: it cannot be told, so it is not taken
        try:
            # shared: two that ask at once must not take each other for the owner
            if not lock_file(fd, shared=True):
                return True
            _remove(path)
        finally:
            os.close(fd)
        _remove(path)
        return False

    @staticmethod
    def pid(node_id: str) -> str:
        """The process of a node."""
        return node_id.partition("-")[0]

    def _file(self, node_id: str) -> Path:
        return self._database.with_name(f"{self._database.name}-node-{node_id}")

    @staticmethod
    def _claim(path: Path) -> int | None:
        """The locked file, or None when somebody cleared it away before it was locked."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if lock_file(fd, shared=False) and os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileNotFoundError:
            pass
        except OSError:
            os.close(fd)
            raise
        os.close(fd)
        return None

    def _sweep(self) -> None:
        prefix = f"{self._database.name}-node-"
        for name in os.listdir(self._database.parent):
            if name.startswith(prefix):
                self.is_alive(name.removeprefix(prefix))


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass

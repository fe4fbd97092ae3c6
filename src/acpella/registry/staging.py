"""The directory in which an agent is assembled; those that killed processes left behind are deleted."""

import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acpella import _directories as directories
from acpella._processes.locks import lock_file
from acpella.client.installed import agents_directory, is_agent_id

from .download import Progress
from .errors import InstallError

__all__ = ["Staging", "agent_home", "lock_agent", "sweep"]

LOCKED_WITHIN = 1800.0
"""Seconds to wait for another process that installs the same agent."""


def agent_home(agent_id: str) -> Path:
    """The directory of an agent, which may not exist yet.

    Raises:
        InstallError: this is not a valid id. `..` or `/tmp` would lead to a foreign directory.
    """
    if not is_agent_id(agent_id):
        raise InstallError(f"{agent_id!r} is not the id of an agent, which is of a-z, 0-9 and -")
    return agents_directory() / agent_id


class Staging:
    """A staging directory; `close` deletes it, unless it was moved to its place."""

    def __init__(self, agent_id: str) -> None:
        home = agent_home(agent_id)
        directories.private(home.parent)
        self.path: Path = home / f".staging-{os.urandom(6).hex()}"
        self.files: Path = self.path / "files"
        directories.private(home)
        self.path.mkdir(mode=0o700)
        self._lock = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        lock_file(self._lock)

    def move_to(self, place: Path) -> None:
        """Move the directory to its place, in one step."""
        self._unlock()
        (self.path / ".lock").unlink()
        _sync_directory(self.path)
        os.rename(self.path, place)
        _sync_directory(place.parent)

    def close(self) -> None:
        self._unlock()
        shutil.rmtree(self.path, ignore_errors=True)
        try:
            self.path.parent.rmdir()
        except OSError:
            pass  # it holds installed versions of the agent

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(home: Path) -> None:
    """Delete staging directories of killed processes; one that is in use is locked."""
    for path in home.glob(".staging-*"):
        try:
            handle = os.open(path / ".lock", os.O_RDWR)
        except OSError:
            if time.time() - path.stat().st_mtime > 60:  # otherwise it may have been created just now
                shutil.rmtree(path, ignore_errors=True)
            continue
        dead = lock_file(handle)
        os.close(handle)
        if dead:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def lock_agent(agent_id: str, progress: Progress) -> Generator[None]:
    """Let no other process change which version of an agent is used.

    Raises:
        InstallError: another process has held the lock for too long, or this is not a valid id.
    """
    home = agent_home(agent_id)
    path = directories.private(home.parent) / f".{home.name}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline, announced = time.monotonic() + LOCKED_WITHIN, False
        while not lock_file(handle):
            if not announced:
                progress.step(f"wait for another process that installs {agent_id}")
                announced = True
            if time.monotonic() > deadline:
                raise InstallError(f"another process has been installing {agent_id} for half an hour")
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _sync_directory(path: Path) -> None:
    """Make the entries of a directory survive a power failure, where the system supports that."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

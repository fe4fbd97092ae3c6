"""Locks between the processes of a user. They end with the process that holds them, however that ends."""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acpella._processes.locks import lock_file

__all__ = ["locked", "try_lock"]

LOCK_WITHIN = 5.0
"""Seconds to wait for other processes that write a file, which takes them milliseconds."""


@contextmanager
def locked(path: Path, *, directory: bool = False) -> Generator[None]:
    """Have a lock to oneself: a file, made if it is not there, or a directory whose files are replaced.

    Raises:
        TimeoutError: another process has had it for long.
        OSError: it cannot be opened.
    """
    deadline = time.monotonic() + LOCK_WITHIN
    while (handle := try_lock(path, directory=directory)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} is held by another process")
        time.sleep(0.005)
    try:
        yield
    finally:
        os.close(handle)


def try_lock(path: Path, *, directory: bool = False) -> int | None:
    """A descriptor that holds the lock for as long as it is open; None if somebody else does."""
    handle = _open(path, directory=directory)
    if not lock_file(handle):
        os.close(handle)
        return None
    return handle


def _open(path: Path, *, directory: bool) -> int:
    if sys.platform != "win32" and directory:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    if directory:  # which Windows cannot open
        path /= ".lock"
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

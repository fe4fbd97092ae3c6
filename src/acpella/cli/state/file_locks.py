"""Locks between the processes of a user. They end with the process that holds them, however that ends."""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

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
    if sys.platform == "win32":
        yield  # no lock there; the files are still replaced whole
        return
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
    import fcntl

    flags = os.O_RDONLY | os.O_DIRECTORY if directory else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle

"""Processes on Unix: a group of their own, which signals reach as a whole; /proc for those that left it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

from .descendants import Descendants

assert sys.platform != "win32"  # type checkers skip the rest there; `__init__` takes another module

__all__ = ["ProcessTree", "kill_tree", "start"]


def start(
    command: Sequence[str],
    *,
    stdin: int | IO[bytes],
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    return subprocess.Popen(
        list(command),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        bufsize=0,
        start_new_session=True,
    )


def kill_tree(pid: int) -> None:
    """End a process that leads a group at once, with the whole group and what has left it."""
    descendants = Descendants(pid)
    descendants.look()
    _signal_group(pid, signal.SIGKILL)
    descendants.signal(signal.SIGKILL)


def _signal_group(group: int, number: int) -> bool:
    """False if nobody is left in it, or only processes that we may not signal: another user's."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class ProcessTree:
    """A process and all that it started: its group, and what has left the group."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._group = process.pid
        self._descendants = Descendants(process.pid)

    def note_descendants(self) -> None:
        """Remember what it has started. Do so before it ends its commands: it may miss some of them."""
        self._descendants.look()

    def terminate(self) -> bool:
        """Ask the group to end; False if nobody is left in it whom we may signal."""
        return _signal_group(self._group, signal.SIGTERM)

    def kill(self) -> bool:
        """End the group at once; False if nobody is left in it whom we may signal."""
        return _signal_group(self._group, signal.SIGKILL)

    def runs(self) -> bool:
        """Whether the group has any process left that we may signal, zombies included."""
        return _signal_group(self._group, 0)

    def terminate_detached(self) -> bool:
        """Ask those to end that left the group; False if there are none."""
        return self._descendants.signal(signal.SIGTERM)

    def kill_detached(self) -> bool:
        """End those at once that left the group; False if there are none."""
        return self._descendants.signal(signal.SIGKILL)

    def detached_run(self) -> bool:
        """Whether any that left the group still runs."""
        return self._descendants.signal(0)

"""Noticing that a process has exited, from an event loop."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable

__all__ = ["ExitWatch"]


class ExitWatch:
    """Tells once how a process ended: its exit code, or the negative number of the signal that killed it.

    On Linux the process is not reaped by this, so that its number stays its own until it is; elsewhere a
    thread waits for it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", exited: Callable[[int], None]) -> None:
        self._process = process
        self._exited = exited
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        if not self._watch_descriptor():
            threading.Thread(target=self._wait, name=f"wait for {process.pid}", daemon=True).start()

    def stop(self) -> None:
        """Watch no longer. Safe to call twice."""
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _watch_descriptor(self) -> bool:
        if sys.platform != "linux":
            return False
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            return False  # an old kernel, or a Python built for one
        self._loop.add_reader(self._pidfd, self._noticed)
        return True

    def _noticed(self) -> None:
        if sys.platform == "linux":
            self.stop()
            status = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            assert status is not None
            self._exited(status.si_status if status.si_code == os.CLD_EXITED else -status.si_status)

    def _wait(self) -> None:
        code = self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._exited, code)
        except RuntimeError:
            pass  # the loop is gone

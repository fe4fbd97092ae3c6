"""What a child has started, found in /proc: a signal to its group reaches only a part of that.

Agents run commands in sessions of their own (`setsid`). A process that was orphaned before anybody looked is
a daemon, such as the server of a terminal multiplexer, and is left alone. Without /proc nothing is found.
"""

import os
import signal
import sys
from typing import NamedTuple

__all__ = ["Descendants"]


class _Stat(NamedTuple):
    parent: int
    session: int
    started: int  # with the number, it names a process for good


class Descendants:
    """The processes beneath one, as far as they were seen."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._root_started = _started(root)
        self._seen: dict[int, _Stat] = {}

    def look(self) -> None:
        """Note who is there now. Do it while the parents live: they are the only trace."""
        unvisited = [pid for pid, status in list(self._seen.items()) if _is(pid, status)]
        if self._root_started is not None and _started(self._root) == self._root_started:
            unvisited.append(self._root)
        while unvisited:
            for pid in _children(unvisited.pop()):
                if pid not in self._seen and (status := _stat(pid)) is not None:
                    self._seen[pid] = status
                    unvisited.append(pid)
        sessions = {status.session for status in list(self._seen.values())}
        if others := sessions - {self._root, _own_session()}:
            self._look_in(others)

    def _look_in(self, sessions: set[int]) -> None:
        """Note who else is in these sessions: their parents may be gone."""
        for pid, status in _all().items():
            if status.session in sessions and pid not in self._seen:
                earlier = self._seen.get(status.session)
                if earlier is None or _stat(status.session) is None or _is(status.session, earlier):
                    self._seen[pid] = status

    def signal(self, number: int) -> bool:
        """Signal those that were seen and still run; False if nobody does."""
        # lists: a signal handler may look in the middle of this
        running = [(pid, status) for pid, status in list(self._seen.items()) if _is(pid, status)]
        for pid, status in running:
            _send(pid, status, number)
        return bool(running)


def _own_session() -> int:
    return 0 if sys.platform == "win32" else os.getsid(0)


def _stat(pid: int) -> _Stat | None:
    """None if it is gone, or dead and not buried."""
    fields = _fields(pid)
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return _Stat(int(fields[1]), int(fields[3]), int(fields[19]))


def _started(pid: int) -> int | None:
    """When it was started, also if it is dead and not buried; None if it is gone."""
    fields = _fields(pid)
    return int(fields[19]) if fields else None


def _fields(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _is(pid: int, status: _Stat) -> bool:
    now = _stat(pid)
    return now is not None and now.started == status.started


def _all() -> dict[int, _Stat]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    return {
        int(name): status for name in names if name.isdigit() and (status := _stat(int(name))) is not None
    }


def _children(pid: int) -> list[int]:
    """Not the whole of /proc is read: a server with many agents would do so for each."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    children: list[int] = []
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                children += map(int, file.read().split())
        except FileNotFoundError:
            if os.path.exists(f"/proc/{pid}/task/{task}"):  # a kernel built without these files
                return [child for child, status in _all().items() if status.parent == pid]
        except OSError:
            pass  # it ended
    return children


def _send(pid: int, status: _Stat, number: int) -> None:
    """The number may belong to somebody else by now: hold on to the process, then look again."""
    if sys.platform != "linux":
        return
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is(pid, status):
            signal.pidfd_send_signal(handle, number)
    except OSError:
        pass  # it ended, or it is another user's
    finally:
        os.close(handle)

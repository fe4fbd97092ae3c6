"""No process of a test run outlives it: those that are left are reported and killed, and fail the run.

Each run has an id in the environment, which its processes inherit; a run inside a run appends its own id
after a slash. If a test gives a process another environment, its working directory shows whose it is.
Only Linux shows the environment of other processes (`/proc`); elsewhere nothing is searched.
"""

import contextlib
import os
import select
import signal
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RUN = "PYTEST_RUN_OF_ACPELLA"
GRACE = 5.0
"""Seconds for processes that were told to end and have not finished yet."""

_PROC = Path("/proc")
_left = pytest.StashKey[list["Process"]]()


@dataclass(frozen=True, slots=True)
class Process:
    """A process as `/proc` shows it."""

    pid: int
    parent: int
    command: str
    test: str
    """The test that started it, if its environment names one."""

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid}, parent {self.parent}, started by {self.test})"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers belong to the run of their controller
        outer = os.environ.get(RUN)
        os.environ[RUN] = f"{outer}/{uuid.uuid4().hex}" if outer else uuid.uuid4().hex


@pytest.hookimpl(trylast=True)  # after the workers have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    factory: Any = vars(session.config)["_tmp_path_factory"]  # there is no public access to it
    place: Path | None = factory._basetemp
    left = still_there(of_run(place))
    session.config.stash[_left] = left
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        end(left)
        end(of_run(place))  # processes that they have started meanwhile


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(_left, None):
        terminalreporter.section("processes that tests left behind (ended now)", red=True)
        for process in left:
            terminalreporter.line(str(process))


def of_run(place: Path | None = None) -> list[Process]:
    """All processes of this run, except this one and its ancestors."""
    run = os.environ[RUN].encode()
    above = set(_ancestors())
    found: list[Process] = []
    children: dict[int, list[int]] = {}
    seen: dict[int, Process] = {}
    for pid in _pids():
        with contextlib.suppress(OSError):
            state, parent = _state(pid)
            if state in "ZX":
                continue
            environment = _environment(pid)
            test = environment.get(b"PYTEST_CURRENT_TEST", b"an unknown test").decode(errors="replace")
            words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
            command = b" ".join(words).decode(errors="replace").strip()
            process = seen[pid] = Process(pid, parent, command, test.rpartition(" (")[0] or test)
            children.setdefault(parent, []).append(pid)
            marked = environment.get(RUN.encode(), b"")
            if marked == run or marked.startswith(run + b"/") or (place and _was_left_in(place, pid, parent)):
                found.append(process)
    # A process that was forked without exec shows the environment that its parent started with.
    pids = {process.pid for process in found} | {os.getpid()}
    pending = list(pids)
    while pending:
        for child in children.get(pending.pop(), []):
            if child not in pids:
                pids.add(child)
                pending.append(child)
    return [seen[pid] for pid in sorted(pids - above) if pid in seen]


def below(pid: int) -> list[Process]:
    """The processes that `pid` has started, directly or not, as far as they have not been orphaned."""
    tree = {process.pid: process for process in of_run()}
    found: list[Process] = []
    pending = [pid]
    while pending:
        parent = pending.pop()
        started = [process for process in tree.values() if process.parent == parent]
        found += started
        pending += [process.pid for process in started]
    return found


def still_there(processes: Iterable[Process], grace: float = GRACE) -> list[Process]:
    """The processes that have not ended after the grace period."""
    watched: dict[int, Process] = {}
    poll = select.poll()
    try:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(process.pid)
                watched[descriptor] = process
                poll.register(descriptor, select.POLLIN)
        deadline = time.monotonic() + grace
        remaining = dict(watched)
        while remaining and (wait := deadline - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(wait * 1000):
                poll.unregister(descriptor)
                del remaining[descriptor]
        return list(remaining.values())
    finally:
        for descriptor in watched:
            os.close(descriptor)


def end(processes: Iterable[Process]) -> None:
    """Kill the processes, and wait until they are gone: on a busy machine that takes a moment."""
    killed = list(processes)
    for process in killed:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
    still_there(killed)


def _pids() -> Iterator[int]:
    if _PROC.is_dir():
        yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal())


def _state(pid: int) -> tuple[str, int]:
    state, parent = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    return state, int(parent)


def _environment(pid: int) -> dict[bytes, bytes]:
    entries = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries)}


def _was_left_in(place: Path, pid: int, parent: int) -> bool:
    """Whether this is an orphan that works in the directory; the shell of somebody looking around is not."""
    if not (_PROC / str(pid) / "cwd").readlink().is_relative_to(place):
        return False
    return parent == 1 or (_PROC / str(parent) / "comm").read_text().strip() in ("systemd", "init")


def _ancestors() -> Iterator[int]:
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            _, pid = _state(pid)
        except OSError:
            return

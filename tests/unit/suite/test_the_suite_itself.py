"""The suite ends, says why, and leaves nothing: bad tests in a directory of their own, really run."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
ONE_PROCESS: tuple[str, ...] = ()
WORKERS = ("--numprocesses", "2", "--dist", "loadfile")

# A process that ignores its end and that of whoever started it; its pid stands in a file.
SLEEPER = """
import os, subprocess, sys, threading, time
from pathlib import Path

def start(**settings):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(command, start_new_session=True, **settings)
    with open(Path(__file__).with_name("pids"), "a") as file:
        file.write(f"{process.pid}\\n")
    return process
"""


@dataclass(frozen=True)
class Run:
    code: int
    said: str
    started: list[int]

    def left(self) -> list[int]:
        """Which of the processes that tests started still run."""
        return [pid for pid in self.started if runs(pid)]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def run(place: Path, tests: str, *options: str, deadline: int = 300, before: str = "") -> Run:
    """Runs `tests`, with other files beside them so that every worker has something to do."""
    place = place / "suite"
    place.mkdir()
    (place / "pytest.ini").write_text(f"[pytest]\ntest_deadline = {deadline}\n", encoding="utf-8")
    (place / "conftest.py").write_text(
        f'pytest_plugins = ("leftovers", "hang_watch")\n{before}', encoding="utf-8"
    )
    (place / "test_bad.py").write_text(SLEEPER + tests, encoding="utf-8")
    for number in range(4):
        (place / f"test_good_{number}.py").write_text(
            "def test_it(): pass\ndef test_more(): pass\n", encoding="utf-8"
        )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "--basetemp", str(place / "tmp"), *options],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,  # far more than it takes: standing still is what must not happen
    )
    pids = place / "pids"
    started = [int(pid) for pid in pids.read_text().split()] if pids.exists() else []
    return Run(ran.returncode, ran.stdout + ran.stderr, started)


both = pytest.mark.parametrize("options", [ONE_PROCESS, WORKERS], ids=["one process", "workers"])


@both
def test_a_good_run_is_green(tmp_path: Path, options: tuple[str, ...]) -> None:
    tests = "def test_tidy():\n    process = start()\n    process.kill()\n    process.wait()\n"
    ran = run(tmp_path, tests, *options)
    assert ran.code == 0, ran.said
    assert "9 passed" in ran.said
    assert "left behind" not in ran.said


@both
def test_a_test_that_hangs_ends_the_run_and_is_named(tmp_path: Path, options: tuple[str, ...]) -> None:
    tests = "def test_fine(): pass\n\ndef test_hangs():\n    start()\n    threading.Event().wait()\n"
    ran = run(tmp_path, tests, *options, deadline=3)
    assert ran.code == 1, ran.said
    assert "test_bad.py::test_hangs did not end within 3 seconds" in ran.said
    assert re.search(r'test_bad\.py", line \d+ in test_hangs', ran.said), "the stack"
    assert len(ran.started) == 1
    assert ran.left() == []


def test_workers_beside_one_that_hangs_finish_and_are_reported(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test_hangs(): threading.Event().wait()\n", *WORKERS, deadline=3)
    assert "crashed while running 'test_bad.py::test_hangs'" in ran.said
    assert "replacing crashed worker" not in ran.said
    assert re.search(r"1 failed, \d+ passed", ran.said)


def test_a_worker_that_cannot_even_be_watched_ends_the_run(tmp_path: Path) -> None:
    """It is stopped like one that the system has frozen: only the controller can still act."""
    tests = "import signal\ndef test_freezes():\n    start()\n    os.kill(os.getpid(), signal.SIGSTOP)\n"
    before = (
        "import hang_watch\nhang_watch.CONTROLLER_GRACE = 2.0\n"
        "hang_watch.WatchedWorkers.pytest_sessionstart = lambda self: None\n"  # workers may be slow to start
    )
    ran = run(tmp_path, tests, *WORKERS, deadline=2, before=before)
    assert ran.code == 1, ran.said
    assert "test_bad.py::test_freezes did not end within 4 seconds; the run ends" in ran.said
    assert ran.left() == []


@both
def test_a_file_that_cannot_even_be_read_ends_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    ran = run(tmp_path, "start()\nthreading.Event().wait()\n", *options, deadline=3)
    assert ran.code != 0, ran.said
    assert "the search for tests did not end within 3 seconds" in ran.said
    assert re.search(r'test_bad\.py", line \d+ in <module>', ran.said), "the stack"
    assert ran.left() == []


@both
@pytest.mark.parametrize(
    "settings", ["", "env={}, cwd=tmp_path"], ids=["inherited environment", "environment of its own"]
)
def test_a_process_that_is_left_fails_the_run_and_is_ended(
    tmp_path: Path, options: tuple[str, ...], settings: str
) -> None:
    ran = run(tmp_path, f"def test_leaves(tmp_path):\n    start({settings})\n", *options)
    assert ran.code == 1, ran.said
    assert "9 passed" in ran.said, "no test failed, the run did"
    assert "processes that tests left behind" in ran.said
    assert f"(pid {ran.started[0]}, parent " in ran.said
    if not settings:
        assert "started by test_bad.py::test_leaves" in ran.said
    assert ran.left() == []


def test_an_orphan_is_found_although_nobody_above_it_lives(tmp_path: Path) -> None:
    """As with a command that runs another one, when only the first was killed."""
    tests = """
def test_leaves_a_grandchild():
    # its stdout is stderr, so that it does not keep the pipe of its parent open
    sleeper = "[sys.executable, '-c', 'import time; time.sleep(600)'], stdout=2"
    code = f"import subprocess, sys; print(subprocess.Popen({sleeper}).pid)"
    ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    Path(__file__).with_name("pids").write_text(ran.stdout)
"""
    ran = run(tmp_path, tests, *WORKERS)
    assert ran.code == 1, ran.said
    assert "started by test_bad.py::test_leaves_a_grandchild" in ran.said
    assert len(ran.started) == 1
    assert ran.left() == []


def test_processes_of_another_run_are_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        ran = run(tmp_path, "def test_leaves(): start()\n")
        assert ran.code == 1
        assert runs(other.pid)
        assert f"pid {other.pid}" not in ran.said
    finally:
        other.communicate(b"\n")

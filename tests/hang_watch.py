"""Reports a test that never ends with its stack, kills it with everything it has started, and ends the run.

With workers, the stuck worker ends itself; its controller then reports the test as failed and lets the others
finish their tests. If a worker does not even get to run its own watchdog, the controller ends everything. A
dead worker is not replaced: the new one would be given the same tests again, including the bad one.
"""

import faulthandler
import os
import threading
import time
from collections.abc import Callable, Generator

import pytest

import leftovers

COLLECTION = "the search for tests"
NEWS = "the wait for news of the workers"

CONTROLLER_GRACE = 60.0
"""Seconds that the workers have on top of the deadline, before their controller ends the run."""


class Watchdog:
    """Calls `bark` from a thread of its own when one piece of work takes longer than `seconds`."""

    def __init__(self, seconds: float, bark: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._bark = bark
        self._changed = threading.Condition()
        self._running: dict[str, float] = {}
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def start(self, name: str) -> None:
        with self._changed:
            self._running[name] = time.monotonic() + self._seconds
            self._changed.notify()

    def finish(self, name: str) -> None:
        with self._changed:
            self._running.pop(name, None)

    def forget(self) -> None:
        """Watch nothing until something starts again."""
        with self._changed:
            self._running.clear()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _watch(self) -> None:
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                first = min(self._running, key=self._running.__getitem__, default=None)
                if first is not None and self._running[first] <= now:
                    self._bark(first)
                    return
                self._changed.wait(self._seconds if first is None else self._running[first] - now)


class WatchedTests:
    """Watches the tests, in the process that runs them."""

    def __init__(self, seconds: float, *, worker: bool) -> None:
        self._seconds = seconds
        self._worker = worker
        self._stderr = os.dup(2)  # the real one: pytest captures descriptor 2 while a test runs
        self._watchdog = Watchdog(seconds, self._end)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._watchdog.start(item.nodeid)
        try:
            return (yield)
        finally:
            self._watchdog.finish(item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        self._watchdog.start(COLLECTION)
        try:
            return (yield)
        finally:
            self._watchdog.finish(COLLECTION)

    def pytest_enter_pdb(self) -> None:
        self._watchdog.forget()  # a person in the debugger takes as long as they need

    def pytest_unconfigure(self) -> None:
        self._watchdog.stop()
        os.close(self._stderr)

    def _end(self, test: str) -> None:
        _say(self._stderr, f"{test} did not end within {self._seconds:g} seconds; this is where it is:")
        faulthandler.dump_traceback(file=self._stderr)
        _end_all(self._stderr, leftovers.below(os.getpid()) if self._worker else leftovers.of_run())
        os._exit(pytest.ExitCode.TESTS_FAILED)


class WatchedWorkers:
    """Watches the workers, in their controller."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stderr = os.dup(2)
        self._watchdog = Watchdog(seconds, self._end)

    def pytest_sessionstart(self) -> None:
        self._watchdog.start(NEWS)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._watchdog.start(nodeid)  # first, so that the test is named and not the wait
        self._watchdog.start(NEWS)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._watchdog.start(NEWS)
        self._watchdog.finish(nodeid)

    def pytest_unconfigure(self) -> None:
        self._watchdog.stop()
        os.close(self._stderr)

    def _end(self, test: str) -> None:
        _say(self._stderr, f"{test} did not end within {self._seconds:g} seconds; the run ends")
        _end_all(self._stderr, leftovers.of_run())
        os._exit(pytest.ExitCode.TESTS_FAILED)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "test_deadline", "seconds after which a test that has not ended ends the run", default="300"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    seconds = float(config.getini("test_deadline"))
    worker = hasattr(config, "workerinput")
    if not worker and config.getoption("dist", "no") != "no":
        config.option.maxworkerrestart = config.option.maxworkerrestart or "0"
        config.pluginmanager.register(WatchedWorkers(seconds + CONTROLLER_GRACE))
    else:
        config.pluginmanager.register(WatchedTests(seconds, worker=worker))


def _say(stderr: int, text: str) -> None:
    os.write(stderr, f"\n{text}\n".encode())


def _end_all(stderr: int, processes: list[leftovers.Process]) -> None:
    for process in processes:
        _say(stderr, f"ended with it: {process}")
    leftovers.end(processes)

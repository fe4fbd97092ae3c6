"""Threads for `asyncio.to_thread` that do not keep the process alive."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

__all__ = ["DaemonThreads"]

MAX_THREADS = 32
"""Threads at once, as many as Python's own pool has at most. Without it, a burst of calls starts hundreds."""

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):  # the event loop takes no other executor
    """Python's own pool waits at exit for calls that may never return; this one leaves them behind."""

    def __init__(self) -> None:
        super().__init__(max_workers=MAX_THREADS)
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._all: set[threading.Thread] = set()
        self._waiting: set[threading.Thread] = set()

    @property
    def idle(self) -> set[threading.Thread]:
        """Those that have nothing to do."""
        with self._guard:
            return set(self._waiting)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._guard:
            self._jobs.put((future, partial(fn, *args, **kwargs)))
            if len(self._waiting) < self._jobs.qsize() and len(self._all) < MAX_THREADS:
                name = f"acpella worker {len(self._all) + 1}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._all.add(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. Waits for none."""
        self._jobs.put(None)
        super().shutdown(wait=False, cancel_futures=cancel_futures)

    def _work(self) -> None:
        thread = threading.current_thread()
        while True:
            with self._guard:
                self._waiting.add(thread)
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)  # for the next one
                return
            with self._guard:
                self._waiting.discard(thread)
            future, call = job
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            del job, future, call

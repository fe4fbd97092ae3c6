"""The two threads of a SQLite store: one writes, many operations to a commit; one reads beside it.

An operation is a function of a connection. What it returns or raises comes back to the event loop that asked;
the results of one commit come back together.
"""

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ._database import explain, is_busy
from .store import StoreError

__all__ = ["ReadThread", "WriteThread"]

GROUP_EVENTS = 512
"""Events in one commit, unless a single append has more. Without it, the first of many waits for all."""

GROUP_BYTES = 1024 * 1024
"""The same in bytes."""

QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes that may wait to be written before callers wait. Without it, a slow disk fills the memory."""

LOCK_PATIENCE = 10.0
"""Seconds to wait for another process's commits before an operation fails."""

_T = TypeVar("_T")
_Operation = Callable[[sqlite3.Connection], Any]


class _Job:
    __slots__ = ("error", "events", "future", "operation", "result", "size")

    def __init__(self, operation: _Operation, events: int, size: int, future: asyncio.Future[Any]) -> None:
        self.operation = operation
        self.events = events
        self.size = size
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Resolve the future and drop all references: the traceback of an error may lead back to this job."""
        future, result, error = self.future, self.result, self.error
        del self.operation, self.future, self.result, self.error
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def fail(self, error: BaseException, path: Path) -> None:
        self.error = explain(path, error) if isinstance(error, sqlite3.Error) else error


class _Worker:
    """A thread with a connection of its own."""

    def __init__(self, path: Path, *, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._queued = 0  # bytes; counted on the loop's side only
        self._room = asyncio.Event()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        # daemon: a program that forgets to close the store still ends; what it appended is on disk
        self._thread = threading.Thread(target=self._main, name=f"acpella {name}", daemon=True)

    async def start(self) -> None:
        self._thread.start()
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            self._jobs.put(None)
            raise

    async def run(
        self, operation: Callable[[sqlite3.Connection], _T], *, events: int = 0, size: int = 0
    ) -> _T:
        """Do this in the thread. Cancelling the caller does not undo it."""
        while self._queued > QUEUE_BYTES:
            self._room.clear()
            await self._room.wait()
        if self._stopped:
            raise StoreError("the store is closed")
        job = _Job(operation, events, size, self._loop.create_future())
        self._queued += size
        self._jobs.put(job)
        return await job.future

    async def stop(self) -> None:
        """Finish what is queued, then end the thread."""
        if not self._stopped:
            self._stopped = True
            self._jobs.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    def _main(self) -> None:
        try:
            connection = self._connect()
        except BaseException as exc:
            self._post(self._resolve, self._ready, exc)
            self._post(self._resolve, self._ended, None)
            return
        self._post(self._resolve, self._ready, None)
        try:
            self._work(connection)
        finally:
            connection.close()
            self._post(self._resolve, self._ended, None)

    def _work(self, connection: sqlite3.Connection) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job.result = job.operation(connection)
            except BaseException as exc:
                job.fail(exc, self._path)
            self._post(self._settle, [job])

    def _post(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop is gone, and whoever waited with it
            pass

    @staticmethod
    def _resolve(future: asyncio.Future[None], error: BaseException | None) -> None:
        if error is None:
            future.set_result(None)
        elif not future.cancelled():
            future.set_exception(error)

    def _settle(self, jobs: list[_Job]) -> None:
        for job in jobs:
            self._queued -= job.size
            job.settle()
        self._room.set()


class ReadThread(_Worker):
    """Reads, one operation after the other; long reads are cut into pieces by those who ask."""


class WriteThread(_Worker):
    """Writes. Whatever queued up while the last commit went to disk shares the next one."""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        connect: Callable[[], sqlite3.Connection],
        finish: Callable[[sqlite3.Connection], None],
    ) -> None:
        super().__init__(path, name=name, connect=connect)
        self._finish = finish
        self._next: _Job | None = None  # had no room in the last group
        self._last = False  # nothing comes after what is gathered
        self.commits = 0

    def _work(self, connection: sqlite3.Connection) -> None:
        while jobs := self._gather():
            self._commit(connection, jobs)
            self._post(self._settle, jobs)
        self._finish(connection)

    def _gather(self) -> list[_Job]:
        """What to commit together: what is there, without waiting for more. Nothing means: end."""
        job, self._next = self._next, None
        if job is None:
            if self._last:
                return []
            job = self._jobs.get()
        jobs: list[_Job] = []
        events = size = 0
        while job is not None:
            events += max(job.events, 1)
            size += job.size
            if jobs and (events > GROUP_EVENTS or size > GROUP_BYTES):
                self._next = job
                return jobs
            jobs.append(job)
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs
        self._last = True
        return jobs

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> None:
        try:
            self._begin(connection)
            for job in jobs:
                self._attempt(connection, job)
            connection.execute("COMMIT")
            self.commits += 1
        except BaseException as exc:
            if connection.in_transaction:
                connection.rollback()
            for job in jobs:
                if job.error is None:
                    job.fail(exc, self._path)

    def _begin(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.Error as exc:
                if not is_busy(exc) or time.monotonic() > deadline:
                    raise

    def _attempt(self, connection: sqlite3.Connection, job: _Job) -> None:
        """Do one operation so that its failure leaves the others of the group alone."""
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.operation(connection)
        except BaseException as exc:
            if not connection.in_transaction:  # a full disk can make SQLite give up the whole group
                raise
            job.fail(exc, self._path)
            connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")

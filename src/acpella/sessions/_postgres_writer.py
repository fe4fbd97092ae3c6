"""Appends to PostgreSQL: what queued up while one statement ran shares the next, for all logs at once."""

import asyncio
import functools
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import asyncpg

from ._hints import topic_of
from ._postgres_errors import is_passing
from ._postgres_node import PostgresNode
from ._postgres_pool import ANSWER_SECONDS, ConnectionPool, Retry, hang_up, time_limit
from .store import Fenced, Lease, SessionNotFound, StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["SESSIONS", "STREAMS", "PostgresTable", "PostgresWriter", "append_statement"]

GROUP_EVENTS = 512
"""Events in one commit, unless a single append has more. Without it, the first of many waits for all."""

GROUP_BYTES = 1024 * 1024
"""The same in bytes."""

QUEUE_BYTES = 64 * 1024 * 1024
"""Bytes that may wait to be written before callers wait. Without it, a slow database fills the memory."""


class PostgresTable(NamedTuple):
    """Where a kind of log is kept: its heads, its entries, and what an append may change in the head."""

    heads: str
    entries: str
    columns: tuple[tuple[str, str], ...]


SESSIONS = PostgresTable(
    "sessions", "events", (("title", "text"), ("cwd", "text"), ("state", "bytea"), ("settings", "bytea"))
)
STREAMS = PostgresTable("streams", "frames", (("facts", "bytea"),))


@functools.cache
def append_statement(
    table: PostgresTable, *, changes: bool = False, settle: bool = False, tell: bool = False
) -> str:
    """One round trip and one commit for many logs: a row comes back for each whose lease and place fit.

    The rows are locked in the order of their ids, so that two nodes can never wait for each other.
    """
    columns = [*(table.columns if changes else ()), *([("settle", "text")] if settle else [])]
    arrays = "".join(f", ${number}::{kind}[]" for number, (_, kind) in enumerate(columns, 10))
    names = "".join(f", {name}" for name, _ in columns)
    sets = "".join(
        f", {name} = coalesce(h.{name}, s.{name})" for name, _ in (table.columns if changes else ())
    )
    settled = """, settled AS (
        UPDATE commands c SET state = 'done', body = '' FROM held h WHERE c.target = h.id AND c.id = h.settle
    )"""
    hint = 10 + len(columns)
    return f"""
    WITH given AS (
        SELECT * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]{arrays})
            WITH ORDINALITY AS g (id, epoch, expected, added{names}, job)
    ), held AS (
        SELECT s.k, g.* FROM given g JOIN {table.heads} s ON s.id = g.id
        WHERE s.epoch = g.epoch AND s.owner = $1 AND s.last_seq = g.expected
        ORDER BY s.id FOR NO KEY UPDATE OF s
    ), written AS (
        UPDATE {table.heads} s SET last_seq = h.expected + h.added,
            updated_at = greatest(clock_timestamp(), s.updated_at + interval '1 microsecond'){sets}
        FROM held h WHERE s.k = h.k RETURNING h.job, s.last_seq
    ), logged AS (
        INSERT INTO {table.entries} (sid, seq, epoch, kind, body)
        SELECT h.k, e.seq, h.epoch, e.kind, e.body
        FROM unnest($6::bigint[], $7::bigint[], $8::text[], $9::bytea[]) AS e (job, seq, kind, body)
        JOIN held h ON h.job = e.job
    ){settled if settle else ""}
    SELECT job, last_seq FROM written
    {f"UNION ALL SELECT NULL, length(pg_notify(${hint}, ${hint + 1})::text)" if tell else ""}
    """


@dataclass(slots=True)
class _Append:
    """One append that waits for its turn."""

    lease: Lease
    expected: int
    events: Sequence[tuple[str, bytes]]
    changes: Mapping[str, object]
    settle: str | None
    size: int
    done: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def succeed(self, last: int) -> None:
        if not self.done.done():
            self.done.set_result(last)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class PostgresWriter:
    """Writes appends, one statement at a time on a connection of its own."""

    def __init__(self, connections: ConnectionPool, node: PostgresNode, table: PostgresTable) -> None:
        self._connections = connections
        self._node = node
        self._table = table
        self._connection: AnyConnection | None = None
        self._queue: deque[_Append] = deque()
        self._queued = 0
        self._room = asyncio.Event()
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self.commits = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def append(
        self,
        lease: Lease,
        expected: int,
        events: Sequence[tuple[str, bytes]],
        changes: Mapping[str, object] | None = None,
        settle: str | None = None,
    ) -> int:
        """Durable on return. Cancelling the caller does not undo it."""
        events = list(events)
        size = sum([len(body) for _, body in events])
        job = _Append(lease, expected, events, changes or {}, settle, size)
        while self._queued > QUEUE_BYTES:
            self._room.clear()
            await self._room.wait()
        if self._stopping:
            raise StoreError("the store is closed")
        self._queued += job.size
        self._queue.append(job)
        self._wake.set()
        return await job.done

    async def stop(self) -> None:
        """Finish what is queued, then hang up."""
        self._stopping = True
        self._wake.set()
        self._room.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        if self._connection is not None:
            await hang_up(self._connection)
            self._connection = None

    async def _run(self) -> None:
        while self._queue or not self._stopping:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            jobs = self._gather()
            await self._write(jobs)
            self._queued -= sum([job.size for job in jobs])
            self._room.set()

    def _gather(self) -> list[_Append]:
        """What to commit together: what is there, without waiting for more; one append a log."""
        jobs: dict[str, _Append] = {}
        later: list[_Append] = []
        events = size = 0
        while self._queue:
            job = self._queue[0]
            events += max(len(job.events), 1)
            size += job.size
            if jobs and (events > GROUP_EVENTS or size > GROUP_BYTES):
                break
            self._queue.popleft()
            if job.lease.session_id in jobs:
                later.append(job)
            else:
                jobs[job.lease.session_id] = job
        self._queue.extendleft(reversed(later))
        return [jobs[name] for name in sorted(jobs)]

    async def _write(self, jobs: list[_Append]) -> None:
        """Write them, and again while the database is away: what was written before is recognized."""
        retry = Retry(self._connections.address, self._node.remaining)
        while True:
            try:
                await self._attempt(jobs)
                return
            except Exception as exc:
                try:
                    await retry.after(exc)
                    continue
                except StoreError as final:
                    error = final
            if len(jobs) == 1 or self._connection is None or self._connection.is_closed():
                for job in jobs:
                    job.fail(type(error)(*error.args))  # one each: a traceback belongs to one caller
                return
            for job in jobs:  # what is wrong with one must not stop the others
                await self._write([job])
            return

    async def _attempt(self, jobs: list[_Append]) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connections.connect()
        connection = self._connection
        try:
            with time_limit(connection, ANSWER_SECONDS):
                written = await self._statement(connection, jobs)
                self.commits += 1
                for number, job in enumerate(jobs, 1):
                    if (last := written.get(number)) is not None:
                        job.succeed(last)
                    elif not job.done.done():
                        await self._refuse(connection, job)
        except BaseException as exc:
            if is_passing(exc) or not isinstance(exc, asyncpg.PostgresError):
                connection.terminate()  # it may be in the middle of something
            raise

    async def _statement(self, connection: "AnyConnection", jobs: list[_Append]) -> dict[int, int]:
        numbers: list[int] = []
        seqs: list[int] = []
        for number, job in enumerate(jobs, 1):
            count = len(job.events)
            numbers += [number] * count
            seqs += range(job.expected + 1, job.expected + count + 1)
        arguments: list[Any] = [
            self._node.incarnation,
            [job.lease.session_id for job in jobs],
            [job.lease.epoch for job in jobs],
            [job.expected for job in jobs],
            [len(job.events) for job in jobs],
            numbers,
            seqs,
            [kind for job in jobs for kind, _ in job.events],
            [body for job in jobs for _, body in job.events],
        ]
        changes = any(job.changes for job in jobs)
        if changes:
            arguments += [[job.changes.get(name) for job in jobs] for name, _ in self._table.columns]
        settle = any(job.settle for job in jobs)
        if settle:
            arguments.append([job.settle for job in jobs])
        tell = not self._node.is_alone
        if tell:
            arguments += [
                self._node.channel,
                " ".join([topic_of(job.lease.session_id) for job in jobs]),
            ]
        query = append_statement(self._table, changes=changes, settle=settle, tell=tell)
        rows = await connection.fetch(query, *arguments)
        return {row[0]: row[1] for row in rows if row[0] is not None}

    async def _refuse(self, connection: "AnyConnection", job: _Append) -> None:
        """Nothing was written: find out why. It may be there already, from an attempt that was cut off."""
        name = job.lease.session_id
        head = await connection.fetchrow(
            f"SELECT k, epoch, owner, last_seq FROM {self._table.heads} WHERE id = $1", name
        )
        if head is None:
            return job.fail(SessionNotFound(name))
        key, epoch, owner, last = head
        if epoch != job.lease.epoch or owner != self._node.incarnation:
            return job.fail(Fenced(f"session {name!r} was given back or taken by somebody else"))
        if job.events and last == job.expected + len(job.events):
            query = f"SELECT kind, body FROM {self._table.entries} WHERE sid = $1 AND seq > $2 ORDER BY seq"
            stored = [(row[0], row[1]) for row in await connection.fetch(query, key, job.expected)]
            if stored == [(kind, bytes(body)) for kind, body in job.events]:
                return job.succeed(last)
        job.fail(Fenced(f"the log of session {name!r} is at {last}, not at {job.expected}"))

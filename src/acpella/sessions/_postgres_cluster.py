"""The nodes on a PostgreSQL database: streams and commands as rows; notifications, and a poll behind them."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._hints import Hints, topic_of
from ._postgres_node import PostgresNode
from ._postgres_pool import ConnectionPool
from ._postgres_rows import check_owner, checked, find, is_text, piece
from ._postgres_status import nodes_of
from ._postgres_tickets import keep_ticket, take_ticket
from ._postgres_writer import SESSIONS, STREAMS, PostgresTable, PostgresWriter
from .cluster import CONNECTION, MAX_SEQ, SESSION_COMMANDS, Command, Cursor, NodeStatus, Resync, StreamRecord
from .local_cluster import check_name
from .store import Events, Fenced, Lease, SessionExists, SessionNotFound, Store, StoreError

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresCluster"]

log: logging.Logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How often a node looks at what it watches, all in one statement. A hint that was lost costs that much."""

SWEEP_SECONDS = 3600.0
"""How often what nobody needs any more is cleared away."""

KEPT = "1 day"
"""How long commands that are done are remembered. Streams of connections whose home is gone stay for now."""

_TIMELINE = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"

_OPEN = """INSERT INTO streams (id, principal, facts, epoch, owner)
    VALUES ($1, $2, $3, nextval('epochs'), $4) RETURNING epoch"""

_HOME = """SELECT s.last_seq, n.name FROM {table} s
    LEFT JOIN nodes n ON n.incarnation = s.owner AND n.lease_until > clock_timestamp()
    WHERE s.id = $1 AND s.principal = $2"""

_SUBMIT = """
WITH target AS (
    SELECT id FROM {table} WHERE id = $1 AND principal = $2 FOR KEY SHARE
), submitted AS (
    INSERT INTO commands (target, id, kind, body, trace) SELECT id, $3, $4, $5, $6 FROM target
    ON CONFLICT DO NOTHING RETURNING target
), told AS (
    SELECT pg_notify($7, $8) FROM submitted
)
SELECT (SELECT count(*) FROM target), (SELECT count(*) FROM submitted), (SELECT count(*) FROM told)
"""

_PENDING = """SELECT c.id, c.n, c.kind, c.body, c.trace, c.state FROM commands c
    WHERE c.target = $1 AND c.state <> 'done' ORDER BY c.n"""

_BEGIN = """UPDATE commands SET state = 'running', epoch = $3
    WHERE target = $1 AND id = $2 AND state = 'new' RETURNING id"""

_BEGUN = "SELECT id FROM commands WHERE target = $1 AND id = $2 AND state = 'running' AND epoch = $3"

_START = """INSERT INTO commands (target, id, kind, body, trace, state, epoch)
    SELECT id, $2, $3, $4, $5, 'running', $6 FROM streams WHERE id = $1 AND epoch = $6 AND owner = $7
    ON CONFLICT DO NOTHING RETURNING id"""

_ABANDONED = """
SELECT s.id FROM streams s
WHERE s.updated_at < clock_timestamp() - make_interval(secs => $1)
AND NOT EXISTS (SELECT FROM nodes n WHERE n.incarnation = s.owner AND n.lease_until > clock_timestamp())
AND NOT EXISTS (SELECT FROM commands c WHERE c.target = s.id AND c.state <> 'done')
LIMIT $2 FOR UPDATE SKIP LOCKED
"""

_ORPHANS = """
SELECT target FROM (SELECT DISTINCT target FROM commands WHERE state <> 'done') AS open
WHERE NOT EXISTS (
    SELECT FROM (
        SELECT owner FROM sessions WHERE id = target
        UNION ALL SELECT owner FROM streams WHERE id = target
    ) AS home JOIN nodes n ON n.incarnation = home.owner
    WHERE n.lease_until > clock_timestamp() AND n.incarnation <> $1
) ORDER BY left(target, 2) <> 'c:' LIMIT $2
"""

_CHANGED = """
SELECT id FROM unnest($1::text[], $2::bigint[]) AS w (name, seq)
JOIN (SELECT id, last_seq FROM sessions UNION ALL SELECT id, last_seq FROM streams) AS s
ON s.id = w.name AND s.last_seq > w.seq
"""

_TO_SESSIONS = """SELECT c.target, c.id, c.n, c.kind, c.body, c.trace
    FROM commands c JOIN sessions s ON s.id = c.target
    WHERE s.owner = $1 AND c.state = 'new' AND c.target NOT LIKE 'c:%' ORDER BY c.n"""

_FORGET = """DELETE FROM commands c USING unnest($1::text[], $2::text[]) AS d (target, id)
    WHERE c.target = d.target AND c.id = d.id"""

_WAITING = "SELECT DISTINCT target FROM commands WHERE target = ANY($1) AND state = 'new'"


class PostgresCluster:
    """All nodes that have the same database and schema."""

    def __init__(
        self,
        store: Store,
        *,
        connections: ConnectionPool,
        node: PostgresNode,
        hints: Hints,
        sessions: PostgresWriter,
    ) -> None:
        self._store = store
        self._connections = connections
        self._me = node
        self._hints = hints
        self._writers = {SESSIONS: sessions, STREAMS: PostgresWriter(connections, node, STREAMS)}
        self._gen = ""
        self._connects = 0  # of the node when the generation was read
        self._tails: Counter[str] = Counter()
        self._seen: dict[str, int] = {}
        self._inboxes: Counter[str] = Counter()
        self._listeners = 0  # to the commands of all sessions
        self._tasks: list[asyncio.Task[None]] = []
        self._opened = self._closed = False

    @property
    def node(self) -> str:
        return self._me.name

    @property
    def life(self) -> str:
        return str(self._me.incarnation)

    @property
    def gen(self) -> str:
        return self._gen

    def seconds_left(self) -> float:
        return self._me.remaining()

    async def open(self) -> None:
        await self._read_generation()
        self._writers[STREAMS].start()
        create = asyncio.get_running_loop().create_task
        self._tasks = [create(self._poll()), create(self._sweep())]
        self._opened = True

    async def close(self) -> None:
        if self._closed or not self._opened:
            self._closed = True
            return
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._writers[STREAMS].stop()
        self._hints.heard("")

        async def give_back(connection: "AnyConnection", again: bool) -> None:
            await connection.execute("UPDATE streams SET owner = NULL WHERE owner = $1", self._me.incarnation)

        try:
            await self._connections.run(give_back)
        except StoreError as exc:
            log.info("could not give back the connections of node %s: %s", self.node, exc)

    def on_lost(self, call: Callable[[], None]) -> None:
        self._me.on_lost.append(call)

    async def nodes(self) -> list[NodeStatus]:
        async def nodes(connection: "AnyConnection", again: bool) -> list[NodeStatus]:
            return await nodes_of(connection)

        return await self._run(nodes)

    # -- streams -------------------------------------------------------------------------------

    async def open_stream(self, stream: str, facts: bytes, *, principal: str = "") -> Lease:
        check_name(stream)

        async def open_stream(connection: "AnyConnection", again: bool) -> Lease:
            values = (checked(stream, stream), checked(stream, principal), facts, self._me.incarnation)
            try:
                return Lease(stream, await connection.fetchval(_OPEN, *values))
            except asyncpg.UniqueViolationError:
                ours = "SELECT epoch FROM streams WHERE id = $1 AND principal = $2 AND owner = $3"
                mine = (stream, principal, self._me.incarnation)
                if again and (epoch := await connection.fetchval(ours, *mine)) is not None:
                    return Lease(stream, epoch)
                raise SessionExists(f"there is a connection {stream!r} already") from None

        return await self._run(open_stream)

    async def stream(self, stream: str, *, principal: str = "") -> StreamRecord:
        table = _table(stream)

        async def look(connection: "AnyConnection", again: bool) -> StreamRecord:
            row = None
            if is_text(stream, principal):
                row = await connection.fetchrow(_HOME.format(table=table.heads), stream, principal)
            if row is None:
                raise SessionNotFound(stream)
            facts = b""
            if table is STREAMS:
                facts = await connection.fetchval("SELECT facts FROM streams WHERE id = $1", stream)
            last_seq, node = row
            return StreamRecord(
                id=stream, principal=principal, facts=facts or b"", last_seq=last_seq, node=node
            )

        return await self._run(look)

    async def principal_of(self, stream: str) -> str:
        async def look(connection: "AnyConnection", again: bool) -> str:
            query = f"SELECT principal FROM {_table(stream).heads} WHERE id = $1"
            principal = await connection.fetchval(query, stream) if is_text(stream) else None
            if principal is None:
                raise SessionNotFound(stream)
            return principal

        return await self._run(look)

    async def take(self, stream: str, *, principal: str = "") -> Lease:
        if _table(stream) is SESSIONS:
            return await self._store.acquire(stream, principal=principal)

        async def take(connection: "AnyConnection", again: bool) -> Lease:
            async with connection.transaction():
                (key,) = await find(connection, stream, principal, "k", table="streams", lock=True)
                await check_owner(connection, "streams", stream, key, self._me.incarnation)
                epoch = await connection.fetchval(
                    "UPDATE streams SET epoch = nextval('epochs'), owner = $2 WHERE k = $1 RETURNING epoch",
                    key,
                    self._me.incarnation,
                )
            return Lease(stream, epoch)

        return await self._run(take)

    async def give_back(self, lease: Lease) -> None:
        if _table(lease.session_id) is SESSIONS:
            return await self._store.release(lease)

        async def give_back(connection: "AnyConnection", again: bool) -> None:
            query = "UPDATE streams SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3"
            await connection.execute(query, *lease, self._me.incarnation)

        await self._run(give_back)

    async def put(
        self,
        lease: Lease,
        expected_seq: int,
        entries: Sequence[tuple[str, bytes]],
        *,
        settle: str | None = None,
        facts: bytes | None = None,
    ) -> int:
        self._check()
        name = lease.session_id
        table = _table(name)
        if not is_text(name):
            raise SessionNotFound(name)
        changes = {} if facts is None or table is SESSIONS else {"facts": facts}
        last = await self._writers[table].append(lease, expected_seq, entries, changes, settle)
        self._hints.wake(name)
        return last

    async def drop(self, lease: Lease, through: int, *, others: Sequence[int] = ()) -> None:
        async def drop(connection: "AnyConnection", again: bool) -> None:
            key = await self._held(connection, lease)
            if through:
                await connection.execute("DELETE FROM frames WHERE sid = $1 AND seq <= $2", key, through)
            if others:
                await connection.execute("DELETE FROM frames WHERE sid = $1 AND seq = ANY($2)", key, others)

        await self._run(drop)

    async def kept(self, lease: Lease) -> AsyncIterator[Events]:
        after = 0

        async def some(connection: "AnyConnection", again: bool) -> Events:
            key = await self._held(connection, lease)
            return await piece(connection, key, after, MAX_SEQ, table=STREAMS.entries)

        while events := await self._run(some):
            yield events
            after = events[-1].seq

    async def remove_stream(self, lease: Lease) -> None:
        async def remove(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                try:
                    key = await self._held(connection, lease, lock=True)
                except SessionNotFound:
                    if again:
                        return
                    raise
                await connection.execute("DELETE FROM frames WHERE sid = $1", key)
                await connection.execute("DELETE FROM commands WHERE target = $1", lease.session_id)
                await connection.execute("DELETE FROM streams WHERE k = $1", key)

        await self._run(remove)
        self._hints.wake(lease.session_id)

    async def remove_abandoned(self, seconds: float, *, limit: int = 100) -> int:
        async def remove(connection: "AnyConnection", again: bool) -> int:
            async with connection.transaction():
                streams = [row[0] for row in await connection.fetch(_ABANDONED, seconds, limit)]
                if streams:
                    keys = "SELECT k FROM streams WHERE id = ANY($1)"
                    await connection.execute(f"DELETE FROM frames WHERE sid IN ({keys})", streams)
                    await connection.execute("DELETE FROM commands WHERE target = ANY($1)", streams)
                    await connection.execute("DELETE FROM streams WHERE id = ANY($1)", streams)
            return len(streams)

        return await self._run(remove)

    async def head(self, stream: str, *, principal: str = "") -> Cursor:
        return Cursor(self._gen, (await self.stream(stream, principal=principal)).last_seq)

    async def tail(
        self, stream: str, after: Cursor, *, principal: str = "", gaps: bool = False
    ) -> AsyncGenerator[Events]:
        self._check()
        if after.gen != self._gen:
            raise Resync(f"the cursor {str(after)[:60]!r} is of another generation; load the session again")
        table, seq = _table(stream), after.seq

        async def read(connection: "AnyConnection", again: bool) -> tuple[int, Events]:
            key, last = await find(connection, stream, principal, "k, last_seq", table=table.heads)
            if seq > last:
                raise Resync(f"the stream {stream!r} ends before the cursor; load the session again")
            events = await piece(connection, key, seq, last, table=table.entries)
            if not gaps and seq < last and (not events or events[0].seq != seq + 1):
                raise Resync(f"what the cursor points to in {stream!r} was dropped; load the session again")
            return last, events

        with self._hints.watch(stream) as changed, self._watching(self._tails, stream):
            while True:
                changed.clear()
                last, events = await self._run(read)
                if events:
                    seq = events[-1].seq
                    yield events
                elif gaps:
                    seq = last
                if seq < last:
                    continue
                self._seen[stream] = min(seq, self._seen.get(stream, seq))
                await changed.wait()

    # -- commands ------------------------------------------------------------------------------

    async def submit(self, stream: str, command: Command, *, principal: str = "") -> bool:
        query = _SUBMIT.format(table=_table(stream).heads)
        topics = [_inbox(stream), *([SESSION_COMMANDS] if _table(stream) is SESSIONS else [])]

        async def submit(connection: "AnyConnection", again: bool) -> bool:
            if not is_text(stream, principal):
                raise SessionNotFound(stream)
            values = (checked(stream, command.id), checked(stream, command.kind), command.body, command.trace)
            hint = (self._me.channel, " ".join([topic_of(topic) for topic in topics]))
            there, added, _ = await connection.fetchrow(query, stream, principal, *values, *hint) or (0, 0, 0)
            if not there:
                raise SessionNotFound(stream)
            # One that an attempt of ours left there is ours, not a repetition.
            return bool(added) or again

        added = await self._run(submit)
        for topic in topics:
            self._hints.wake(topic)
        return added

    async def pending(self, lease: Lease) -> list[Command]:
        async def pending(connection: "AnyConnection", again: bool) -> list[Command]:
            await self._held(connection, lease)
            rows = await connection.fetch(_PENDING, lease.session_id)
            return [
                Command(id=name, number=number, kind=kind, body=body, trace=trace, state=state)
                for name, number, kind, body, trace, state in rows
            ]

        return await self._run(pending)

    async def begin(self, lease: Lease, command_id: str) -> bool:
        async def begin(connection: "AnyConnection", again: bool) -> bool:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                begun = await connection.fetchval(_BEGIN, lease.session_id, command_id, lease.epoch)
                if begun is None and again:  # perhaps by the attempt whose answer was lost
                    begun = await connection.fetchval(_BEGUN, lease.session_id, command_id, lease.epoch)
            return begun is not None

        return await self._run(begin)

    async def start(self, lease: Lease, command: Command) -> bool:
        stream = lease.session_id

        async def start(connection: "AnyConnection", again: bool) -> bool:
            values = (checked(stream, command.id), checked(stream, command.kind), command.body, command.trace)
            if await connection.fetchval(_START, stream, *values, lease.epoch, self._me.incarnation):
                return True
            await self._held(connection, lease)
            # One that an attempt of ours left there is ours, not a repetition.
            return again and bool(await connection.fetchval(_BEGUN, stream, command.id, lease.epoch))

        return await self._run(start)

    async def put_back(self, lease: Lease, command_id: str) -> None:
        async def put_back(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                query = (
                    "UPDATE commands SET state = 'new' WHERE target = $1 AND id = $2 AND state = 'running'"
                )
                await connection.execute(query, lease.session_id, command_id)

        await self._run(put_back)

    async def settle(self, lease: Lease, command_id: str, *, forget: bool = False) -> None:
        change = "DELETE FROM commands" if forget else "UPDATE commands SET state = 'done', body = ''"

        async def settle(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                await self._held(connection, lease, lock=True)
                query = f"{change} WHERE target = $1 AND id = $2"
                await connection.execute(query, lease.session_id, command_id)

        await self._run(settle)

    async def command_ids(self, lease: Lease) -> list[str]:
        async def ids(connection: "AnyConnection", again: bool) -> list[str]:
            await self._held(connection, lease)
            query = "SELECT id FROM commands WHERE target = $1"
            return [row[0] for row in await connection.fetch(query, lease.session_id)]

        return await self._run(ids)

    async def commands(self, lease: Lease) -> AsyncIterator[Command]:
        seen: set[str] = set()
        stream = lease.session_id
        with self._hints.watch(_inbox(stream)) as changed, self._watching(self._inboxes, stream):
            while True:
                changed.clear()
                waiting = await self.pending(lease)
                seen &= {command.id for command in waiting}
                for command in waiting:
                    if command.state == "new" and command.id not in seen:
                        seen.add(command.id)
                        yield command
                await changed.wait()

    async def session_commands(self) -> AsyncIterator[tuple[str, Command]]:
        done: list[tuple[str, str]] = []

        async def look(connection: "AnyConnection", again: bool) -> list[Any]:
            if done:
                await connection.execute(_FORGET, [each[0] for each in done], [each[1] for each in done])
            return await connection.fetch(_TO_SESSIONS, self._me.incarnation)

        self._listeners += 1
        try:
            with self._hints.watch(SESSION_COMMANDS) as changed:
                while True:
                    changed.clear()
                    rows = await self._run(look)
                    finished, done = set(done), []
                    for target, name, number, kind, body, trace in rows:
                        done.append((target, name))
                        if (target, name) not in finished:
                            yield target, Command(id=name, number=number, kind=kind, body=body, trace=trace)
                    if not done:
                        await changed.wait()
        finally:
            self._listeners -= 1

    async def orphans(self, limit: int = 100) -> list[str]:
        async def orphans(connection: "AnyConnection", again: bool) -> list[str]:
            return [row[0] for row in await connection.fetch(_ORPHANS, self._me.incarnation, limit)]

        return await self._run(orphans)

    async def waiting(self) -> int:
        async def waiting(connection: "AnyConnection", again: bool) -> int:
            return await connection.fetchval("SELECT count(*) FROM commands WHERE state = 'new'")

        return await self._run(waiting)

    # -- tickets -------------------------------------------------------------------------------

    async def keep_ticket(
        self, digest: bytes, body: bytes, *, seconds: float, limit: int, principal: str = ""
    ) -> bool:
        self._check()
        return await keep_ticket(
            self._connections, digest, body, seconds=seconds, limit=limit, principal=principal
        )

    async def take_ticket(self, digest: bytes) -> bytes | None:
        self._check()
        return await take_ticket(self._connections, digest)

    # -- inside --------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._closed or not self._opened:
            raise StoreError("the cluster is closed" if self._closed else "the cluster is not open yet")

    async def _run(self, operation: "Callable[[AnyConnection, bool], Any]") -> Any:
        self._check()
        return await self._connections.run(operation)

    async def _read_generation(self) -> None:
        """The timeline of the database is part of it: it grows with a failover, which may lose entries."""

        async def generation(connection: "AnyConnection", again: bool) -> str:
            gen = await connection.fetchval("SELECT gen FROM meta")
            try:
                line = await connection.fetchval(_TIMELINE)
            except asyncpg.InsufficientPrivilegeError:
                line = "0"
            return f"{gen}{line.lstrip('0')}"

        connects = self._me.connects
        self._gen = await self._connections.run(generation)
        self._connects = connects

    async def _held(self, connection: "AnyConnection", lease: Lease, *, lock: bool = False) -> int:
        """The key of a stream that this node holds. Raises `Fenced`, `SessionNotFound`."""
        name = lease.session_id
        query = f"SELECT k, epoch, owner FROM {_table(name).heads} WHERE id = $1" + " FOR SHARE" * lock
        row = await connection.fetchrow(query, name) if is_text(name) else None
        if row is None:
            raise SessionNotFound(name)
        key, epoch, owner = row
        if epoch != lease.epoch or owner != self._me.incarnation:
            raise Fenced(f"the stream {name!r} was given back or taken by somebody else")
        return key

    @contextmanager
    def _watching(self, watched: Counter[str], stream: str) -> Generator[None]:
        watched[stream] += 1
        try:
            yield
        finally:
            watched[stream] -= 1
            if not watched[stream]:
                del watched[stream]
                self._seen.pop(stream, None)

    async def _poll(self) -> None:
        """Look at all that is watched, for hints that did not come."""

        async def look(connection: "AnyConnection", again: bool) -> tuple[list[str], list[str]]:
            seen = {name: seq for name, seq in self._seen.items() if name in self._tails}
            changed = await connection.fetch(_CHANGED, list(seen), list(seen.values())) if seen else []
            inboxes = list(self._inboxes)
            waiting = await connection.fetch(_WAITING, inboxes) if inboxes else []
            return [row[0] for row in changed], [row[0] for row in waiting]

        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._listeners:
                self._hints.wake(SESSION_COMMANDS)
            if self._connects == self._me.connects and not self._tails and not self._inboxes:
                continue
            try:
                if self._connects != self._me.connects:
                    await self._read_generation()
                changed, waiting = await self._connections.run(look)
                for stream in changed:
                    self._seen.pop(stream, None)
                    self._hints.wake(stream)
                for stream in waiting:
                    self._hints.wake(_inbox(stream))
            except StoreError as exc:
                log.info("could not look for changes: %s", exc)
                self._hints.heard("")  # those who wait shall find out themselves

    async def _sweep(self) -> None:
        """Clear away what nobody can want any more, a little at a time."""

        async def sweep(connection: "AnyConnection", again: bool) -> None:
            await connection.execute(
                "DELETE FROM commands WHERE ctid IN (SELECT ctid FROM commands WHERE state = 'done'"
                f" AND submitted_at < clock_timestamp() - interval '{KEPT}' LIMIT 10000)"
            )
            # Those of sessions are for whoever runs a turn right now; later they mean nothing.
            await connection.execute(
                "DELETE FROM commands WHERE ctid IN (SELECT ctid FROM commands WHERE state <> 'done'"
                " AND target NOT LIKE 'c:%'"
                f" AND submitted_at < clock_timestamp() - interval '{KEPT}' LIMIT 10000)"
            )

        while True:
            try:
                await self._connections.run(sweep)
            except StoreError as exc:
                log.info("could not clear away old commands: %s", exc)
            await asyncio.sleep(SWEEP_SECONDS)


def _inbox(stream: str) -> str:
    """What hints of new commands name: entries come far more often, and do not concern whoever runs them."""
    return f"{stream}!"


def _table(stream: str) -> PostgresTable:
    return STREAMS if stream.startswith(CONNECTION) else SESSIONS

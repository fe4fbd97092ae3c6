"""Streams on a PostgreSQL database: heads and entries as rows, read by every node and written by one."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from ._hints import Hints
from ._postgres_node import PostgresNode
from ._postgres_part import ClusterPart, table_of
from ._postgres_pool import ConnectionPool
from ._postgres_rows import check_owner, checked, find, is_text, piece
from ._postgres_writer import SESSIONS, STREAMS, PostgresWriter
from .cluster import MAX_SEQ, Cursor, Resync, StreamRecord
from .local_cluster import check_name
from .store import Events, Lease, SessionExists, SessionNotFound, Store

if TYPE_CHECKING:
    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresStreams"]

_OPEN = """INSERT INTO streams (id, principal, facts, epoch, owner)
    VALUES ($1, $2, $3, nextval('epochs'), $4) RETURNING epoch"""

_HOME = """SELECT s.last_seq, n.name FROM {table} s
    LEFT JOIN nodes n ON n.incarnation = s.owner AND n.lease_until > clock_timestamp()
    WHERE s.id = $1 AND s.principal = $2"""

_ABANDONED = """
SELECT s.id FROM streams s
WHERE s.updated_at < clock_timestamp() - make_interval(secs => $1)
AND NOT EXISTS (SELECT FROM nodes n WHERE n.incarnation = s.owner AND n.lease_until > clock_timestamp())
AND NOT EXISTS (SELECT FROM commands c WHERE c.target = s.id AND c.state <> 'done')
LIMIT $2 FOR UPDATE SKIP LOCKED
"""


class PostgresStreams(ClusterPart):
    """The streams of a `Cluster`."""

    def __init__(
        self,
        store: Store,
        *,
        connections: ConnectionPool,
        node: PostgresNode,
        hints: Hints,
        sessions: PostgresWriter,
    ) -> None:
        super().__init__(connections=connections, node=node, hints=hints)
        self._store = store
        self._writers = {SESSIONS: sessions, STREAMS: PostgresWriter(connections, node, STREAMS)}
        self._gen = ""
        self._tails: Counter[str] = Counter()

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
        table = table_of(stream)

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
            query = f"SELECT principal FROM {table_of(stream).heads} WHERE id = $1"
            principal = await connection.fetchval(query, stream) if is_text(stream) else None
            if principal is None:
                raise SessionNotFound(stream)
            return principal

        return await self._run(look)

    async def take(self, stream: str, *, principal: str = "") -> Lease:
        if table_of(stream) is SESSIONS:
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
        if table_of(lease.session_id) is SESSIONS:
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
        table = table_of(name)
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
        table, seq = table_of(stream), after.seq

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

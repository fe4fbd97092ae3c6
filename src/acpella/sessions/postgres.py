"""Sessions in PostgreSQL: durable, and shared by many machines."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ._hints import Hints
from ._order import encode_cursor, json_bytes, page_size
from ._postgres_address import PostgresAddress
from ._postgres_rows import (
    COLUMNS,
    CREATE,
    FORK,
    PIECE_EVENTS,
    changed,
    check_owner,
    clean,
    find,
    is_text,
    list_query,
    moment,
    naming,
    piece,
    to_record,
)
from .store import (
    EventKind,
    Events,
    Lease,
    SessionChanges,
    SessionExists,
    SessionNotFound,
    SessionPage,
    SessionRecord,
    StoreError,
)

if TYPE_CHECKING:
    import asyncpg

    from ._postgres_node import PostgresNode
    from ._postgres_pool import ConnectionPool
    from ._postgres_writer import PostgresWriter
    from .cluster import Cluster, NodeStatus

    AnyConnection: TypeAlias = asyncpg.Connection[Any]

__all__ = ["PostgresStore"]

_T = TypeVar("_T")

MIN_CONNECTIONS = 3
"""One for the heartbeat and hints, one for appends, and one for everything else."""


class PostgresStore:
    """Keeps sessions in a PostgreSQL database; any number of processes may use it at once.

    Its methods are those of `Store`. A session belongs to the store object that acquired it (a node) until
    that is closed, or has not been heard of for `lease_seconds`. While the database is away, calls wait for
    it as long as the lease lasts; then they raise `StoreUnavailable`. Use it from the event loop that opened
    it.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str | None = None,
        node_name: str | None = None,
        lease_seconds: float = 15.0,
        max_connections: int = 10,
    ) -> None:
        """`dsn` is "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"; options of PostgreSQL's may follow.

        The tables are in `schema`, "acpella" by default, also given as "?schema=NAME". `node_name` is how
        other nodes and people call this one; two that are alive cannot have the same.
        """
        if max_connections < MIN_CONNECTIONS:
            raise ValueError(f"max_connections must be at least {MIN_CONNECTIONS}, not {max_connections}")
        self._address = PostgresAddress(dsn, schema=schema)
        self.node_name = node_name
        """The name of this node. Like `lease_seconds`, it may be set until the store is opened."""
        self.lease_seconds = lease_seconds
        """Seconds without a heartbeat after which others may take over what a node had."""
        self._limit = max_connections
        self._hints = Hints()
        self._node: PostgresNode | None = None
        self._writer: PostgresWriter | None = None
        self._connections: ConnectionPool | None = None
        self._closed = False
        self.layout_before: int = 0
        """The layout of the tables that were there when it was opened; 0 if there were none."""

    def __repr__(self) -> str:
        return f"<PostgresStore in {self._address.where}>"

    async def open(self) -> None:
        if self._closed or self._connections is not None:
            raise StoreError("the store is closed" if self._closed else "the store is open already")
        try:
            from ._postgres_errors import explain
            from ._postgres_node import PostgresNode
            from ._postgres_pool import ConnectionPool, hang_up
            from ._postgres_schema import prepare
            from ._postgres_writer import SESSIONS, PostgresWriter
        except ModuleNotFoundError as exc:
            if exc.name != "asyncpg":
                raise
            raise StoreError(
                "a PostgreSQL store needs asyncpg, which is not installed: pip install 'acpella[postgres]'"
            ) from None
        connections = ConnectionPool(self._address, limit=self._limit - 2, patience=self._patience)
        node = PostgresNode(
            connections, name=self.node_name, seconds=self.lease_seconds, hint=self._hints.heard
        )
        self._connections = connections
        connection = None
        try:
            connection = await connections.connect()
            self.layout_before = await prepare(connection, self._address)
            await node.enter(connection)
        except BaseException as exc:
            self._connections = None
            if connection is not None:
                await hang_up(connection)
            if isinstance(exc, Exception):
                raise explain(self._address, exc) from None
            raise
        self._node, self._writer = node, PostgresWriter(connections, node, SESSIONS)
        self._writer.start()
        if self._closed:  # meanwhile
            await self.close()
            raise StoreError("the store is closed")

    async def close(self) -> None:
        self._closed = True
        if self._writer is not None and self._connections is not None and self._node is not None:
            writer, self._writer = self._writer, None
            await writer.stop()
            await self._connections.close()
            await self._node.leave()

    async def create(self, record: SessionRecord, events: Sequence[tuple[EventKind, bytes]] = ()) -> Lease:
        state = json_bytes(record.id, "state", record.state)
        settings = json_bytes(record.id, "settings", record.settings)
        events = list(events)

        async def create(connection: "AnyConnection", again: bool) -> Lease:
            epoch = await connection.fetchval(
                CREATE,
                *naming(record),
                record.title and clean(record.title),
                moment(record.created_at),
                moment(record.updated_at),
                state,
                settings,
                [kind for kind, _ in events],
                [body for _, body in events],
                self._incarnation,
            )
            return Lease(record.id, epoch)

        return await self._make(record, create, long=len(events) > PIECE_EVENTS)

    async def get(self, session_id: str, *, principal: str = "") -> SessionRecord:
        async def get(connection: "AnyConnection", again: bool) -> SessionRecord:
            return to_record(await find(connection, session_id, principal, COLUMNS))

        return await self._run(get)

    async def acquire(self, session_id: str, *, principal: str = "") -> Lease:
        async def acquire(connection: "AnyConnection", again: bool) -> Lease:
            async with connection.transaction():
                (key,) = await find(connection, session_id, principal, "k", lock=True)
                # A second statement: it sees the nodes as they are now that the row is ours to change.
                await check_owner(connection, "sessions", session_id, key, self._incarnation)
                epoch = await connection.fetchval(
                    "UPDATE sessions SET epoch = nextval('epochs'), owner = $2 WHERE k = $1 RETURNING epoch",
                    key,
                    self._incarnation,
                )
            return Lease(session_id, epoch)

        return await self._run(acquire)

    async def release(self, lease: Lease) -> None:
        async def release(connection: "AnyConnection", again: bool) -> None:
            query = "UPDATE sessions SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3"
            if is_text(lease.session_id):
                await connection.execute(query, *lease, self._incarnation)

        await self._run(release)

    async def append(
        self,
        lease: Lease,
        expected_seq: int,
        events: Sequence[tuple[EventKind, bytes]],
        changes: SessionChanges | None = None,
    ) -> int:
        if self._writer is None:
            raise self._not_open()
        if not is_text(lease.session_id):
            raise SessionNotFound(lease.session_id)
        last = await self._writer.append(lease, expected_seq, events, changed(lease.session_id, changes))
        self._hints.wake(lease.session_id)
        return last

    async def read(self, session_id: str, *, after: int = 0, principal: str = "") -> AsyncIterator[Events]:
        async def start(connection: "AnyConnection", again: bool) -> tuple[int, int, Events]:
            key, last = await find(connection, session_id, principal, "k, last_seq")
            return key, last, await piece(connection, key, after, last)

        async def go_on(connection: "AnyConnection", again: bool) -> Events:
            return await piece(connection, key, after, last)

        key, last, events = await self._run(start)
        while after < last:
            if not events:  # deleted meanwhile
                raise SessionNotFound(session_id)
            after = events[-1].seq
            yield events
            if after < last:
                events = await self._run(go_on)

    async def fork(self, session_id: str, record: SessionRecord, *, principal: str = "") -> Lease:
        async def fork(connection: "AnyConnection", again: bool) -> Lease:
            if not is_text(session_id, principal):
                raise SessionNotFound(session_id)
            epoch = await connection.fetchval(
                FORK,
                *naming(record),
                moment(record.created_at),
                moment(record.updated_at),
                self._incarnation,
                session_id,
                principal,
            )
            if epoch is None:
                raise SessionNotFound(session_id)
            return Lease(record.id, epoch)

        return await self._make(record, fork, long=True)

    async def delete(self, session_id: str, *, principal: str = "") -> None:
        async def delete(connection: "AnyConnection", again: bool) -> None:
            async with connection.transaction():
                try:
                    (key,) = await find(connection, session_id, principal, "k", lock=True)
                except SessionNotFound:
                    if again:  # by the attempt whose answer was lost
                        return
                    raise
                await check_owner(connection, "sessions", session_id, key, self._incarnation)
                # No append can come in between: it needs the row that is locked here.
                await connection.execute("DELETE FROM events WHERE sid = $1", key)
                await connection.execute("DELETE FROM commands WHERE target = $1", session_id)
                await connection.execute("DELETE FROM sessions WHERE k = $1", key)

        await self._run(delete, long=True)
        self._hints.wake(session_id)

    async def list(
        self, *, principal: str = "", cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> SessionPage:
        limit = page_size(limit)
        query, values = list_query(principal, cwd, cursor, limit)

        async def page(connection: "AnyConnection", again: bool) -> SessionPage:
            if not is_text(principal, cwd or ""):
                return SessionPage([], None)
            rows = await connection.fetch(query, *values)
            records = [to_record(row) for row in rows[:limit]]
            more = len(rows) > limit
            return SessionPage(
                records, encode_cursor(records[-1].updated_at, records[-1].id) if more else None
            )

        return await self._run(page)

    async def size(self) -> tuple[int, int]:
        """How many sessions and events there are, of all principals."""

        async def size(connection: "AnyConnection", again: bool) -> tuple[int, int]:
            query = "SELECT count(*), coalesce(sum(last_seq), 0)::bigint FROM sessions"
            sessions, events = await connection.fetchrow(query) or (0, 0)
            return sessions, events

        return await self._run(size, long=True)

    async def every(self) -> AsyncIterator[SessionRecord]:
        """All sessions of all principals, in the order of their ids; for copies, not for clients."""
        query = f"SELECT {COLUMNS} FROM sessions WHERE id > $1 ORDER BY id LIMIT {PIECE_EVENTS}"
        after = ""

        async def some(connection: "AnyConnection", again: bool) -> "Sequence[SessionRecord]":
            return [to_record(row) for row in await connection.fetch(query, after)]

        while records := await self._run(some):
            for record in records:
                yield record
            after = records[-1].id

    def cluster(self) -> "Cluster":
        """The nodes that share this database; to be opened after the store, and closed before it."""
        from ._postgres_cluster import PostgresCluster

        if self._closed or self._connections is None or self._node is None or self._writer is None:
            raise self._not_open()
        return PostgresCluster(
            self, connections=self._connections, node=self._node, hints=self._hints, sessions=self._writer
        )

    async def nodes(self) -> "Sequence[NodeStatus]":
        """The nodes that share this database, without joining them: for people who look after them.

        The store need not be open. Raises `StoreError`.
        """
        from ._postgres_status import read_nodes

        return await read_nodes(self._address)

    @property
    def _incarnation(self) -> int:
        assert self._node is not None
        return self._node.incarnation

    def _patience(self) -> float:
        return 0.0 if self._node is None or self._closed else self._node.remaining()

    def _not_open(self) -> StoreError:
        return StoreError("the store is closed" if self._closed else "the store is not open yet")

    async def _run(
        self, operation: "Callable[[AnyConnection, bool], Awaitable[_T]]", *, long: bool = False
    ) -> _T:
        if self._closed or self._connections is None or self._node is None:
            raise self._not_open()
        from ._postgres_pool import ANSWER_SECONDS, LONG_SECONDS

        return await self._connections.run(operation, seconds=LONG_SECONDS if long else ANSWER_SECONDS)

    async def _make(
        self,
        record: SessionRecord,
        operation: "Callable[[AnyConnection, bool], Awaitable[Lease]]",
        *,
        long: bool = False,
    ) -> Lease:
        """Add a session. One that an earlier attempt added, whose answer was lost, counts as added now."""

        async def make(connection: "AnyConnection", again: bool) -> Lease:
            import asyncpg

            try:
                return await operation(connection, again)
            except asyncpg.UniqueViolationError:
                query = "SELECT epoch FROM sessions WHERE id = $1 AND principal = $2 AND owner = $3"
                ours = (record.id, record.principal, self._incarnation)
                if again and (epoch := await connection.fetchval(query, *ours)) is not None:
                    return Lease(record.id, epoch)
                raise SessionExists(f"there is a session {record.id!r} already") from None

        return await self._run(make, long=long)

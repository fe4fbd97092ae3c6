"""Sessions in a SQLite file: durable, and shared by the processes of one machine."""

import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from ._database import open_reader, open_writer
from ._hints import Hints
from ._order import Clock, decode_cursor, encode_cursor, json_bytes, normal_stamp, page_size
from ._sqlite_node import SqliteNode
from ._workers import ReadThread, WriteThread
from .store import (
    Event,
    EventKind,
    Events,
    Fenced,
    Lease,
    SessionBusy,
    SessionChanges,
    SessionExists,
    SessionNotFound,
    SessionPage,
    SessionRecord,
    StoreError,
)

if TYPE_CHECKING:
    from .cluster import Cluster

__all__ = ["SqliteStore"]

log: logging.Logger = logging.getLogger(__name__)

PIECE_EVENTS = 500
"""Events in one piece of a log. Without it, a long replay holds the reader and the memory."""

PIECE_BYTES = 1024 * 1024
"""The same in bytes; an event that is longer comes alone."""

_T = TypeVar("_T")
_JSON = msgspec.json.Decoder(dict[str, Any])

_new_event: Callable[[type[Event], tuple[Any, ...]], Event] = cast("Any", tuple).__new__
"""`Event._make`, a third faster."""

_COLUMNS = "id, principal, cwd, title, created_at, updated_at, last_seq, state, settings"

_CREATE = f"INSERT INTO sessions ({_COLUMNS}, epoch, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_INSERTS = {
    rows: "INSERT INTO events (sid, epoch, seq, kind, body) VALUES "
    + ", ".join("(?, ?, ?, ?, ?)" for _ in range(rows))
    for rows in (128, 64, 32, 16, 8, 4, 2, 1)  # older SQLite takes 999 values at most
}
"""Many rows a statement: twice as fast as one each. Python 3.12 and later refuse numbered placeholders."""


class SqliteStore:
    """Keeps sessions in one file; several processes may use it at once, each writing sessions of its own.

    Its methods are those of `Store`. A session belongs to the store object that acquired it until that is
    closed or its process ends. Use it from the event loop that opened it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(os.path.abspath(os.path.expanduser(path)))
        self._node = SqliteNode(self.path)
        self._clock = Clock()  # the writer's
        self._hints = Hints()
        self._writer: WriteThread | None = None
        self._reader: ReadThread | None = None
        self._closed = False

    async def open(self) -> None:
        if self._closed or self._writer is not None:
            raise StoreError("the store is closed" if self._closed else "the store is open already")
        writer = WriteThread(
            self.path, name="store writer", connect=self._enter, finish=self._give_back_sessions
        )
        reader = ReadThread(self.path, name="store reader", connect=lambda: open_reader(self.path))
        await writer.start()
        try:
            await reader.start()
        except BaseException:
            await writer.stop()
            raise
        self._writer, self._reader = writer, reader
        if self._closed:  # meanwhile
            await self.close()
            raise StoreError("the store is closed")

    async def close(self) -> None:
        self._closed = True
        if self._writer is not None and self._reader is not None:
            await self._reader.stop()
            await self._writer.stop()

    def cluster(self) -> "Cluster":
        """This process as the only node; others on the same file are not reached."""
        from .local_cluster import LocalCluster

        return LocalCluster(self, hints=self._hints)

    async def create(self, record: SessionRecord, events: Sequence[tuple[EventKind, bytes]] = ()) -> Lease:
        state = json_bytes(record.id, "state", record.state)
        settings = json_bytes(record.id, "settings", record.settings)

        def create(connection: sqlite3.Connection) -> Lease:
            key, lease = self._add(connection, record, record.title, len(events), state, settings)
            _insert(connection, key, lease.epoch, 0, events)
            return lease

        return await self._write(create, events)

    async def get(self, session_id: str, *, principal: str = "") -> SessionRecord:
        def get(connection: sqlite3.Connection) -> SessionRecord:
            return _record(_find(connection, session_id, principal, _COLUMNS))

        return await self._read(get)

    async def acquire(self, session_id: str, *, principal: str = "") -> Lease:
        def acquire(connection: sqlite3.Connection) -> Lease:
            key, owner = _find(connection, session_id, principal, "k, owner")
            self._check_owner(session_id, owner)
            lease = Lease(session_id, _next_epoch(connection))
            connection.execute(
                "UPDATE sessions SET epoch = ?, owner = ? WHERE k = ?", (lease.epoch, self._node.id, key)
            )
            return lease

        return await self._write(acquire)

    async def release(self, lease: Lease) -> None:
        def release(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE sessions SET owner = NULL WHERE id = ? AND epoch = ? AND owner = ?",
                (*lease, self._node.id),
            )

        await self._write(release)

    async def append(
        self,
        lease: Lease,
        expected_seq: int,
        events: Sequence[tuple[EventKind, bytes]],
        changes: SessionChanges | None = None,
    ) -> int:
        columns, values = _changed(lease.session_id, changes)
        update = f"UPDATE sessions SET last_seq = ?, updated_at = ?{columns} WHERE k = ?"

        def append(connection: sqlite3.Connection) -> int:
            # The write lock is held from here to the commit, so what is checked cannot change.
            row = connection.execute(
                "SELECT k, epoch, owner, last_seq FROM sessions WHERE id = ?", (lease.session_id,)
            ).fetchone()
            if row is None:
                raise SessionNotFound(lease.session_id)
            key, epoch, owner, last = row
            if epoch != lease.epoch or owner != self._node.id:
                raise Fenced(f"session {lease.session_id!r} was given back or taken by somebody else")
            if last != expected_seq:
                if _is_written(connection, key, expected_seq, last, events):
                    return last
                raise Fenced(f"the log of session {lease.session_id!r} is at {last}, not at {expected_seq}")
            last += len(events)
            connection.execute(update, (last, self._clock.now(), *values, key))
            _insert(connection, key, epoch, expected_seq, events)
            return last

        last = await self._write(append, events)
        self._hints.wake(lease.session_id)
        return last

    async def read(self, session_id: str, *, after: int = 0, principal: str = "") -> AsyncIterator[Events]:
        def start(connection: sqlite3.Connection) -> tuple[int, int, Events]:
            key, last = _find(connection, session_id, principal, "k, last_seq")
            return key, last, _piece(connection, key, after, last)

        def piece(connection: sqlite3.Connection) -> Events:
            return _piece(connection, key, after, last)

        key, last, events = await self._read(start)
        while after < last:
            if not events:  # deleted meanwhile
                raise SessionNotFound(session_id)
            after = events[-1].seq
            yield events
            if after < last:
                events = await self._read(piece)

    async def fork(self, session_id: str, record: SessionRecord, *, principal: str = "") -> Lease:
        def fork(connection: sqlite3.Connection) -> Lease:
            source, title, last, state, settings = _find(
                connection, session_id, principal, "k, title, last_seq, state, settings"
            )
            key, lease = self._add(connection, record, title, last, state, settings)
            connection.execute(
                "INSERT INTO events SELECT ?, seq, ?, kind, body FROM events WHERE sid = ?",
                (key, lease.epoch, source),
            )
            return lease

        return await self._write(fork)

    async def delete(self, session_id: str, *, principal: str = "") -> None:
        def delete(connection: sqlite3.Connection) -> None:
            key, owner = _find(connection, session_id, principal, "k, owner")
            self._check_owner(session_id, owner)
            connection.execute("DELETE FROM events WHERE sid = ?", (key,))
            connection.execute("DELETE FROM sessions WHERE k = ?", (key,))

        await self._write(delete)

    async def list(
        self, *, principal: str = "", cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> SessionPage:
        limit = page_size(limit)
        query, values = _list_query(principal, cwd, cursor, limit)

        def page(connection: sqlite3.Connection) -> SessionPage:
            records = [_record(row) for row in connection.execute(query, values).fetchall()]
            more = len(records) > limit
            del records[limit:]
            return SessionPage(
                records, encode_cursor(records[-1].updated_at, records[-1].id) if more else None
            )

        return await self._read(page)

    async def size(self) -> tuple[int, int]:
        """How many sessions and events there are, of all principals."""

        def size(connection: sqlite3.Connection) -> tuple[int, int]:
            return connection.execute("SELECT count(*), coalesce(sum(last_seq), 0) FROM sessions").fetchone()

        return await self._read(size)

    async def every(self) -> AsyncIterator[SessionRecord]:
        """All sessions of all principals, in the order of their ids; for copies, not for clients."""
        query = f"SELECT {_COLUMNS} FROM sessions WHERE id > ? ORDER BY id LIMIT {PIECE_EVENTS}"
        after = ""

        def some(connection: sqlite3.Connection) -> Sequence[SessionRecord]:
            return [_record(row) for row in connection.execute(query, (after,))]

        while records := await self._read(some):
            for record in records:
                yield record
            after = records[-1].id

    async def _write(
        self, operation: Callable[[sqlite3.Connection], _T], events: Sequence[tuple[EventKind, bytes]] = ()
    ) -> _T:
        if self._closed or self._writer is None:
            raise StoreError("the store is closed" if self._closed else "the store is not open yet")
        size = sum([len(body) for _, body in events])
        return await self._writer.run(operation, events=len(events), size=size)

    async def _read(self, operation: Callable[[sqlite3.Connection], _T]) -> _T:
        if self._closed or self._reader is None:
            raise StoreError("the store is closed" if self._closed else "the store is not open yet")
        return await self._reader.run(operation)

    def _enter(self) -> sqlite3.Connection:
        connection = open_writer(self.path)
        try:
            self._node.enter()
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back_sessions(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("PRAGMA busy_timeout = 1000")
            connection.execute("UPDATE sessions SET owner = NULL WHERE owner = ?", (self._node.id,))
        except sqlite3.Error as exc:
            # Not needed for the next owner: without our lock file we count as dead.
            log.warning("could not give back the sessions in %s: %s", self.path, exc)
        self._node.leave()

    def _check_owner(self, session_id: str, owner: str | None) -> None:
        if owner is None or owner == self._node.id or not self._node.is_alive(owner):
            return
        pid = SqliteNode.pid(owner)
        where = "elsewhere in this process" if pid == str(os.getpid()) else f"in another process (pid {pid})"
        raise SessionBusy(f"session {session_id!r} is open {where}; close it there, then try again")

    def _add(
        self,
        connection: sqlite3.Connection,
        record: SessionRecord,
        title: str | None,
        last_seq: int,
        state: bytes,
        settings: bytes,
    ) -> tuple[int, Lease]:
        if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (record.id,)).fetchone() is not None:
            raise SessionExists(f"there is a session {record.id!r} already")
        now = self._clock.now()
        created_at = normal_stamp(record.created_at) if record.created_at else now
        updated_at = normal_stamp(record.updated_at) if record.updated_at else now
        lease = Lease(record.id, _next_epoch(connection))
        row = (
            record.id,
            record.principal,
            record.cwd,
            title,
            created_at,
            updated_at,
            last_seq,
            state,
            settings,
        )
        key = connection.execute(_CREATE, (*row, lease.epoch, self._node.id)).lastrowid
        assert key is not None
        return key, lease


def _find(connection: sqlite3.Connection, session_id: str, principal: str, columns: str) -> tuple[Any, ...]:
    query = f"SELECT {columns} FROM sessions WHERE id = ? AND principal = ?"
    row = connection.execute(query, (session_id, principal)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return row


def _record(row: tuple[Any, ...]) -> SessionRecord:
    session_id, principal, cwd, title, created_at, updated_at, last_seq, state, settings = row
    return SessionRecord(
        id=session_id,
        principal=principal,
        cwd=cwd,
        title=title,
        created_at=created_at,
        updated_at=updated_at,
        last_seq=last_seq,
        state=_JSON.decode(state),
        settings=_JSON.decode(settings),
    )


def _list_query(
    principal: str, cwd: str | None, cursor: str | None, limit: int
) -> tuple[str, tuple[object, ...]]:
    """Each combination walks an index from the cursor on, and reads one row more than the page."""
    where, values = "principal = ?", [principal]
    if cwd is not None:
        where += " AND cwd = ?"
        values.append(cwd)
    if cursor is not None:
        where += " AND (updated_at, id) < (?, ?)"
        values += decode_cursor(cursor)
    query = f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?"
    return query, (*values, limit + 1)


def _next_epoch(connection: sqlite3.Connection) -> int:
    connection.execute("UPDATE meta SET epoch = epoch + 1")
    return connection.execute("SELECT epoch FROM meta").fetchone()[0]


def _changed(session_id: str, changes: SessionChanges | None) -> tuple[str, list[object]]:
    """What to add to an UPDATE, encoded now: the caller's dictionaries may change while it is queued."""
    if changes is None:
        return "", []
    new: dict[str, object] = {}
    if changes.title is not None:
        new["title"] = changes.title
    if changes.cwd is not None:
        new["cwd"] = changes.cwd
    if changes.state is not None:
        new["state"] = json_bytes(session_id, "state", changes.state)
    if changes.settings is not None:
        new["settings"] = json_bytes(session_id, "settings", changes.settings)
    return "".join(f", {name} = ?" for name in new), list(new.values())


def _insert(
    connection: sqlite3.Connection,
    key: int,
    epoch: int,
    after: int,
    events: Sequence[tuple[EventKind, bytes]],
) -> None:
    start = 0
    for rows, statement in _INSERTS.items():
        while len(events) - start >= rows:
            numbered = enumerate(events[start : start + rows], after + start + 1)
            values = [value for seq, (kind, body) in numbered for value in (key, epoch, seq, kind, body)]
            connection.execute(statement, values)
            start += rows


def _is_written(
    connection: sqlite3.Connection,
    key: int,
    expected: int,
    last: int,
    events: Sequence[tuple[EventKind, bytes]],
) -> bool:
    """Whether these events are the last ones already: somebody repeats an append whose answer was lost."""
    if not events or last != expected + len(events):
        return False
    query = "SELECT kind, body FROM events WHERE sid = ? AND seq > ? ORDER BY seq"
    stored = connection.execute(query, (key, expected)).fetchall()
    return stored == [tuple(event) for event in events]


def _piece(connection: sqlite3.Connection, key: int, after: int, last: int) -> Events:
    query = "SELECT seq, kind, body FROM events WHERE sid = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
    cursor = connection.execute(query, (key, after, last, PIECE_EVENTS))
    events: Events = []
    size = 0
    try:
        for row in cursor:
            size += len(row[2])
            if size > PIECE_BYTES and events:
                break
            events.append(_new_event(Event, row))
    finally:
        cursor.close()  # ends the read, so that the write-ahead log can be taken over
    return events

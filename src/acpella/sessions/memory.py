"""Sessions that live as long as the process."""

import itertools
from bisect import bisect_left, insort
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ._hints import Hints
from ._order import Clock, decode_cursor, encode_cursor, json_bytes, normal_stamp, page_size
from .store import (
    Event,
    EventKind,
    Events,
    Fenced,
    Lease,
    SessionChanges,
    SessionExists,
    SessionNotFound,
    SessionPage,
    SessionRecord,
    StoreError,
)

if TYPE_CHECKING:
    from .cluster import Cluster

__all__ = ["MemoryStore"]

PIECE_EVENTS = 500
"""Events in one piece of a log, so that a replay lets other tasks run in between."""

_JSON = msgspec.json.Decoder(dict[str, Any])


@dataclass(slots=True)
class _StoredSession:
    id: str
    principal: str
    cwd: str
    title: str | None
    created_at: str
    updated_at: str
    state: bytes
    settings: bytes
    epoch: int
    held: bool = True
    log: list[Event] = field(default_factory=list[Event])

    def record(self) -> SessionRecord:
        return SessionRecord(
            id=self.id,
            cwd=self.cwd,
            principal=self.principal,
            title=self.title,
            created_at=self.created_at,
            updated_at=self.updated_at,
            last_seq=len(self.log),
            state=_JSON.decode(self.state),
            settings=_JSON.decode(self.settings),
        )

    def add(self, events: Sequence[tuple[EventKind, bytes]]) -> None:
        first = len(self.log) + 1
        self.log.extend(Event(seq, kind, bytes(body)) for seq, (kind, body) in enumerate(events, first))


class MemoryStore:
    """Keeps sessions in memory, for tests and for agents that need not remember.

    Its methods are those of `Store`. Only this process has the sessions, so none of them is ever busy.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _StoredSession] = {}
        self._order: dict[
            tuple[str, str | None], list[tuple[str, str]]
        ] = {}  # oldest first, as an index would
        self._epochs = itertools.count(1)
        self._clock = Clock()
        self._hints = Hints()
        self._opened = self._closed = False

    async def open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        self._opened = True

    async def close(self) -> None:
        self._closed = True
        self._sessions.clear()
        self._order.clear()

    def cluster(self) -> "Cluster":
        """This process as the only node."""
        from .local_cluster import LocalCluster

        return LocalCluster(self, hints=self._hints)

    async def create(self, record: SessionRecord, events: Sequence[tuple[EventKind, bytes]] = ()) -> Lease:
        self._check()
        session = self._new(
            record, record.title, json_bytes(record.id, "state", record.state),
            json_bytes(record.id, "settings", record.settings),
        )  # fmt: skip
        session.add(events)
        return self._keep(session)

    async def get(self, session_id: str, *, principal: str = "") -> SessionRecord:
        self._check()
        return self._find(session_id, principal).record()

    async def acquire(self, session_id: str, *, principal: str = "") -> Lease:
        self._check()
        session = self._find(session_id, principal)
        session.epoch, session.held = next(self._epochs), True
        return Lease(session_id, session.epoch)

    async def release(self, lease: Lease) -> None:
        self._check()
        session = self._sessions.get(lease.session_id)
        if session is not None and session.epoch == lease.epoch:
            session.held = False

    async def append(
        self,
        lease: Lease,
        expected_seq: int,
        events: Sequence[tuple[EventKind, bytes]],
        changes: SessionChanges | None = None,
    ) -> int:
        self._check()
        changes = changes or SessionChanges()
        name = lease.session_id
        state = None if changes.state is None else json_bytes(name, "state", changes.state)
        settings = None if changes.settings is None else json_bytes(name, "settings", changes.settings)
        session = self._sessions.get(name)
        if session is None:
            raise SessionNotFound(name)
        if session.epoch != lease.epoch or not session.held:
            raise Fenced(f"session {name!r} was given back or taken by somebody else")
        last = len(session.log)
        if last != expected_seq:
            wrote = [(event.kind, event.body) for event in session.log[expected_seq:]]
            if events and last == expected_seq + len(events) and wrote == [tuple(each) for each in events]:
                return last
            raise Fenced(f"the log of session {name!r} is at {last}, not at {expected_seq}")
        self._unlist(session)
        session.add(events)
        session.updated_at = self._clock.now()
        session.title = session.title if changes.title is None else changes.title
        session.cwd = session.cwd if changes.cwd is None else changes.cwd
        session.state = session.state if state is None else state
        session.settings = session.settings if settings is None else settings
        self._enlist(session)
        self._hints.wake(name)
        return len(session.log)

    async def read(self, session_id: str, *, after: int = 0, principal: str = "") -> AsyncIterator[Events]:
        self._check()
        session = self._find(session_id, principal)
        end = len(session.log)
        for start in range(max(after, 0), end, PIECE_EVENTS):
            self._check()
            if self._sessions.get(session_id) is not session:
                raise SessionNotFound(session_id)
            yield session.log[start : min(start + PIECE_EVENTS, end)]

    async def fork(self, session_id: str, record: SessionRecord, *, principal: str = "") -> Lease:
        self._check()
        source = self._find(session_id, principal)
        copy = self._new(record, source.title, source.state, source.settings)
        copy.log.extend(source.log)
        return self._keep(copy)

    async def delete(self, session_id: str, *, principal: str = "") -> None:
        self._check()
        self._unlist(self._find(session_id, principal))
        del self._sessions[session_id]

    async def list(
        self, *, principal: str = "", cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> SessionPage:
        self._check()
        limit = page_size(limit)
        order = self._order.get((principal, cwd), [])
        end = len(order) if cursor is None else bisect_left(order, decode_cursor(cursor))
        start = max(end - limit, 0)
        records = [self._sessions[name].record() for _, name in reversed(order[start:end])]
        return SessionPage(
            records, encode_cursor(records[-1].updated_at, records[-1].id) if records and start else None
        )

    def _check(self) -> None:
        if self._closed or not self._opened:
            raise StoreError("the store is closed" if self._closed else "the store is not open yet")

    def _find(self, session_id: str, principal: str) -> _StoredSession:
        session = self._sessions.get(session_id)
        if session is None or session.principal != principal:
            raise SessionNotFound(session_id)
        return session

    def _new(self, record: SessionRecord, title: str | None, state: bytes, settings: bytes) -> _StoredSession:
        if record.id in self._sessions:
            raise SessionExists(f"there is a session {record.id!r} already")
        now = self._clock.now()
        return _StoredSession(
            id=record.id,
            principal=record.principal,
            cwd=record.cwd,
            title=title,
            created_at=normal_stamp(record.created_at) if record.created_at else now,
            updated_at=normal_stamp(record.updated_at) if record.updated_at else now,
            state=state,
            settings=settings,
            epoch=next(self._epochs),
        )

    def _keep(self, stored: _StoredSession) -> Lease:
        self._sessions[stored.id] = stored
        self._enlist(stored)
        return Lease(stored.id, stored.epoch)

    def _enlist(self, stored: _StoredSession) -> None:
        for cwd in (None, stored.cwd):
            insort(self._order.setdefault((stored.principal, cwd), []), (stored.updated_at, stored.id))

    def _unlist(self, stored: _StoredSession) -> None:
        for cwd in (None, stored.cwd):
            order = self._order[stored.principal, cwd]
            del order[bisect_left(order, (stored.updated_at, stored.id))]
            if not order:
                del self._order[stored.principal, cwd]

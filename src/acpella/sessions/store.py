"""Where conversations are kept: an append-only log of events for each session, and a catalogue of sessions.

The log is the one truth that replay, fork and export read. Whoever writes a session holds its `Lease`; the
lease's epoch grows with every new holder and is checked inside every append, so that a writer that lost its
session can write no more.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from acpella.errors import AcpellaError

__all__ = [
    "Event",
    "EventKind",
    "Events",
    "Fenced",
    "InvalidCursor",
    "Lease",
    "SessionBusy",
    "SessionChanges",
    "SessionExists",
    "SessionNotFound",
    "SessionPage",
    "SessionRecord",
    "Store",
    "StoreError",
    "StoreUnavailable",
]

EventKind: TypeAlias = Literal["update", "state", "turn", "question", "answered"]
"""`update`: a `session/update`, its body the update's JSON. `turn`: a prompt was answered, its body the
answer's JSON. The others are for those who watch, and not part of the conversation. `state`: an update that
tells the title, a mode, an option or how much was used. `question` and `answered`: the agent asked the people
of the session something, and what the first of them said."""


class StoreError(AcpellaError):
    """The store could not do what was asked; nothing was changed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached just now. An append may be repeated; it counts once."""


class SessionNotFound(StoreError):
    """No such session, or it was deleted."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"no session {session_id!r}")


class SessionExists(StoreError):
    """The id is taken."""


class SessionBusy(StoreError):
    """Another process writes this session; close it there first."""

    node: str | None = None
    """The node that has it, where nodes have names."""


class Fenced(StoreError):
    """The lease is over: somebody else took the session."""


class InvalidCursor(StoreError):
    """The cursor did not come from this list."""


class Event(NamedTuple):
    """One entry of a session's log; `seq` counts from 1 without gaps."""

    seq: int
    kind: EventKind
    body: bytes


Events: TypeAlias = list[Event]
"""A piece of a log. (Inside a `Store`, the name `list` is taken by the method.)"""


class Lease(NamedTuple):
    """The right to write a session."""

    session_id: str
    epoch: int


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalogue knows of a session."""

    id: str
    cwd: str
    principal: str = ""
    """Whose session it is; empty on a machine with one user."""
    title: str | None = None
    created_at: str = ""
    updated_at: str = ""
    """ISO 8601, UTC."""
    last_seq: int = 0
    state: dict[str, Any] = {}
    """What the agent keeps with the session: JSON."""
    settings: dict[str, Any] = {}
    """Current mode and options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChanges:
    """What an append changes in the catalogue; None leaves a value alone."""

    title: str | None = None
    cwd: str | None = None
    state: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None


class SessionPage(NamedTuple):
    """Some sessions, newest first, and where the next ones begin."""

    sessions: list[SessionRecord]
    next_cursor: str | None


class Store(Protocol):
    """Keeps sessions. Every method is safe to call from many tasks at once.

    A foreign `principal` sees nothing: its calls raise `SessionNotFound`.
    """

    async def open(self) -> None:
        """Get ready; called once before anything else. Raises `StoreError` when it cannot."""
        ...

    async def close(self) -> None:
        """Give back all leases and close the files. What was appended is kept. Safe to call twice."""
        ...

    async def create(self, record: SessionRecord, events: Sequence[tuple[EventKind, bytes]] = ()) -> Lease:
        """Add a session with its first events, durable on return; the caller holds it. `SessionExists`."""
        ...

    async def get(self, session_id: str, *, principal: str = "") -> SessionRecord:
        """`SessionNotFound`."""
        ...

    async def list(
        self, *, principal: str = "", cwd: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> SessionPage:
        """Sessions by last change, newest first; costs the same however many there are. `InvalidCursor`."""
        ...

    async def acquire(self, session_id: str, *, principal: str = "") -> Lease:
        """Become the writer: at once if nobody is, or if the writer's process is dead; again if it is us.

        Raises `SessionBusy` while another live process holds it, `SessionNotFound`.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give the session back; harmless if the lease is over."""
        ...

    async def append(
        self,
        lease: Lease,
        expected_seq: int,
        events: Sequence[tuple[EventKind, bytes]],
        changes: SessionChanges | None = None,
    ) -> int:
        """Add events after `expected_seq`, all or none, durable on return; returns the new last number.

        Sets `updated_at`. Repeating an append that had succeeded changes nothing. Raises `Fenced`, or
        `StoreError` when it cannot be written (a full disk): then nothing was, and it may be tried again.
        """
        ...

    def read(self, session_id: str, *, after: int = 0, principal: str = "") -> AsyncIterator[Events]:
        """The log in order, in pieces of bounded size. `SessionNotFound`."""
        ...

    async def fork(self, session_id: str, record: SessionRecord, *, principal: str = "") -> Lease:
        """Copy a session's log, title, state and settings into a new one (`record.id`, `record.cwd`), which
        the caller then holds. One step: no half copies. `SessionNotFound`, `SessionExists`."""
        ...

    async def delete(self, session_id: str, *, principal: str = "") -> None:
        """Remove a session and its log for good. `SessionNotFound`; `SessionBusy` if another process
        has it."""
        ...

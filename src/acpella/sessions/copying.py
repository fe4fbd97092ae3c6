"""Copies and checks of whole stores; what a copy has written is read back and compared."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from .store import Event, SessionBusy, SessionNotFound, SessionRecord, Store, StoreError

__all__ = ["CompleteStore", "Copied", "Outcome", "StoredProblem", "check_store", "copy_store"]

MAX_SESSION_BYTES = 512 * 1024 * 1024
"""Bytes of one session's log that can be copied. A session is copied in one step, so it is in memory once."""

Outcome: TypeAlias = Literal["copied", "there", "updated", "refused"]
"""`there`: it was copied before. `updated`: it had grown since. `refused`: `Copied.reason` says why."""


class CompleteStore(Store, Protocol):
    """A store that can be looked at as a whole, whosever the sessions are."""

    async def size(self) -> tuple[int, int]:
        """How many sessions and events there are."""
        ...

    def every(self) -> AsyncIterator[SessionRecord]:
        """All sessions in the order of their ids."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What became of one session."""

    id: str
    outcome: Outcome
    events: int
    reason: str = ""


class StoredProblem(NamedTuple):
    """What is wrong with one session."""

    session_id: str
    text: str


async def copy_store(source: CompleteStore, target: CompleteStore) -> AsyncIterator[Copied]:
    """Copy every session that is not in the target yet, and compare what was written with what was read.

    It can be interrupted at any time and begun again: a session is there whole or not at all. One that is
    there and differs is left alone, unless it is an older state of the one in the source.
    """
    async for record in source.every():
        try:
            events = await _read(source, record)
            yield await _copy(record, events, target)
        except SessionNotFound:
            continue  # deleted meanwhile
        except SessionBusy as busy:
            yield Copied(id=record.id, outcome="refused", events=0, reason=str(busy))


async def _copy(record: SessionRecord, events: list[Event], target: CompleteStore) -> Copied:
    outcome: Outcome = "copied"
    try:
        there = await target.get(record.id, principal=record.principal)
    except SessionNotFound:
        pass
    else:
        stored = await _read(target, there)
        if _same(there, record) and _digest(stored) == _digest(events):
            return Copied(id=record.id, outcome="there", events=len(events))
        newer = there.updated_at > record.updated_at or len(stored) > len(events)
        if newer or _digest(stored) != _digest(events[: len(stored)]):
            reason = "the target has a session of this id that is newer or another one; delete one of the two"
            return Copied(id=record.id, outcome="refused", events=0, reason=reason)
        await target.delete(record.id, principal=record.principal)
        outcome = "updated"
    lease = await target.create(record, [(event.kind, event.body) for event in events])
    await target.release(lease)
    there = await target.get(record.id, principal=record.principal)
    if not _same(there, record) or _digest(await _read(target, there)) != _digest(events):
        raise StoreError(f"session {record.id!r} was not written as it was read; look at the target's disk")
    return Copied(id=record.id, outcome=outcome, events=len(events))


async def check_store(store: CompleteStore) -> AsyncIterator[tuple[SessionRecord, list[StoredProblem]]]:
    """Read everything; tells of each session what is wrong with it."""
    async for record in store.every():
        problems: list[str] = []
        last = 0
        try:
            async for piece in store.read(record.id, principal=record.principal):
                for event in piece:
                    if event.seq != last + 1:
                        problems.append(f"event {event.seq} follows on {last}")
                    last = event.seq
            if last < record.last_seq:
                problems.append(f"the log ends at {last}, and should end at {record.last_seq}")
        except SessionNotFound as gone:
            try:
                await store.get(record.id, principal=record.principal)
            except SessionNotFound:
                continue  # deleted meanwhile
            problems.append(f"the log has a gap after {last}: {gone}")
        yield record, [StoredProblem(record.id, text) for text in problems]


async def _read(store: CompleteStore, record: SessionRecord) -> list[Event]:
    """The log as long as the record says; it may have grown since."""
    events: list[Event] = []
    size = 0
    async for piece in store.read(record.id, principal=record.principal):
        events += piece
        size += sum(len(event.body) for event in piece)
        if size > MAX_SESSION_BYTES:
            most = MAX_SESSION_BYTES // 1024 // 1024
            raise StoreError(f"session {record.id!r} has more than {most} MiB, which cannot be copied")
    return events[: record.last_seq]


def _same(one: SessionRecord, other: SessionRecord) -> bool:
    """Whether they are the same but for characters in titles that not every store takes."""
    titles = [(each.title or "").encode(errors="replace").replace(b"\0", b"") for each in (one, other)]
    return titles[0] == titles[1] and replace(one, title="") == replace(other, title="")


def _digest(events: list[Event]) -> bytes:
    digest = hashlib.sha256()
    for event in events:
        digest.update(b"%s %d " % (event.kind.encode(), len(event.body)))
        digest.update(event.body)
    return digest.digest()

"""Records of sessions as notes that all nodes have: an invitation counts wherever the guest comes."""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from acpella.sessions import Cluster, StoreError

from .records import SessionRecords, SharedSessionRecord

__all__ = ["RecordNotes"]

log: logging.Logger = logging.getLogger(__name__)

PREFIX = "page:"
"""How the names of these notes begin."""

SAVE_SECONDS = 10.0
"""Seconds for a change to reach the database, before the person who made it is told that it did not."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to reach a database that is away."""


class _Session(msgspec.Struct, array_like=True):
    cwd: str = ""
    name: str = ""


class RecordNotes:
    """Tells the other nodes what changes here, and this one what changes there.

    Each guest is a note of its own, and so is the session's name: what people change at two nodes at the same
    moment does not undo each other.
    """

    def __init__(
        self, cluster: Cluster, records: SessionRecords, on_change: Callable[[SharedSessionRecord], None]
    ) -> None:
        """`on_change` is told of records that another node changed."""
        self._cluster = cluster
        self._records = records
        self._on_change = on_change
        self._unsaved: dict[str, bytes] = {}
        self._wake = asyncio.Event()
        self._saved = asyncio.Event()
        self._has_all = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Read what there is, and go on with what comes. Raises `StoreError`."""
        self._records.share(self._changed)
        create = asyncio.get_running_loop().create_task
        self._tasks = [create(self._read()), create(self._write())]
        first = create(self._has_all.wait())
        await asyncio.wait([first, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            first.cancel()
            await self.close()
            raise StoreError("what pages know of sessions cannot be read")

    async def close(self) -> None:
        """Safe to call twice."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def saved(self) -> None:
        """Wait until all nodes can know what was changed here. Raises `StoreError`."""
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                while self._unsaved:
                    self._saved.clear()
                    await self._saved.wait()
        except TimeoutError:
            raise StoreError("the database cannot be reached; other nodes do not know of this yet") from None

    def _changed(self, old: SharedSessionRecord | None, new: SharedSessionRecord) -> None:
        before, after = _notes_of(old), _notes_of(new)
        self._unsaved.update({name: body for name, body in after.items() if before.get(name) != body})
        self._unsaved.update({name: b"" for name in before if name not in after})
        self._wake.set()

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while notes := dict(self._unsaved):
                try:
                    await self._cluster.keep_notes(notes)
                except StoreError as error:
                    log.warning("what people decided about sessions is not saved yet: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                for name, body in notes.items():
                    if self._unsaved.get(name) == body:
                        del self._unsaved[name]
            self._saved.set()

    async def _read(self) -> None:
        while True:
            try:
                async for notes in self._cluster.notes():
                    changed = {key for name, body in notes.items() if (key := self._take(name, body))}
                    for owner, session in sorted(changed):
                        record = self._records.get(owner, session)
                        self._on_change(record or SharedSessionRecord(owner=owner, session=session))
                    self._has_all.set()
            except StoreError as error:
                log.info("could not look for what other nodes know of sessions: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    def _take(self, name: str, body: bytes) -> tuple[str, str] | None:
        """Which record another node changed, if it did."""
        if not name.startswith(PREFIX) or name in self._unsaved:  # what is not saved yet is newer
            return None
        try:
            owner, session, guest = msgspec.json.decode(name.removeprefix(PREFIX), type=tuple[str, str, str])
            old = self._records.get(owner, session)
            new = old or SharedSessionRecord(owner=owner, session=session)
            if guest:
                guests = {user: role for user, role in new.guests.items() if user != guest}
                if body == b"controller":
                    guests[guest] = "controller"
                elif body:
                    guests[guest] = "observer"
                new = msgspec.structs.replace(new, guests=guests)
            else:
                facts = msgspec.json.decode(body, type=_Session) if body else _Session()
                new = msgspec.structs.replace(new, cwd=facts.cwd, name=facts.name)
        except msgspec.MsgspecError:
            log.warning("a note of another version cannot be read")
            return None
        if new == (old or SharedSessionRecord(owner=owner, session=session)):
            return None
        self._records.learn(new)
        return owner, session


def _notes_of(record: SharedSessionRecord | None) -> dict[str, bytes]:
    """Nothing for a session that has no name and no guests: its owner finds it at every node anyway."""
    if record is None or record.deleted or not (record.name or record.guests):
        return {}

    def name(guest: str) -> str:
        return PREFIX + msgspec.json.encode((record.owner, record.session, guest)).decode()

    facts = msgspec.json.encode(_Session(record.cwd, record.name))
    return {name(""): facts, **{name(guest): role.encode() for guest, role in record.guests.items()}}

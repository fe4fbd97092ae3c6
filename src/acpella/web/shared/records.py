"""What people decided about sessions: whose they are, what they are called, who was invited."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from acpella._directories import private, write_private
from acpella.rpc.message import UNREADABLE

__all__ = ["SessionRecords", "SharedSessionRecord"]

log: logging.Logger = logging.getLogger(__name__)

MAX_RECORDS = 10_000
"""Sessions that are remembered. Without it, the file of a busy server grows without end."""


class SharedSessionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session of one user. An id alone does not name it: some agents count from 1 at each start."""

    owner: str
    session: str
    cwd: str = ""
    name: str = ""
    """What a person called it; empty leaves that to the agent."""
    guests: dict[str, Literal["controller", "observer"]] = {}
    deleted: bool = False


_decoder = msgspec.json.Decoder(SharedSessionRecord)


class SessionRecords:
    """All of a server. The file has a line for each change; the last one of a session counts."""

    def __init__(self, file: Path | None = None) -> None:
        """Without a file, everything is forgotten when the server ends."""
        self._file = file
        self._tell: Callable[[SharedSessionRecord | None, SharedSessionRecord], None] | None = None
        self._records: dict[tuple[str, str], SharedSessionRecord] = {}  # the oldest first
        if file is not None and file.exists():
            self._load(file)

    def _load(self, file: Path) -> None:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            log.warning("%s cannot be read: %s", file, error)
            return
        for line in lines:
            try:
                self._keep(_decoder.decode(line))
            except UNREADABLE:
                log.warning("a line of %s cannot be read", file)  # a power cut leaves half a line
        if len(lines) > 2 * len(self._records) + 100:
            self._write(
                b"".join(msgspec.json.encode(one) + b"\n" for one in self._records.values()), whole=True
            )

    def share(self, tell: "Callable[[SharedSessionRecord | None, SharedSessionRecord], None]") -> None:
        """Start empty, without the file. Somebody else keeps the records: `tell` gets the old and the new one
        at each change."""
        self._file = None
        self._records.clear()
        self._tell = tell

    def get(self, owner: str, session_id: str) -> SharedSessionRecord | None:
        return self._records.get((owner, session_id))

    def __iter__(self) -> Iterator[SharedSessionRecord]:
        """All, the oldest first."""
        return iter(self._records.values())

    def of(self, owner: str) -> list[SharedSessionRecord]:
        """The sessions of a user."""
        return [record for record in self._records.values() if record.owner == owner]

    def shared_with(self, user: str) -> list[SharedSessionRecord]:
        """The sessions of others that a user was invited to."""
        return [record for record in self._records.values() if user in record.guests]

    def save(self, record: SharedSessionRecord) -> None:
        old = self.get(record.owner, record.session)
        if old != record:
            self._keep(record)
            self._write(msgspec.json.encode(record) + b"\n")
            if self._tell is not None:
                self._tell(old, record)

    def learn(self, record: SharedSessionRecord) -> None:
        """Somebody else saved it."""
        self._keep(record)

    def made(self, session_id: str) -> None:
        """An agent made a session with this id; what had it before is gone."""
        for owner in [one.owner for one in self if one.session == session_id]:
            self.delete(owner, session_id)

    def delete(self, owner: str, session_id: str) -> None:
        if (owner, session_id) in self._records:
            self.save(SharedSessionRecord(owner=owner, session=session_id, deleted=True))

    def _keep(self, record: SharedSessionRecord) -> None:
        key = (record.owner, record.session)
        self._records.pop(key, None)
        if not record.deleted:
            self._records[key] = record
            if len(self._records) > MAX_RECORDS:
                del self._records[next(iter(self._records))]

    def _write(self, data: bytes, *, whole: bool = False) -> None:
        if self._file is None:
            return
        try:
            private(self._file.parent)
            if whole:
                write_private(self._file, data)
                return
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._file, error)

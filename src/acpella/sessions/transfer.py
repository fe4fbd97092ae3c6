"""A session as one JSON document, to move it to another machine or to keep it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal, cast

import msgspec

from ._order import normal_stamp
from .store import Event, EventKind, SessionRecord, StoreError

__all__ = ["ImportedSession", "InvalidDocument", "export_session", "import_session"]

FORMAT = "acpella.session"
VERSION = 1

MAX_IMPORT = 10_000
"""Events that a document may bring. Without it, one request could fill the disk."""


class InvalidDocument(StoreError):
    """The document is not a session that can be imported; says what is wrong and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """The session in a document. The importer chooses its id."""

    cwd: str
    title: str | None
    created_at: str
    updated_at: str
    state: dict[str, Any]
    settings: dict[str, Any]

    def to_record(self, session_id: str, *, principal: str = "", cwd: str | None = None) -> SessionRecord:
        """The record to create the session with."""
        return SessionRecord(
            id=session_id,
            principal=principal,
            cwd=self.cwd if cwd is None else cwd,
            title=self.title,
            created_at=self.created_at,
            updated_at=self.updated_at,
            state=self.state,
            settings=self.settings,
        )


def export_session(record: SessionRecord, events: Iterable[Event]) -> dict[str, Any]:
    """The document of a session, made of plain JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "session": {
            "cwd": record.cwd,
            "title": record.title,
            "createdAt": record.created_at,
            "updatedAt": record.updated_at,
            "state": record.state,
            "settings": record.settings,
        },
        "events": [
            {"kind": event.kind, "body": msgspec.json.decode(event.body)}
            for event in events
            if event.kind in ("update", "turn")
        ],
    }


def import_session(document: object) -> tuple[ImportedSession, list[tuple[EventKind, bytes]]]:
    """Check a document, and take it apart for `Store.create`. Raises `InvalidDocument`."""
    if not isinstance(document, Mapping):
        raise InvalidDocument(f"a session document is a JSON object, not {_name(document)}")
    fields = cast("Mapping[str, object]", document)
    if fields.get("format") != FORMAT:
        raise InvalidDocument(
            f'not a session document: "format" must be "{FORMAT}", not {_shown(fields.get("format"))}'
        )
    version = fields.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        raise InvalidDocument(
            f"version {_shown(version)} of the session document is unknown, this acpella reads {VERSION}"
            + ("; upgrade acpella to import it" if newer else "")
        )
    listed = fields.get("events")
    if isinstance(listed, list) and len(cast("list[object]", listed)) > MAX_IMPORT:
        count = len(cast("list[object]", listed))
        raise InvalidDocument(f"{count:,} events are too many, {MAX_IMPORT:,} can be imported")
    try:
        read = msgspec.convert(dict(fields), _Document, strict=True)
        events: list[tuple[EventKind, bytes]] = [
            (event.kind, msgspec.json.encode(event.body)) for event in read.events
        ]
        msgspec.json.encode((read.session.state, read.session.settings))
    except msgspec.ValidationError as exc:
        raise InvalidDocument(f"the session document is wrong: {exc}") from None
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidDocument(f"the session document is not JSON: {exc}") from None
    session = read.session
    if not (PurePosixPath(session.cwd).is_absolute() or PureWindowsPath(session.cwd).is_absolute()):
        raise InvalidDocument(f"session.cwd must be an absolute path, not {_shown(session.cwd)}")
    return (
        ImportedSession(
            cwd=session.cwd,
            title=session.title,
            created_at=_time("createdAt", session.created_at),
            updated_at=_time("updatedAt", session.updated_at),
            state=session.state,
            settings=session.settings,
        ),
        events,
    )


class _Session(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    cwd: str
    title: str | None = None
    created_at: str
    updated_at: str
    state: dict[str, Any] = {}
    settings: dict[str, Any] = {}


class _Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Literal["update", "turn"]
    body: dict[str, Any]


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    version: int
    session: _Session
    events: list[_Event]


def _time(field: str, text: str) -> str:
    try:
        return normal_stamp(text)
    except ValueError:
        raise InvalidDocument(
            f"session.{field} must be a time like 2026-01-02T03:04:05Z, not {_shown(text)}"
        ) from None


def _name(value: object) -> str:
    return "null" if value is None else type(value).__name__


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

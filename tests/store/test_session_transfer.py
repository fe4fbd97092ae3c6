"""A session as a document."""

import json
from copy import deepcopy
from typing import Any

import pytest

from acpella.sessions import (
    Event,
    InvalidDocument,
    MemoryStore,
    SessionRecord,
    StoreError,
    export_session,
    import_session,
)

DOCUMENT: dict[str, Any] = {
    "format": "acpella.session",
    "version": 1,
    "session": {
        "cwd": "/x",
        "title": "T",
        "createdAt": "2026-01-02T03:04:05.123456Z",
        "updatedAt": "2026-01-02T03:04:06.000000Z",
        "state": {"a": [1, None]},
        "settings": {"mode": "ask"},
    },
    "events": [{"kind": "update", "body": {"ü": 1.5}}, {"kind": "turn", "body": {"stopReason": "end_turn"}}],
}


def changed(path: str, value: object) -> dict[str, Any]:
    document = deepcopy(DOCUMENT)
    *parents, last = path.split(".")
    place: Any = document
    for name in parents:
        place = place[int(name) if name.isdigit() else name]
    place[last] = value
    return document


@pytest.mark.anyio
async def test_an_exported_session_can_be_imported_elsewhere() -> None:
    session, events = import_session(DOCUMENT)
    store = MemoryStore()
    await store.open()
    await store.create(session.to_record("new", principal="p", cwd="/y"), events)
    record = await store.get("new", principal="p")
    assert (record.cwd, record.title, record.last_seq) == ("/y", "T", 2)
    log = [event async for piece in store.read("new", principal="p") for event in piece]
    exported = export_session(record, log)
    assert exported == changed("session.cwd", "/y")
    assert json.loads(json.dumps(exported)) == exported


def test_a_document_is_plain_json() -> None:
    record = SessionRecord(id="secret-id", cwd="/x", principal="me")
    document = export_session(record, [Event(1, "update", b'{"a": [1, {"b": null}]}')])
    assert document["events"] == [{"kind": "update", "body": {"a": [1, {"b": None}]}}]
    assert "secret-id" not in json.dumps(document)


def test_times_are_brought_into_one_spelling() -> None:
    session, _ = import_session(changed("session.createdAt", "2026-01-01T00:00:00+02:00"))
    assert session.created_at == "2025-12-31T22:00:00.000000Z"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "a JSON object, not null"),
        ([], "a JSON object, not list"),
        ({}, '"format" must be "acpella.session", not None'),
        (changed("format", "zip"), "not 'zip'"),
        (changed("version", 2), "version 2 .* is unknown, this acpella reads 1; upgrade"),
        (changed("version", "1"), "version '1' .* is unknown"),
        (changed("version", True), "version True .* is unknown"),
        ({**DOCUMENT, "session": None}, r"Expected `object`, got `null` - at `\$.session`"),
        (changed("session.cwd", 3), r"Expected `str`, got `int` - at `\$.session.cwd`"),
        (changed("session.cwd", "x/y"), "session.cwd must be an absolute path, not 'x/y'"),
        (changed("session.title", 3), r"at `\$.session.title`"),
        (
            changed("session.createdAt", "yesterday"),
            "session.createdAt must be a time like .* not 'yesterday'",
        ),
        (changed("session.updatedAt", ""), "session.updatedAt must be a time"),
        (changed("session.updatedAt", "0001-01-01T00:00:00+23:00"), "session.updatedAt must be a time"),
        (changed("session.state", []), r"at `\$.session.state`"),
        (changed("session.state", {"a": object()}), "not JSON"),
        (changed("session.extra", 1), r"unknown field `extra` - at `\$.session`"),
        (changed("events", {}), r"at `\$.events`"),
        (changed("events.1.kind", "other"), r"'other' - at `\$.events\[1\].kind`"),
        (changed("events.1.body", "text"), r"at `\$.events\[1\].body`"),
        (changed("events", [DOCUMENT["events"][0]] * 10_001), "10,001 events are too many, 10,000 can be"),
    ],
)
def test_a_wrong_document_is_told_what_is_wrong_and_where(document: object, message: str) -> None:
    with pytest.raises(InvalidDocument, match=message):
        import_session(document)


def test_ten_thousand_events_can_be_imported() -> None:
    _, events = import_session(changed("events", [DOCUMENT["events"][0]] * 10_000))
    assert len(events) == 10_000


def test_it_is_a_store_error() -> None:
    assert issubclass(InvalidDocument, StoreError)

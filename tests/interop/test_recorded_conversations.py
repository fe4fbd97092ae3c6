"""Recordings of official clients, and recordings played to them."""

import sys
from pathlib import Path
from typing import Any

from acpella.recording import Damaged, RecordedEvent, read
from interop.conftest import ROOT, Drive, Events

ACPELLA = [sys.executable, "-m", "acpella"]


def seen(events: Events) -> list[dict[str, Any]]:
    """What the client saw, but for the names of sessions."""
    return [{name: value for name, value in event.items() if name != "sessionId"} for event in events]


def test_an_official_client_sees_the_same_of_an_agent_its_recording_and_the_recording_of_that(
    drive: Drive, tmp_path: Path
) -> None:
    agent = [sys.executable, str(ROOT / "examples" / "tools.py")]
    note = tmp_path / "note.txt"
    steps: list[dict[str, Any]] = [
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "count words in note.txt"},
        {"do": "prompt", "text": "shout note.txt"},
    ]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    note.write_text("quiet words", encoding="utf-8")
    then = drive([*ACPELLA, "record", "-o", str(first), "--", *agent], *steps)
    assert note.read_text(encoding="utf-8") == "QUIET WORDS"
    note.write_text("quiet words", encoding="utf-8")
    replayed = [*ACPELLA, "replay", str(first)]
    now = drive([*ACPELLA, "record", "-o", str(second), "--", *replayed], *steps)
    assert seen(now) == seen(then) and any(event["event"] == "permission" for event in now)
    assert note.read_text(encoding="utf-8") == "QUIET WORDS"
    for path in (first, second):
        items = list(read(path))
        assert not any(isinstance(item, Damaged) for item in items)
        assert isinstance(items[-1], RecordedEvent) and items[-1].info["dropped"] == 0

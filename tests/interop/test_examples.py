"""The examples, driven by the official Python and TypeScript clients and by acpx."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from interop.conftest import NODE_MODULES, ROOT, Drive, Events, node, said

EXAMPLES = ROOT / "examples"


def example(name: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / name)]


def kinds(events: Events) -> list[str]:
    return [event["update"]["sessionUpdate"] for event in events if event["event"] == "update"]


def test_echo(drive: Drive) -> None:
    events = drive(example("echo.py"), {"do": "new"}, {"do": "prompt", "text": "Grüße 👋"})
    assert said(events) == "You said: Grüße 👋"
    assert events[-1] == {"event": "stop", "reason": "end_turn"}


def test_streaming(drive: Drive) -> None:
    events = drive(example("streaming.py"), {"do": "new"}, {"do": "prompt", "text": "one two"})
    assert said(events) == "Let me repeat that slowly: one two "
    assert {"plan", "agent_thought_chunk", "usage_update"} <= set(kinds(events))


def test_streaming_is_cancelled_in_the_middle(drive: Drive) -> None:
    """R-210: the answer to a cancelled prompt is `cancelled`."""
    long = "word " * 2000
    events = drive(
        example("streaming.py"), {"do": "new"}, {"do": "prompt", "text": long, "cancel_on": "slowly"}
    )
    assert events[-1] == {"event": "stop", "reason": "cancelled"}
    assert said(events).count("word") < 1000


def test_tools_read_ask_and_write_through_the_editor(drive: Drive, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("quiet words", encoding="utf-8")
    events = drive(
        example("tools.py"),
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "count words in note.txt"},
        {"do": "prompt", "text": "shout note.txt"},
    )
    assert "note.txt has 2 words." in said(events)
    assert note.read_text(encoding="utf-8") == "QUIET WORDS"
    asked = [event for event in events if event["event"] == "permission"]
    assert asked[0]["title"] == "Write note.txt"
    assert asked[0]["kinds"] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert [event["event"] for event in events if event["event"] in ("read", "write")] == [
        "read",
        "read",
        "write",
    ]


def test_tools_take_no_for_an_answer(drive: Drive, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("quiet words", encoding="utf-8")
    events = drive(
        example("tools.py"),
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "shout note.txt", "answer": "reject_once"},
    )
    assert "Then I will be quiet." in said(events)
    assert note.read_text(encoding="utf-8") == "quiet words"


def test_tools_run_a_command_on_this_machine(drive: Drive, tmp_path: Path) -> None:
    events = drive(
        example("tools.py"),
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "run echo from-the-shell"},
    )
    assert "It ended with code 0." in said(events)
    assert "from-the-shell" in str(events)


def test_sessions_are_listed_loaded_and_switched(drive: Drive, tmp_path: Path) -> None:
    """R-142: loading replays the conversation in order, user and agent."""
    events = drive(
        example("sessions.py"),
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "first"},
        {"do": "mode", "mode": "blunt"},
        {"do": "prompt", "text": "second"},
        {"do": "list", "cwd": str(tmp_path)},
        {"do": "load", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "/history"},
    )
    new = next(event for event in events if event["event"] == "new")
    listed = next(event for event in events if event["event"] == "list")
    assert listed["ids"] == [new["sessionId"]]
    at = events.index(listed)
    loaded = next(i for i, event in enumerate(events) if event["event"] == "loaded")
    replay = [e["update"] for e in events[at:loaded] if e["event"] == "update"]
    texts = [u["content"]["text"] for u in replay if "content" in u]
    assert texts[0] == "first" and texts[2] == "second"
    assert texts[1].startswith("You were kind enough to write: first")
    assert texts[3].startswith("You wrote: second")
    assert said(events[loaded:]) == "1. first\n2. second\n"
    assert "current_mode_update" in kinds(events)


@pytest.mark.parametrize(
    "name, prompt, answer",
    [
        ("echo.py", "hi", "You said: hi"),
        ("streaming.py", "hi", "Let me repeat that slowly: hi"),
        ("tools.py", "run echo x", "It ended with code 0."),
        ("sessions.py", "hi", "You were kind enough to write: hi"),
    ],
)
def test_acpx_runs_the_examples(name: str, prompt: str, answer: str, tmp_path: Path) -> None:
    acpx = NODE_MODULES / ".bin" / "acpx"
    command = node()
    if not acpx.exists():
        pytest.skip("acpx is not installed; `make unit` installs it")
    ran = subprocess.run(
        [command, str(acpx.resolve()), "--approve-all", "--agent", shlex.join(example(name)), "exec", prompt],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
    )
    assert answer in ran.stdout, f"{ran.stdout}\n{ran.stderr}"
    assert ran.returncode == 0

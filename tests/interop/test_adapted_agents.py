"""Agents of other frameworks, driven by the official clients."""

import os
import sys
from pathlib import Path

import pytest

from adapters import frameworks
from interop.conftest import Drive

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("framework", frameworks.every())
def test_an_adapted_agent_serves_an_official_client(drive: Drive, framework: str, tmp_path: Path) -> None:
    program = TESTS / "adapters" / "scripted_program.py"
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    events = drive(
        [sys.executable, "-m", "acpella", "agent", f"{program}:agent"],
        {"do": "new", "cwd": str(tmp_path)},
        {"do": "prompt", "text": "note a.txt"},
        {"do": "prompt", "text": "two"},
        env={"ACPELLA_TEST_FRAMEWORK": framework, "PYTHONPATH": path},
    )
    updates = [event["update"] for event in events if event["event"] == "update"]
    said = "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")
    assert said == "You said: note a.txtYou said: note a.txt | two"
    call = next(u for u in updates if u["sessionUpdate"] == "tool_call")
    assert call["title"] in ("Edit a.txt", "edit_file")
    ended = [u for u in updates if u["sessionUpdate"] == "tool_call_update"][-1]
    assert ended["status"] == "completed"
    assert events[-1] == {"event": "stop", "reason": "end_turn"}

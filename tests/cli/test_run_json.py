"""`acpella run -o json`: one document when the turn is over."""

import json
import os
import signal
from pathlib import Path

from cli_shell import Shell

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_json_is_one_document_with_the_whole_result(shell: Shell) -> None:
    ran = shell("run", "-a", shell.forgetful, "-o", "json", "ask one.txt")
    told = json.loads(ran.stdout)
    assert ran.returncode == 10, ran.stderr  # nobody is there to allow it
    assert (told["text"], told["stopReason"], told["refused"]) == ("not allowed", "end_turn", 1)
    assert told["sessionId"].startswith("sess_") and told["error"] is None
    (call,) = told["toolCalls"]
    assert (call["title"], call["kind"], call["status"]) == ("Do one.txt", "edit", "failed")
    assert [Path(place["path"]).name for place in call["locations"]] == ["one.txt"]


def test_json_of_a_session_that_stays_names_the_session(shell: Shell) -> None:
    first, second = (
        json.loads(shell("run", "-a", shell.scripted, "-s", "work", "-o", "json", word).stdout)
        for word in ("one", "two")
    )
    assert first["text"].startswith("one by ") and second["text"].startswith("two by ")
    assert first["sessionId"] == second["sessionId"]


def test_json_of_a_turn_that_broke_off_holds_what_came_and_why(shell: Shell) -> None:
    ran = shell("run", "-a", shell.forgetful, "-o", "json", "die")
    told = json.loads(ran.stdout)
    assert ran.returncode == 4 and told["stopReason"] is None
    assert "exited with code 7" in told["error"] and "exited with code 7" in ran.stderr


def test_json_of_a_cancelled_turn(shell: Shell, tmp_path: Path) -> None:
    text = f"wait {tmp_path / 'never'}"
    process = shell.start("run", "-a", shell.forgetful, "-o", "json", text)
    shell.until_event("begin", text)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=90)
    told = json.loads(out)
    assert process.returncode == 130
    assert (told["text"], told["stopReason"]) == ("waiting\n", "cancelled")


def test_json_lists_commands_too_and_has_nothing_to_say_of_a_prompt_nobody_waits_for(shell: Shell) -> None:
    listed = shell("run", "-a", str(EXAMPLES / "echo.py"), "-o", "json", "--list-commands")
    assert json.loads(listed.stdout) == []
    left = shell("run", "-s", "work", "-a", shell.scripted, "-o", "json", "--no-wait", "hi")
    assert left.returncode == 2 and "acpella status --json" in left.stderr

"""How a turn ends, told by the exit code and on the screen."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell

RAW = f"{sys.executable} {Path(__file__).parent / 'raw_agent.py'}"
CALL = {"toolCallId": "c1", "title": "Shell", "kind": "execute", "rawInput": {"command": "make test"}}


def steps(*done: list[Any]) -> str:
    return json.dumps(done)


# -- exit codes ------------------------------------------------------------------------------------


def test_a_refused_command_has_an_exit_code_of_its_own(shell: Shell) -> None:
    ran = shell("run", "-a", RAW, steps(["tool", CALL], ["ask", {"toolCallId": "c1"}], ["text", "so be it"]))
    assert ran.returncode == 10, ran.stderr
    assert "so be it" in ran.stdout


def test_a_refused_command_is_not_ctrl_c_when_the_agent_calls_the_turn_cancelled(shell: Shell) -> None:
    prompt = steps(["tool", CALL], ["ask", {"toolCallId": "c1"}], ["stop", "cancelled"])
    assert shell("run", "-a", RAW, prompt).returncode == 10
    assert shell("run", "-a", RAW, "-s", "kept", prompt).returncode == 10
    assert shell("run", "-a", RAW, "-o", "jsonl", prompt).returncode == 10


def test_a_turn_that_somebody_cancelled_is_cancelled_whatever_was_refused_before(shell: Shell) -> None:
    asked = shell.repo / "asked"
    prompt = steps(["tool", CALL], ["ask", {"toolCallId": "c1"}], ["touch", str(asked)], ["until cancelled"])
    for session in ([], ["-s", "kept"]):
        ran = shell.start("run", "-a", RAW, *session, prompt)
        shell.until(asked.exists, "the question")
        assert shell("cancel").returncode == 0
        ran.communicate(timeout=90)
        assert ran.returncode == 130
        asked.unlink()


def test_the_code_for_something_refused_is_in_the_help(shell: Shell) -> None:
    assert "something that the agent asked for was refused" in shell("run", "--help").stdout


# -- tool calls --------------------------------------------------------------------------------------


def test_a_tool_call_that_the_agent_never_closes_is_told_as_unfinished(shell: Shell) -> None:
    ran = shell("run", "-a", RAW, steps(["tool", CALL], ["text", "done"]))
    assert "[execute] Shell: make test · unfinished" in ran.stdout
    assert ran.returncode == 0


def test_a_command_that_is_known_stands_beside_a_title_that_does_not_contain_it(shell: Shell) -> None:
    asked = {"toolCallId": "c1", "title": "Bash"}
    ran = shell("run", "-a", RAW, steps(["tool", CALL], ["ask", asked], ["text", "done"]))
    assert "[execute] Shell: make test\n" in ran.stdout
    assert "refused: Bash: make test" in ran.stderr
    hidden = {"toolCallId": "c1", "title": "curl x | sh #\rgit status"}
    ran = shell("run", "-a", RAW, steps(["tool", CALL], ["ask", hidden]))
    assert r"refused: curl x | sh #\rgit status: make test" in ran.stderr, "nothing of it is left out"
    wrapped = {**CALL, "title": "make test", "rawInput": {"command": ["/bin/bash", "-lc", "make test"]}}
    assert "[execute] make test\n" in shell("run", "-a", RAW, steps(["tool", wrapped])).stdout
    named = {**CALL, "title": "Run `make test` now"}
    ran = shell("run", "-a", RAW, steps(["tool", named]))
    assert "[execute] Run `make test` now\n" in ran.stdout


def test_the_title_of_a_question_is_newer_than_that_of_the_call(shell: Shell) -> None:
    ran = shell(
        "run",
        "-a",
        RAW,
        "--yolo",
        steps(
            ["tool", {"toolCallId": "c1", "title": "Working", "kind": "other"}],
            ["ask", {"toolCallId": "c1", "title": "Tidy the house"}],
            ["update", {"toolCallId": "c1", "status": "completed"}],
        ),
    )
    assert "[other] Tidy the house ✓ completed" in ran.stdout


def test_the_title_of_a_question_that_was_refused_stands_at_the_end(shell: Shell) -> None:
    """The agent says no more of that call."""
    asked = {"toolCallId": "c1", "title": "Tidy", "rawInput": {"command": "make clean"}}
    ran = shell(
        "run",
        "-a",
        RAW,
        steps(["tool", {"toolCallId": "c1", "title": "Bash", "kind": "execute"}], ["ask", asked]),
    )
    assert "[execute] Tidy: make clean ✗ failed" in ran.stdout


def test_a_running_call_is_told_again_when_its_title_changes(shell: Shell) -> None:
    ran = shell(
        "run",
        "-a",
        RAW,
        steps(
            ["tool", {"toolCallId": "c1", "title": "Thinking", "kind": "edit"}],
            ["update", {"toolCallId": "c1", "status": "in_progress"}],
            ["update", {"toolCallId": "c1", "title": "Edit notes.txt"}],
            ["update", {"toolCallId": "c1", "title": "Edit notes.txt"}],
            ["update", {"toolCallId": "c1", "status": "completed"}],
        ),
    )
    assert [line for line in ran.stdout.splitlines() if line.startswith("[edit]")] == [
        "[edit] Thinking",
        "[edit] Edit notes.txt",
        "[edit] Edit notes.txt ✓ completed",
    ]


# -- messages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["text", "simple"])
def test_messages_with_different_ids_are_not_glued_together(shell: Shell, output: str) -> None:
    prompt = steps(["text", "I look ", "m1"], ["text", "first.", "m1"], ["text", "All is well.", "m2"])
    ran = shell("run", "-a", RAW, "-o", output, prompt)
    assert ran.stdout == "I look first.\n\nAll is well.\n"


def test_messages_with_a_tool_call_between_are_not_glued_together(shell: Shell) -> None:
    prompt = steps(
        ["text", "I look."],
        ["tool", CALL],
        ["update", {"toolCallId": "c1", "status": "completed"}],
        ["text", "All is "],
        ["update", {"toolCallId": "c1", "title": "Shell done"}],
        ["text", "well.\n"],
        ["tool", {**CALL, "toolCallId": "c2"}],
        ["text", "\nBye."],
    )
    assert shell("run", "-a", RAW, "-o", "simple", prompt).stdout == "I look.\n\nAll is well.\n\nBye.\n"


# -- nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["text", "simple"])
def test_a_turn_with_nothing_at_all_says_so(shell: Shell, output: str) -> None:
    ran = shell("run", "-a", RAW, "-o", output, "nothing")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "the agent ended its turn without saying or doing anything" in ran.stderr
    ran = shell("run", "-a", RAW, "-o", output, "hello")
    assert "without saying" not in ran.stderr


# -- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [[], ["-s", "kept"]])
def test_the_time_limit_covers_the_start(shell: Shell, session: list[str]) -> None:
    ran = shell("run", "-a", f"{RAW} --deaf", "--timeout", "1", *session, "hello")
    assert ran.returncode == 7, ran.stderr
    assert "no end within 1 s (--timeout)" in ran.stderr


def test_a_session_that_cannot_be_loaded_names_new(shell: Shell) -> None:
    agent = f"{RAW} --load --missing"
    assert shell("run", "-a", agent, "-s", "kept", "hello").returncode == 0
    shell("sessions", "close", "kept")
    ran = shell("run", "-a", agent, "-s", "kept", "hello")
    assert ran.returncode == 8
    assert "no such session" in ran.stderr and "--new" in ran.stderr


def test_a_plan_among_several_is_shown_in_a_pipe_as_well(shell: Shell) -> None:
    """Only a terminal showed it."""
    plan = {
        "type": "items",
        "planId": "p",
        "entries": [{"content": "look", "priority": "low", "status": "pending"}],
    }
    ran = shell("run", "-a", RAW, steps(["say", "plan_update", {"plan": plan}], ["text", "done"]))
    assert "[plan]\n  ○ look" in ran.stdout, ran.stderr

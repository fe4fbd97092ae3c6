"""Conversations of sessions that are kept alive, told again without the agent's help."""

import json
import sys
from pathlib import Path

import pytest
from cli_shell import Shell
from terminal import acpella

RAW = f"{sys.executable} {Path(__file__).parent / 'raw_agent.py'}"
ONCE = f"{RAW} --load --once"


@pytest.mark.parametrize("agent", [ONCE, RAW, f"{RAW} --load"])
def test_a_warm_session_is_shown_although_its_agent_does_not_load_it_twice(shell: Shell, agent: str) -> None:
    shell("run", "-a", agent, "-s", "kept", "first")
    shell("run", "-s", "kept", "second")
    ran = shell("sessions", "show", "kept")
    assert (ran.returncode, ran.stderr) == (0, "")
    answer = "ok gem-pro https://modes.example/#ask\n"
    assert ran.stdout == f"> first\n{answer}> second\n{answer}"
    again = shell("sessions", "show", "kept")
    assert again.stdout == ran.stdout


def test_a_warm_session_is_exported_although_its_agent_does_not_load_it_twice(shell: Shell) -> None:
    shell("run", "-a", ONCE, "-s", "kept", "first")
    document = json.loads(shell("sessions", "export", "kept").stdout)
    told = [event["body"]["content"]["text"] for event in document["events"]]
    assert told == ["first", "ok gem-pro https://modes.example/#ask"]


def test_a_chat_shows_what_was_said_although_the_agent_does_not_load_twice(shell: Shell) -> None:
    shell("run", "-a", ONCE, "-s", "kept", "first")
    with acpella("chat", "-s", "kept", cwd=shell.repo, **shell.env) as terminal:
        terminal.see("› first\n\n.*ok gem-pro")
        terminal.type("\x04")
        assert terminal.wait() == 0


def test_null_is_not_exported_as_a_conversation(shell: Shell) -> None:
    """An agent that answers with null whatever it does not know."""
    shell("run", "-a", f"{RAW} --nulls", "hello")
    ran = shell("sessions", "export")
    assert (ran.returncode, ran.stdout) == (6, "")
    shell("run", "-a", f"{RAW} --nulls --load", "-s", "kept", "hello")
    ran = shell("sessions", "export", "kept", "-o", "kept.json")
    assert ran.returncode == 0
    document = json.loads((shell.repo / "kept.json").read_text(encoding="utf-8"))
    assert document["events"][0]["body"]["content"]["text"] == "hello"
    shell("sessions", "close", "kept")  # a new process of this agent has forgotten everything
    ran = shell("sessions", "export", "kept", "-o", "empty.json")
    assert ran.returncode == 6 and "nothing to export" in ran.stderr
    assert not (shell.repo / "empty.json").exists()


def test_a_restarted_agent_does_not_repeat_the_conversation_as_its_answer(
    shell: Shell, tmp_path: Path
) -> None:
    """An agent that must hear of --write is started again, and its session loaded."""
    agent = tmp_path / "keeps.py"
    source = (Path(__file__).parent / "raw_agent.py").read_text(encoding="utf-8")
    memory = "said = [('user_message_chunk', 'one'), ('agent_message_chunk', 'two')]"
    agent.write_text(source.replace("said: list[tuple[str, str]] = []", memory), encoding="utf-8")
    command = f"{sys.executable} {agent} --load"
    shell("run", "-a", command, "-s", "kept", "three")
    ran = shell("run", "-s", "kept", "--write", "four")
    assert ran.stdout == "ok gem-pro https://modes.example/#ask\n"
    shown = shell("sessions", "show", "kept").stdout
    assert shown == "> one\ntwo\n> four\nok gem-pro https://modes.example/#ask\n"

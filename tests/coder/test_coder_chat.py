"""`acpella chat` with the coding agent, on a real terminal."""

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.terminal import Terminal
from coder.harness import AGENT, environment


@pytest.fixture
def chat(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    for name in set(os.environ) - set(environment(home)):
        monkeypatch.delenv(name)  # no key of whoever runs the tests
    command = [sys.executable, "-m", "acpella", "chat", "-a", shlex.join(AGENT)]
    with Terminal(command, cwd=project, columns=100, rows=50, HOME=str(home)) as terminal:
        yield terminal
        terminal.type("\x04")
        assert terminal.wait() == 0


def test_a_conversation_without_a_key(chat: Terminal, project: Path) -> None:
    """B5, B6, C22: a change with its diff, a command, a mode that binds, the agent's own commands."""
    chat.see("· offline")
    chat.type('replace "helo" by "hello" in greet.py and then run python3 greet.py\r')
    asked = chat.see("4 R  Always reject edit_file for ordinary files in this project")
    assert '2 -     return "helo"' in asked and '2 +     return "hello"' in asked
    chat.type("a")
    chat.see("2 A  Always allow exactly this in this project")
    chat.type("a")
    chat.see(r"(?s)exit code 0.*This is the offline model.*›")
    assert '"hello"' in (project / "greet.py").read_text(encoding="utf-8")
    chat.type("/mode read-only\r")
    chat.see("Read only · offline")
    chat.type("run touch ran\r")
    chat.see("“run touch ran” needs the tool run")
    chat.type("/clear\r")
    chat.see("Forgotten: ")
    assert not (project / "ran").exists()


def test_a_long_command_is_shown_whole_before_the_answer(chat: Terminal, project: Path) -> None:
    chat.see("· offline")
    chat.type("run echo " + "a" * 120 + " && touch ran\r")
    chat.see(r"(?s)Run echo a[a\s]+….*touch ran.*4 R")
    chat.type("r")
    chat.see("→ Reject")
    chat.see(r"(?s)was not allowed.*offline model.*›")
    assert not (project / "ran").exists()

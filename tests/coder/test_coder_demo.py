"""`acpella demo`: what somebody sees who has just cloned the repository."""

import os
import subprocess
import sys
from pathlib import Path

from coder.harness import environment

DEMO = [sys.executable, "-m", "acpella", "demo"]


def test_without_a_terminal_the_demo_answers_for_itself_and_says_so(home: Path, tmp_path: Path) -> None:
    env = {**environment(home), "TMPDIR": str(tmp_path)}
    ran = subprocess.run(
        DEMO, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, cwd=home, env=env
    )
    assert ran.returncode == 0 and ran.stderr == ""
    assert '-    return f"helo, {name}"\n' in ran.stdout and '+    return f"hello, {name}"\n' in ran.stdout
    assert ran.stdout.count("nobody is at a terminal to answer, so the demo says: Allow") == 2
    assert (
        "hello, world" in ran.stdout and "ANTHROPIC_API_KEY" in ran.stdout and "agent_servers" in ran.stdout
    )
    assert [path.name for path in tmp_path.iterdir()] == ["home"]  # nothing is left behind
    assert not (home / "acpella" / "permissions.toml").exists()


def test_a_person_at_a_terminal_is_asked(home: Path) -> None:
    """Yes to the edit, no to the command."""
    person, terminal = os.openpty()
    process = subprocess.Popen(
        DEMO, stdin=terminal, stdout=terminal, stderr=terminal, cwd=home, env=environment(home)
    )
    os.close(terminal)
    shown = b""
    answers = [b"1\n", b"7\n", b"3\n"]
    try:
        while True:
            try:
                shown += os.read(person, 65536)
            except OSError:  # the other end is closed
                break
            if shown.count(b"Your answer [1]: ") > 3 - len(answers):
                os.write(person, answers.pop(0))
    finally:
        process.kill() if process.poll() is None and answers else None
        code = process.wait(timeout=20)
        os.close(person)
    text = shown.decode()
    assert code == 0 and answers == []
    assert "Type a number from 1 to 4." in text and "Edit greet.py: completed" in text
    assert "Run python3 greet.py: failed" in text and "hello, world" not in text


def test_started_in_a_terminal_the_agent_says_how_to_talk_to_it(home: Path) -> None:
    """The whole command, so that it can be pasted."""
    person, terminal = os.openpty()
    command = [sys.executable, "-m", "acpella", "agent", "--mode", "safe"]
    process = subprocess.Popen(
        command, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=environment(home)
    )
    os.close(terminal)
    try:
        said = os.read(person, 4096).decode()
    finally:
        process.terminate()
        process.communicate(timeout=20)
        os.close(person)
    assert "for an editor to start" in said and 'agent --mode safe\' "hi"' in said

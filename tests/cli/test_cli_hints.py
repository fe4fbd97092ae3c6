"""What a command says when something is missing: what to do, once, and nothing else."""

import json
import signal
import sys
from pathlib import Path

import pytest
from cli_shell import EXAMPLES, HERE, Shell

from cli.terminal import acpella

LOGIN = f"{sys.executable} {HERE / 'login_agent.py'}"


@pytest.mark.parametrize("words", [[], ["-s", "x"], ["-o", "jsonl"]])
def test_a_login_says_how(shell: Shell, words: list[str]) -> None:
    """R-051, T-051"""
    ran = shell("run", *words, "-a", LOGIN, "hi")
    assert ran.returncode == 5
    first, second = ran.stderr.splitlines()
    assert "wants you to log in first with one of: web (On the web)" in first
    assert ("term (In the terminal)" in first) == (words != ["-s", "x"])
    assert second == f"To log in: `acpella chat -a '{LOGIN}'`, and there /login"


def test_the_doctor_says_only_what_is_his(shell: Shell) -> None:
    ran = shell("agents", "doctor", LOGIN)
    assert ran.returncode == 5 and "login web: On the web" in ran.stdout
    assert "skipped" not in ran.stderr and "acpella chat -a" in ran.stderr


def test_lines_that_are_no_messages_are_told_as_by_run(shell: Shell) -> None:
    noisy = shell.home / "noisy.py"
    noisy.write_text(
        "import acpella\nprint('gar\\x1b[2Jbage', flush=True)\nagent = acpella.Agent('noisy', version='1')\n"
        "@agent.on_prompt\nasync def reply(turn):\n    yield 'hi'\nagent.run()\n"
    )
    ran = shell("agents", "doctor", str(noisy))
    assert ran.returncode == 0 and "it wrote 1 lines to stdout that are not ACP" in ran.stdout
    assert all(line.startswith("acpella: ") for line in ran.stderr.splitlines()) and "\x1b" not in ran.stderr


def test_text_that_is_none_is_named(shell: Shell) -> None:
    shot = shell.repo / "shot.png"
    shot.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xff")
    ran = shell("run", "-a", shell.scripted, "--file", "shot.png")
    assert ran.returncode == 2 and "shot.png is not text" in ran.stderr and "--image" in ran.stderr
    with shot.open("rb") as file:
        ran = shell("run", "-a", shell.scripted, stdin=file)
    assert ran.returncode == 2 and "stdin is not text" in ran.stderr and "--image" in ran.stderr


def test_a_time_limit_is_named_once_though_the_agent_does_not_stop(shell: Shell) -> None:
    ran = shell("run", "-a", shell.forgetful, "--timeout", "2", "stubborn")
    assert ran.returncode == 7
    assert ran.stderr.splitlines() == [
        "acpella: no end within 2 s (--timeout): cli_agent.py did not stop within 5 s and was ended"
    ]


def test_so_is_ctrl_c(shell: Shell) -> None:
    running = shell.start("run", "-a", shell.forgetful, "stubborn")
    assert running.stdout is not None and running.stdout.readline() == "stubborn\n"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.splitlines() == ["acpella: cli_agent.py did not stop within 5 s and was ended"]


@pytest.mark.parametrize(
    "words, code", [(["--list-commands"], 0), (["--mode", "nope", "hi"], 2), (["--option", "x=y", "hi"], 2)]
)
def test_a_run_without_a_prompt_leaves_no_session(shell: Shell, words: list[str], code: int) -> None:
    agent = str(EXAMPLES / "sessions.py")
    ran = shell("run", "-a", agent, *words)
    assert ran.returncode == code, ran.stderr
    assert json.loads(shell("sessions", "list", "--json", "-a", agent).stdout) == []


def test_a_change_that_is_allowed_on_a_terminal_is_written_without_an_option(tmp_path: Path) -> None:
    agent = f"{sys.executable} {HERE / 'raw_agent.py'}"
    asked = {"toolCallId": "c", "title": "It", "kind": "edit", "locations": [{"path": f"{tmp_path}/it.txt"}]}
    prompt = json.dumps([["ask", asked], ["write", "it.txt", "done"]])
    with acpella("run", "-a", agent, prompt, cwd=tmp_path) as terminal:
        terminal.see("y: yes, (n or )?Esc: no")
        terminal.type("y")
        assert terminal.wait() == 0
        assert "--write" not in terminal.all() and "written" in terminal.all()
    assert (tmp_path / "it.txt").read_text(encoding="utf-8") == "done"


@pytest.mark.parametrize("words", [[], ["-s", "x"]])
@pytest.mark.parametrize("refused", ["session", "prompt"])
def test_a_login_error_keeps_what_the_agent_said(shell: Shell, words: list[str], refused: str) -> None:
    agent = shell.home / "expired.py"
    agent.write_text(
        "import acpella\nfrom acpella.errors import AuthRequired\n"
        "def refuse(_): raise AuthRequired('your key expired on Monday')\n"
        "agent = acpella.Agent('expired', version='1')\n"
        f"@agent.on_{refused}\nasync def first(_):\n    refuse(_)\n"
        + ("@agent.on_prompt\nasync def reply(turn):\n    yield 'hi'\n" if refused == "session" else "")
        + "agent.run()\n"
    )
    ran = shell("run", *words, "-a", str(agent), "hi")
    assert ran.returncode == 5
    assert ran.stderr.count("wants you to log in first; it says: your key expired on Monday") == 1
    assert ran.stderr.count("log in first") == 1

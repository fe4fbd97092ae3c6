"""Ctrl-C, and what else ends `acpella run`: nothing is left behind."""

import json
import signal
from pathlib import Path

from cli_shell import HERE, Shell, alive

from acpella.cli import VARIABLES, exits

DOCS = HERE.parents[1] / "docs" / "cli.md"


def agent_pid(shell: Shell) -> int:
    return json.loads(shell.log.read_text(encoding="utf-8").splitlines()[0])[2]


def test_a_second_ctrl_c_ends_an_agent_that_does_not_listen(shell: Shell) -> None:
    process = shell.start("run", "-o", "jsonl", "-a", shell.forgetful, "stubborn")
    shell.until_event("begin", "stubborn")
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert any('"session/cancel"' in line for line in process.stdout)  # the first one is at work
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    shell.until(lambda: not alive(agent_pid(shell)), "the agent's end")


def test_being_terminated_ends_the_agent_too(shell: Shell) -> None:
    process = shell.start("run", "-a", shell.forgetful, "stubborn")
    shell.until_event("begin", "stubborn")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143
    shell.until(lambda: not alive(agent_pid(shell)), "the agent's end")


def test_ctrl_c_while_the_agent_starts(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "mute.py"
    program.write_text(
        f"import os, sys\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nsys.stdin.read()",
        encoding="utf-8",
    )
    process = shell.start("run", "-a", str(program), "hi")
    shell.until(
        lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(encoding="utf-8"), "it runs"
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")
    assert not alive(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_crash_shows_code_stderr_and_what_to_do(shell: Shell) -> None:
    """D8"""
    ran = shell("run", "-a", shell.forgetful, "die")
    assert ran.returncode == 4
    for text in ("exited with code 7", "something broke inside", "acpella agents doctor"):
        assert text in ran.stderr


def test_the_page_about_the_command_line_has_every_exit_code_and_variable() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for code, meaning in exits.CODES.items():
        assert f"| {code} | {meaning} |" in text
    for variable in ("ACPELLA_OWNER_IDLE", "ACPELLA_PERMISSION_FILE"):
        assert variable in text and variable in VARIABLES

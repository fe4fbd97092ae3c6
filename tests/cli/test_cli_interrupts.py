"""Ctrl-C, and what else ends `acpella run`: nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Shell, alive


def agent_pid(shell: Shell) -> int:
    return json.loads(shell.log.read_text(encoding="utf-8").splitlines()[0])[2]


def test_a_second_ctrl_c_ends_an_agent_that_does_not_listen(shell: Shell) -> None:
    process = shell.start("run", "-o", "jsonl", "-a", shell.forgetful, "stubborn")
    shell.until_event("begin", "stubborn")
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert any('"session/cancel"' in line for line in process.stdout)  # the first one is at work
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    shell.until(lambda: not alive(agent_pid(shell)), "the agent's end")


def test_being_terminated_ends_the_agent_too(shell: Shell) -> None:
    process = shell.start("run", "-a", shell.forgetful, "stubborn")
    shell.until_event("begin", "stubborn")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    shell.until(lambda: not alive(agent_pid(shell)), "the agent's end")


def command_pid(shell: Shell) -> int:
    """The command that the agent runs in a session of its own."""
    shell.until(lambda: any(what == "pid" for what, _ in shell.events()), "the command's start")
    return next(int(text) for what, text in shell.events() if what == "pid")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("output", ["text", "jsonl"])
def test_being_told_to_end_cancels_the_turn_and_ends_the_agents_commands(
    shell: Shell, number: signal.Signals, output: str
) -> None:
    """`timeout 60 acpella run …`, a stopped job, a closed window."""
    process = shell.start("run", "-o", output, "-a", shell.forgetful, "command")
    command = command_pid(shell)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert ("cancelled", "command") in shell.events()
    assert not alive(agent_pid(shell)) and not alive(command)


def test_a_session_that_is_told_to_end_cancels_the_turn_and_ends_the_agents_commands(shell: Shell) -> None:
    process = shell.start("run", "-s", "work", "-a", shell.scripted, "command")
    command = command_pid(shell)
    daemon, agent = shell.address()["pid"], shell.address()["agent_pid"]
    os.kill(daemon, signal.SIGTERM)
    process.communicate(timeout=60)
    shell.until(lambda: not alive(daemon), "the daemon's end")
    assert ("cancelled", "command") in shell.events()
    assert not alive(agent) and not alive(command)


def test_a_second_ctrl_c_ends_the_commands_of_an_agent_that_does_not_listen(shell: Shell) -> None:
    process = shell.start("run", "-o", "jsonl", "-a", shell.forgetful, "command stubbornly")
    command = command_pid(shell)
    os.kill(agent_pid(shell), signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert any('"session/cancel"' in line for line in process.stdout)  # the first one is at work
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    shell.until(lambda: not alive(agent_pid(shell)) and not alive(command), "the end of both")


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
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert not alive(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_crash_shows_code_stderr_and_what_to_do(shell: Shell) -> None:
    """D8"""
    ran = shell("run", "-a", shell.forgetful, "die")
    assert ran.returncode == 4
    for text in ("exited with code 7", "something broke inside", "acpella agents doctor"):
        assert text in ran.stderr


BUSY = """
import asyncio
from acpella.cli.terminal.interrupts import Interrupts

async def main():
    Interrupts()
    print("busy", flush=True)
    while True:
        pass

asyncio.run(main())
"""


def test_a_second_ctrl_c_ends_a_program_whose_event_loop_is_busy() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    for _ in range(50):  # two that come too close count as one
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    process.communicate()
    assert process.returncode == 130

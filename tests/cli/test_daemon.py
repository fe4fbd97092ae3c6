"""The process that keeps a session alive, spoken to as a client of it does."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cli_shell import Shell

from acpella.cli.daemon.address import _started_by_ps, started_ticks  # pyright: ignore[reportPrivateUsage]

AGENT = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "initialize":
            say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        case "session/load":
            say(id=message["id"], result={})
            sys.exit(3)
        case "session/new" if "logged in" not in globals():
            say(id=message["id"], error={"code": -32000, "message": "who are you?"})
        case "authenticate":
            globals()["logged in"] = True
            say(id=message["id"], result={})
        case _:
            say(id=message["id"], result={})
"""


class Client:
    """Sends requests to a daemon, and reads until their answers."""

    def __init__(self, connected: socket.socket) -> None:
        self._lines = connected.makefile("rwb")
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._lines.write(json.dumps(request).encode() + b"\n")
        self._lines.flush()
        while True:
            message = json.loads(self._lines.readline())
            if message.get("id") == self._number and "method" not in message:
                return message


@pytest.fixture
def daemon(shell: Shell) -> Iterator[Callable[..., Client]]:
    """Starts a daemon for an agent, and gives a client of it."""
    agent = shell.repo / "agent.py"
    agent.write_text(AGENT, encoding="utf-8")
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(20)

    def start(**config: Any) -> Client:
        process = subprocess.Popen(
            [sys.executable, "-m", "acpella.cli.daemon.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=shell.env,
        )
        command = [sys.executable, str(agent)]
        place = {"cwd": str(shell.repo), "where": str(shell.repo)}
        told = {"key": "k", "agent": "agent", "target": command, "command": command, **place, **config}
        with process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(told).encode())
            process.stdin.close()
            assert process.stdout.readline() == b"ready\n"
            connected.connect(shell.address()["socket"])
            process.returncode = 0  # the fixture of the shell waits for its end
        return Client(connected)

    yield start
    connected.close()


def test_an_agent_that_dies_after_its_answer_to_a_load_is_told_at_once(
    daemon: Callable[..., Client],
) -> None:
    """It was waited for the rest of the replay; the next prompt then waited for ever."""
    answer = daemon(session_id="before").ask("initialize", protocolVersion=1)
    assert "exited with code 3" in answer["error"]["message"]


def test_a_login_after_which_no_session_can_be_made_is_answered(daemon: Callable[..., Client]) -> None:
    client = daemon()
    client.ask("initialize", protocolVersion=1)
    assert client.ask("session/resume", sessionId="new")["error"]["code"] == -32000
    answer = client.ask("authenticate", methodId="any")
    assert "made a session without an id" in answer["error"]["message"]


def test_a_process_is_known_by_its_start_where_there_is_no_proc() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = _started_by_ps(process.pid)
        assert started and started == _started_by_ps(process.pid)
        assert started_ticks(process.pid)
        process.kill()
    assert _started_by_ps(process.pid) == started_ticks(process.pid) == 0

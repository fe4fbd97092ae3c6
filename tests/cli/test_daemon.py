"""The process that keeps a session alive, spoken to as a client of it does."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell

from acpella.cli.daemon.address import (
    DaemonAddress,
    _started_by_ps,  # pyright: ignore[reportPrivateUsage]
    started_ticks,
)
from acpella.cli.daemon.client import stop
from acpella.cli.state import paths

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

CURIOUS = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def hear(): return json.loads(sys.stdin.readline())
while message := hear():
    match message["method"]:
        case "initialize":
            abilities = {"sessionCapabilities": {"resume": {}}}
            say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": abilities})
        case "session/new":
            say(id="q", method="elicitation/create", params={"message": "who?"})
            say(id="r", method="fs/read_text_file", params={"path": "/x"})
            answers = [hear(), hear()]
            say(id=message["id"], result={"sessionId": "s", "_meta": {"answers": answers}})
        case "session/set_mode":
            pass
        case _:
            say(id=message["id"], result={})
"""


HASTY = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
answers = []
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            say(id=message["id"], result={"protocolVersion": 1})
        case "session/new":
            say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt":
            say(id="p", method="session/request_permission", params={"sessionId": "s", "options": []})
            say(id="f", method="fs/read_text_file", params={"sessionId": "s", "path": "/x"})
            say(id=message["id"], result={"stopReason": "end_turn"})
        case "session/set_mode":
            say(id=message["id"], result={"answers": answers})
        case None:
            answers.append(message)
"""

UNREADABLE = """
import json, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
deep = "[" * 100_000
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            say(id=message["id"], result={"protocolVersion": 1})
        case "session/new":
            say(id=message["id"], result={"sessionId": "s"})
        case "session/prompt" if message["params"]["prompt"] == ["question"]:
            prompt = message["id"]
            print('{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":%s}' % deep, flush=True)
        case "session/prompt":
            value = {"nan": "NaN", "deep": deep}[message["params"]["prompt"][0]]
            print('{"jsonrpc":"2.0","id":%d,"result":{"_meta":%s}}' % (message["id"], value), flush=True)
        case None:
            say(id=prompt, result={"stopReason": "end_turn", "_meta": {"answer": message}})
"""


class Client:
    """Sends requests to a daemon, and reads until their answers."""

    def __init__(self, connected: socket.socket) -> None:
        self._lines = connected.makefile("rwb")
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.send(method, **params)
        return self.answer()

    def send(self, method: str, **params: Any) -> None:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._lines.write(json.dumps(request).encode() + b"\n")
        self._lines.flush()

    def answer(self) -> dict[str, Any]:
        """The answer to what was sent last."""
        while True:
            message = json.loads(self._lines.readline())
            if message.get("id") == self._number and "method" not in message:
                return message


@pytest.fixture
def daemon(shell: Shell) -> Iterator[Callable[..., Client]]:
    """Starts a daemon for an agent, and gives a client of it."""
    file = shell.repo / "agent.py"
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(20)

    def start(agent: str = AGENT, **config: Any) -> Client:
        file.write_text(agent, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "acpella.cli.daemon.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=shell.env,
        )
        command = [sys.executable, str(file)]
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


def test_an_agent_may_ask_before_its_session_is_open(daemon: Callable[..., Client]) -> None:
    """Nobody answered, so the agent waited, and whoever began the session with it."""
    client = daemon(CURIOUS)
    assert "result" in client.ask("initialize", protocolVersion=1)
    session = client.ask("session/resume", sessionId="new")["result"]
    assert [
        answer.get("result", answer.get("error", {}).get("code")) for answer in session["_meta"]["answers"]
    ] == [
        {"action": "cancel"},
        -32603,
    ]


def test_a_prompt_that_is_no_list_does_not_block_those_behind_it(daemon: Callable[..., Client]) -> None:
    client = daemon(CURIOUS)
    client.ask("initialize", protocolVersion=1)
    assert "result" in client.ask("session/prompt", sessionId="s", prompt=None)
    assert "result" in client.ask("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "hi"}])


def test_what_an_agent_asks_is_answered_when_its_turn_ends_first(daemon: Callable[..., Client]) -> None:
    """Nobody answered any more, whatever the client did, and the agent waited for ever."""
    client = daemon(HASTY)
    client.ask("initialize", protocolVersion=1)
    assert client.ask("session/prompt", sessionId="s", prompt=[])["result"] == {"stopReason": "end_turn"}
    permission, file = client.ask("session/set_mode", sessionId="s", modeId="m")["result"]["answers"]
    assert (permission["id"], permission["result"]) == ("p", {"outcome": {"outcome": "cancelled"}})
    assert (file["id"], file["error"]["message"]) == ("f", "the turn is over")


def test_messages_that_cannot_be_read_leave_nobody_waiting(daemon: Callable[..., Client]) -> None:
    """They were told as lines that are not messages: whoever had sent the prompt waited, or the agent did."""
    client = daemon(UNREADABLE)
    client.ask("initialize", protocolVersion=1)
    for prompt in ("nan", "deep"):
        answer = client.ask("session/prompt", sessionId="s", prompt=[prompt])
        assert "the answer could not be read" in answer["error"]["message"]
    turn = client.ask("session/prompt", sessionId="s", prompt=["question"])
    answer = turn["result"]["_meta"]["answer"]
    assert (answer["id"], answer["error"]["code"]) == ("q", -32600)


def test_what_an_agent_has_not_answered_fails_when_it_is_started_again(
    daemon: Callable[..., Client], shell: Shell
) -> None:
    """Another client offers its files, which agents learn only at their start."""
    first = daemon(CURIOUS)
    first.ask("initialize", protocolVersion=1)
    first.send("session/set_mode", sessionId="s", modeId="m")
    with socket.socket(socket.AF_UNIX) as connected:
        connected.settimeout(20)
        connected.connect(shell.address()["socket"])
        second = Client(connected)
        second.ask("initialize", protocolVersion=1, clientCapabilities={"fs": {"readTextFile": True}})
        assert "result" in second.ask("session/prompt", sessionId="s", prompt=[])
    assert "was ended before it answered" in first.answer()["error"]["message"]


def test_stopping_a_daemon_spares_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one took the session while the old one was waited for, and was killed in its place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    address = paths.private(paths.daemons()) / "k.json"
    place = str(tmp_path / "socket")
    waits = [sys.executable, "-c", "input()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as next_one:
        following = DaemonAddress(pid=next_one.pid, ticks=started_ticks(next_one.pid), socket=place)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place)
            listener.listen()
            DaemonAddress(pid=os.getpid(), ticks=started_ticks(os.getpid()), socket=place).write(address)

            def give_way() -> None:
                connected, _ = listener.accept()
                with connected, connected.makefile("rwb") as lines:
                    lines.readline()
                    following.write(address)
                    lines.write(b'{"jsonrpc":"2.0","id":0,"result":{}}\n')

            old = threading.Thread(target=give_way)
            old.start()
            assert stop("k", within=0.5)
            old.join()
        assert next_one.poll() is None
        next_one.kill()


def test_a_process_is_known_by_its_start_where_there_is_no_proc() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = _started_by_ps(process.pid)
        assert started and started == _started_by_ps(process.pid)
        assert started_ticks(process.pid)
        process.kill()
    assert _started_by_ps(process.pid) == started_ticks(process.pid) == 0

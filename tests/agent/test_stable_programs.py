"""The examples and the built-in agent as a compatibility kit sees them: whole conversations, stable rules."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.test_stable_schema import PARAMS, RESULTS, check

EXAMPLES = Path(__file__).parents[2] / "examples"
BUILT_IN = ["-m", "acpella", "agent", "--model", "offline"]
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "echo": ([str(EXAMPLES / "echo.py")], ["hello"]),
    "streaming": ([str(EXAMPLES / "streaming.py")], ["one two"]),
    "tools": ([str(EXAMPLES / "tools.py")], ["count words in note.txt", "shout note.txt", "run true"]),
    "sessions": ([str(EXAMPLES / "sessions.py")], ["hello", "/history"]),
    "built-in": (BUILT_IN, ["hello", "read note.txt", "create new.txt with hello", "run echo hi"]),
}
"""By name: what Python starts, and prompts that make it do what it can."""

SECONDS = 60
EDITOR = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}


class Kit:
    """An editor that keeps every message and says yes to every question."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._incoming: queue.Queue[str] = queue.Queue()
        self._next = 0
        self.heard: list[Any] = []
        """Messages of the agent; an answer is a pair of the method that was called, and the message."""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._incoming.put(line)
        self._incoming.put("")

    def send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def call(self, method: str, params: Any) -> Any:
        """The answer to a request: its result, or its error."""
        self._next += 1
        number = f"request {self._next}"
        self.send(id=number, method=method, params=params)
        while True:
            message = self._receive()
            if "method" not in message:
                assert message["id"] == number, message
                self.heard.append((method, message))
                return message.get("result", message.get("error"))

    def _receive(self) -> Any:
        line = self._incoming.get(timeout=SECONDS)
        assert line, "the agent has ended"
        message = json.loads(line)
        if "method" in message:
            self.heard.append(message)
            if "id" in message:
                self.send(id=message["id"], result=self._answer(message["method"], message["params"]))
        return message

    def until(self, kind: str) -> None:
        """Wait for an update of this kind."""
        while self._receive().get("params", {}).get("update", {}).get("sessionUpdate") != kind:
            pass

    def _answer(self, method: str, params: Any) -> Any:
        if method == "fs/read_text_file":
            path = Path(params["path"])
            return {"content": path.read_text(encoding="utf-8") if path.exists() else ""}
        if method == "fs/write_text_file":
            Path(params["path"]).write_text(params["content"], encoding="utf-8")
            return {}
        yes = next(option["optionId"] for option in params["options"] if option["kind"] == "allow_once")
        return {"outcome": {"outcome": "selected", "optionId": yes}}

    def steps(self) -> list[str]:
        """What was heard, by name: kinds of updates, and methods that were answered."""
        return [
            message[0]
            if isinstance(message, tuple)
            else message["params"].get("update", {}).get("sessionUpdate", message["method"])
            for message in self.heard
        ]


@pytest.fixture(params=list(PROGRAMS))
def program(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def kit(program: str, home: Path, tmp_path: Path) -> Iterator[Kit]:
    (tmp_path / "note.txt").write_text("three quiet words\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, *PROGRAMS[program][0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, "ACPELLA_UNSTABLE": "0"},
    ) as process:
        yield Kit(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_a_whole_conversation_stays_inside_the_stable_schema(kit: Kit, program: str, tmp_path: Path) -> None:
    at = {"cwd": str(tmp_path), "mcpServers": []}
    started = kit.call("initialize", {"protocolVersion": 1, "clientCapabilities": EDITOR})
    session = {"sessionId": kit.call("session/new", at)["sessionId"]}
    for text in PROGRAMS[program][1]:
        answer = kit.call("session/prompt", {**session, "prompt": [{"type": "text", "text": text}]})
        assert answer == {"stopReason": "end_turn"}
    offered = started["agentCapabilities"].get("sessionCapabilities", {})
    if "list" in offered:
        assert session["sessionId"] in [s["sessionId"] for s in kit.call("session/list", {})["sessions"]]
    if "close" in offered:
        kit.call("session/close", session)
    if started["agentCapabilities"].get("loadSession"):
        kit.call("session/load", {**session, **at})
    if "delete" in offered:
        kit.call("session/delete", session)
    for message in kit.heard:
        if isinstance(message, tuple):
            check(RESULTS[message[0]], message[1]["result"])
        else:
            check(PARAMS[message["method"]], message["params"])


def test_commands_come_after_the_answer_to_new_and_before_that_to_load(
    kit: Kit, program: str, tmp_path: Path
) -> None:
    at = {"cwd": str(tmp_path), "mcpServers": []}
    started = kit.call("initialize", {"protocolVersion": 1})
    session = {"sessionId": kit.call("session/new", at)["sessionId"]}
    if program not in ("sessions", "built-in"):  # those that have commands and remember
        assert not started["agentCapabilities"].get("loadSession")
        return
    kit.until("available_commands_update")
    assert kit.steps() == ["initialize", "session/new", "available_commands_update"]
    kit.call("session/prompt", {**session, "prompt": [{"type": "text", "text": "hello"}]})
    kit.call("session/close", session)
    kit.heard.clear()
    kit.call("session/load", {**session, **at})
    assert kit.steps()[-2:] == ["available_commands_update", "session/load"]
    assert kit.steps()[0] == "user_message_chunk"


def test_what_is_wrong_gets_the_code_that_the_rules_name(kit: Kit, tmp_path: Path) -> None:
    assert kit.call("initialize", {"protocolVersion": 65535})["protocolVersion"] == 1
    at = {"cwd": str(tmp_path), "mcpServers": []}
    session = {"sessionId": kit.call("session/new", at)["sessionId"]}
    prompt = [{"type": "text", "text": "hello"}]
    wrong = [
        ("no/such", {}, -32601),
        ("_no/such", {}, -32601),
        ("session/fork", {**session, **at}, -32601),
        ("session/set_model", {**session, "modelId": "x"}, -32601),
        ("session/new", {}, -32602),
        ("session/new", {**at, "cwd": "relative"}, -32602),
        ("session/prompt", {}, -32602),
        ("session/prompt", {**session, "prompt": "just a string"}, -32602),
        ("session/prompt", {"sessionId": "nobody", "prompt": prompt}, -32002),
    ]
    assert [(method, kit.call(method, params)["code"]) for method, params, _ in wrong] == [
        (method, code) for method, _, code in wrong
    ]
    kit.send(method="no/such")  # nobody answers a notification
    kit.send(method="session/cancel", params=session)  # nor is there a turn to cancel
    assert kit.call("session/prompt", {**session, "prompt": prompt})["stopReason"] == "end_turn"

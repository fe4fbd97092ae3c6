"""An agent without an SDK, for behaviour that no SDK would let through. Scripts import all of it."""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = [
    "SESSION",
    "answer",
    "ask",
    "json",
    "os",
    "read",
    "refuse",
    "say",
    "send",
    "serve",
    "sys",
    "time",
    "update",
]

SESSION = "s1"

_kept: deque[dict[str, Any]] = deque()
_ids = iter(range(1000, 10_000_000))


def send(message: Any) -> None:
    """Write one line: JSON, or the text as it is."""
    text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def read() -> dict[str, Any]:
    """The next message of the client; ends the program when there is none."""
    if _kept:
        return _kept.popleft()
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def answer(request: dict[str, Any], result: Any) -> None:
    send({"id": request["id"], "result": result})


def refuse(request: dict[str, Any], code: int, message: str, **more: Any) -> None:
    send({"id": request["id"], "error": {"code": code, "message": message, **more}})


def update(tag: str, /, session: str = SESSION, **fields: Any) -> None:
    send(
        {
            "method": "session/update",
            "params": {"sessionId": session, "update": {"sessionUpdate": tag, **fields}},
        }
    )


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def ask(method: str, params: Any, id: Any = None) -> dict[str, Any]:
    """Send the client a request; returns its whole answer. Other messages that arrive are kept for `read`."""
    id = next(_ids) if id is None else id
    send({"id": id, "method": method, "params": params})
    later: list[dict[str, Any]] = []
    while True:
        message = read()
        if message.get("id") == id and "method" not in message:
            _kept.extend(later)
            return message
        later.append(message)


def serve(
    prompt: Callable[[dict[str, Any]], Any] | None = None,
    *,
    hello: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    more: dict[str, Callable[[dict[str, Any]], Any]] | None = None,
) -> None:
    """Answer the usual requests; `prompt` returns a stop reason, or None if it has answered by itself."""
    while True:
        message = read()
        method = message.get("method")
        if more and method in more:
            more[method](message)
        elif method == "initialize":
            answer(message, {"protocolVersion": 1, "agentCapabilities": {}, **(hello or {})})
        elif method == "session/new":
            answer(message, {"sessionId": SESSION, **(new or {})})
        elif method == "session/prompt":
            reason = prompt(message) if prompt else "end_turn"
            if reason is not None:
                answer(message, {"stopReason": reason})
        elif "id" in message and method:
            refuse(message, -32601, "Method not found")

"""Plays the agent's part of a recorded conversation: `replaying_agent.py FILE NUMBER`.

Before a frame of the agent is sent, everything that the client sent before it in the recording must have come
from the client of now; what that says is not compared.
"""

import json
import sys
from pathlib import Path
from typing import Any

Conversation = list[tuple[str, dict[str, Any]]]


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a file; each begins with `initialize`."""
    found: list[Conversation] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "msg" not in entry:
            continue
        if entry["msg"].get("method") == "initialize":
            found.append([])
        found[-1].append((entry["dir"], entry["msg"]))
    return found


def main() -> None:
    conversation = conversations(Path(sys.argv[1]))[int(sys.argv[2])]
    ids: dict[str, Any] = {}  # of the client's requests: recorded → of now
    for direction, message in conversation:
        if direction == "in":
            if "method" not in message and "id" in message:
                message = {**message, "id": ids[repr(message["id"])]}
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()
            continue
        while True:
            line = sys.stdin.readline()
            if not line:
                sys.exit(f"the client left before {message.get('method') or message.get('id')}")
            now = json.loads(line)
            if now.get("method") != message.get("method"):
                continue
            if "method" in message and "id" in message:
                ids[repr(message["id"])] = now["id"]
                break
            if "method" in message or now.get("id") == message.get("id"):
                break
    sys.stdin.read()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""In the place of Claude's program: it says as many words as its environment wants, in one stream of events.

The Claude Agent SDK starts it, reads it and writes to it as it does with the real one.
"""

import json
import os
import sys
from typing import Any

SESSION = "00000000-0000-4000-8000-000000000000"


def main() -> None:
    pieces = int(os.environ["BENCH_PIECES"])
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "control_request":
            response = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            write({"type": "control_response", "response": response})
        elif message["type"] == "user":
            answer(pieces)


def answer(pieces: int) -> None:
    write({"type": "system", "subtype": "init", "session_id": SESSION, "claude_code_version": "9.0.0"})
    usage = {"input_tokens": 7, "output_tokens": 1}
    event({"type": "message_start", "message": {"id": "msg_1", "usage": usage}})
    for _ in range(pieces):
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}})
    text = [{"type": "text", "text": "word " * pieces}]
    message = {"role": "assistant", "content": text, "model": "bench", "id": "msg_1"}
    write({"type": "assistant", "message": message, "parent_tool_use_id": None})
    write(
        {
            "type": "result", "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False,
            "num_turns": 1, "session_id": SESSION, "total_cost_usd": 0.1, "usage": usage,
        }
    )  # fmt: skip


def event(data: dict[str, Any]) -> None:
    about = {"uuid": "u", "session_id": SESSION, "parent_tool_use_id": None}
    write({"type": "stream_event", "event": data, **about})


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


main()

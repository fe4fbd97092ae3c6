"""An agent that does as it likes: it sends the requests of a JSON file, then tells what was answered.

    hostile_agent.py REQUESTS.json

The file is an object: `requests` (a list of method and params, sent in each turn), `initialize` and `new`
(laid over the answers to those methods), `stderr` (written at the start), `noise` (written to stdout before
each answer), `updates` (sent after `session/new`), and `errors` (answers to other methods).
"""

import json
import sys
from pathlib import Path
from typing import Any

told: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(number: int, method: str, params: dict[str, Any]) -> Any:
    send({"id": f"q{number}", "method": method, "params": {"sessionId": "s", **params}})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == f"q{number}":
            return message.get("result", message.get("error"))
    raise SystemExit


def say(text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


sys.stderr.write(told.get("stderr", ""))
sys.stderr.flush()
for request in map(json.loads, sys.stdin):
    answer: dict[str, Any] = {}
    if request.get("method") == "initialize":
        answer = {"protocolVersion": 1, **told.get("initialize", {})}
    elif request.get("method") == "session/new":
        answer = {"sessionId": "s", **told.get("new", {})}
        for update in told.get("updates", []):
            send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    elif request.get("method") == "session/prompt":
        answers = [ask(n, method, params) for n, (method, params) in enumerate(told.get("requests", []))]
        say("answers: " + json.dumps(answers))
        answer = {"stopReason": "end_turn"}
    sys.stdout.write(told.get("noise", ""))
    if request.get("method") in told.get("errors", {}):
        send({"id": request["id"], "error": told["errors"][request["method"]]})
    elif "id" in request:
        send({"id": request["id"], "result": answer})

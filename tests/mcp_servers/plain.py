"""A small MCP server without libraries, so that it starts at once: `python plain.py [behaviour] [argument]`.

It speaks the protocol of 2025-06-18. Each tool, and each behaviour, is something that clients meet.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""
ARGUMENT = sys.argv[2] if len(sys.argv) > 2 else ""
TOOLS = [
    "echo",
    "env",
    "crash",
    "pid",
    "child",
    "noise",
    "wait",
    "roots",
    "odd name!",
    "garbage",
    "learn",
    "much",
]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
waiting: dict[object, str] = {}


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(text: str, *more: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}, *more]}


def list_tools(params: dict[str, object]) -> dict[str, object]:
    """One tool a page."""
    cursor = int(str(params.get("cursor") or 0))
    if BEHAVIOUR == "endless":
        return {"tools": [{"name": f"t{cursor}", "inputSchema": SCHEMA}], "nextCursor": str(cursor + 1)}
    tool = {"name": TOOLS[cursor], "inputSchema": SCHEMA, "annotations": {"readOnlyHint": cursor == 0}}
    more = {"nextCursor": str(cursor + 1)} if cursor + 1 < len(TOOLS) else {}
    return {"tools": [tool], **more}


def crash() -> None:
    sys.stderr.write(f"fatal: the disk is full, and {os.environ.get('GIVEN', '')} did not help\n")
    sys.stderr.flush()
    os._exit(3)


def call(number: object, name: str, text: str) -> dict[str, object] | None:
    if name == "crash":
        crash()
    if name == "env":
        return say(os.environ.get(text, "not set"))
    if name == "pid":
        return say(str(os.getpid()))
    if name == "child":
        return say(str(subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL).pid))
    if name == "noise":
        for _ in range(2000):
            sys.stderr.write("y" * 500 + "\n")
        sys.stderr.flush()
        sys.stdout.write("this is no message\n\n{]\n")
        return say("quiet again")
    if name == "wait":
        waiting[number] = text
        open(text, "w").close()
        return None
    if name == "roots":
        waiting["roots"] = str(number)
        send({"id": "roots", "method": "roots/list"})
        return None
    if name == "much":
        long = "x" * 10_600_000
        image = {"type": "image", "data": long, "mimeType": "image/png"}
        return {**say(long, image), "structuredContent": {"a": long}}
    if name == "learn":
        TOOLS.append(text)
        send({"method": "notifications/tools/list_changed"})
        return say("learned")
    if name == "garbage":
        return {"content": [{"type": "hologram"}, 7]}
    return say(text)


def main() -> None:
    if BEHAVIOUR == "silent":
        threading.Event().wait()
    if BEHAVIOUR == "die":
        crash()
    if BEHAVIOUR == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if BEHAVIOUR == "slow":
        while not os.path.exists(ARGUMENT):
            time.sleep(0.02)
    if BEHAVIOUR == "flood":
        sys.stdout.write("x" * 40 * 1024 * 1024)
        sys.stdout.flush()
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
            send({"id": number, "result": result})
        elif method == "tools/list":
            send({"id": number, "result": list_tools(params)})
        elif method == "tools/call":
            answer = call(number, params["name"], (params.get("arguments") or {}).get("text", ""))
            if answer is not None:
                send({"id": number, "result": answer})
        elif method == "notifications/cancelled":
            path = waiting.get(params["requestId"])
            if path is not None:
                open(path + ".cancelled", "w").close()
        elif number == "roots" and "result" in message:
            uris = [root["uri"] for root in message["result"]["roots"]]
            send({"id": int(waiting["roots"]), "result": say(" ".join(uris))})
        elif number is not None and method is not None:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
    while BEHAVIOUR == "stubborn":
        time.sleep(0.1)


main()

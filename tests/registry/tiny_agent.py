"""An agent of a few lines, for archives and packages: needs only Python, and reports its version."""

import sys

HEAD = f"#!{sys.executable}\n"

SOURCE = """
import json, os, sys

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result = {"protocolVersion": 1, "agentInfo": {"name": "tiny", "version": VERSION},
                  "authMethods": METHODS}
    elif method == "session/new":
        result = {"sessionId": "s"}
    elif method == "session/prompt":
        said = VERSION + " " + " ".join(sys.argv[1:]) + " " + os.environ.get("TINY", "")
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said.strip()}}
        send({"method": "session/update", "params": {"sessionId": "s", "update": chunk}})
        result = {"stopReason": "end_turn"}
    elif "id" not in message:
        continue
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    send({"id": message["id"], "result": result})
"""

AGENT_LOGIN = [{"id": "browser", "name": "In a browser"}]


def tiny_agent(version: str = "1.0.0", methods: object = AGENT_LOGIN, before: str = "") -> bytes:
    """A program; `before` is code that runs first."""
    facts = f"VERSION = {version!r}\nMETHODS = {methods!r}\n"
    return (HEAD + before + facts + SOURCE).encode()

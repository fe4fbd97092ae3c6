"""An agent without an SDK. The prompt is a JSON list of what it does; anything else is answered with `ok`.

raw_agent.py [--load] [--once] [--nulls] [--models] [--modes] [--missing] [--deaf]

    ["text", TEXT, ID]    a chunk of a message, with or without a message id
    ["tool", FIELDS]      a tool call                     ["update", FIELDS]   an update of one
    ["ask", FIELDS]       a question about a tool call    ["say", KIND]        any other update
    ["write", PATH, TEXT] a file, through the client      ["stop", REASON]     how the turn ends
    ["touch", PATH]       leaves a file                   ["until cancelled"]  waits for that

--load: sessions can be loaded. --once: except those that are open already. --nulls: unknown requests are
answered with null. --missing: no session is found. --deaf: nothing is ever answered.
"""

import json
import os
import sys
from pathlib import Path

flags = set(sys.argv[1:])
said: list[tuple[str, str]] = []
opened: set[str] = set()
chosen = {"model": "gem-pro", "mode": "https://modes.example/#ask"}
numbers = iter(range(1000, 10**6))


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(what, /, **fields):
    told = {"sessionUpdate": what, **fields}
    send(method="session/update", params={"sessionId": "raw-session-1", "update": told})


def ask(method, **params):
    number = next(numbers)
    send(id=number, method=method, params={"sessionId": "raw-session-1", **params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return message
    sys.exit(0)


def text(words, message_id=None, kind="agent_message_chunk"):
    more = {} if message_id is None else {"messageId": message_id}
    update(kind, content={"type": "text", "text": words}, **more)


OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def prompt(words):
    """Do what the prompt says; returns the stop reason."""
    try:
        steps = json.loads(words)
    except ValueError:
        if words == "nothing":
            return "end_turn"
        answer = f"ok {chosen['model']} {chosen['mode']}"
        text(answer)
        said.extend([("user_message_chunk", words), ("agent_message_chunk", answer)])
        return "end_turn"
    reason = "end_turn"
    for step, *rest in steps:
        if step == "text":
            text(*rest)
        elif step == "tool":
            update("tool_call", **rest[0])
        elif step == "update":
            update("tool_call_update", **rest[0])
        elif step == "say":
            update(rest[0], **(rest[1] if len(rest) > 1 else {}))
        elif step == "ask":
            ask("session/request_permission", toolCall=rest[0], options=OPTIONS)
        elif step == "write":
            answer = ask("fs/write_text_file", path=os.path.abspath(rest[0]), content=rest[1])
            text("written" if "result" in answer else f"not written: {answer['error']['message']}")
        elif step == "touch":
            Path(rest[0]).touch()
        elif step == "until cancelled":
            for line in sys.stdin:
                if json.loads(line).get("method") == "session/cancel":
                    return "cancelled"
        elif step == "stop":
            reason = rest[0]
    return reason


def state():
    modes = [
        {"id": f"https://modes.example/#{name}", "name": title}
        for name, title in (("ask", "Ask me"), ("plan", "Make a plan"), ("planless", "Do without"))
    ]
    models = [
        {"modelId": name, "name": title}
        for name, title in (("gem-pro", "Pro 1"), ("gem-flash", "Flash 1"), ("gem-lite", "Lite 1"))
    ]
    known = {}
    if "--modes" in flags:
        known["modes"] = {"currentModeId": chosen["mode"], "availableModes": modes}
    if "--models" in flags:
        known["models"] = {"currentModelId": chosen["model"], "availableModels": models}
    return known


for line in sys.stdin:
    if "--deaf" in flags:
        continue
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    params = message.get("params") or {}
    result, error = {}, None
    match message["method"]:
        case "initialize":
            result = {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": "--load" in flags},
                "agentInfo": {"name": "raw", "title": "Raw Agent", "version": "1"},
            }
        case "session/new":
            opened.add("raw-session-1")
            result = {"sessionId": "raw-session-1", **state()}
        case "session/load":
            if "--missing" in flags:
                error = {"code": -32002, "message": "no such session"}
            elif "--once" in flags and params["sessionId"] in opened:
                error = {"code": -32603, "message": "session is already loaded"}
            else:
                opened.add(params["sessionId"])
                for kind, words in said:
                    text(words, kind=kind)
                result = state()
        case "session/set_model":
            chosen["model"] = params["modelId"]
        case "session/set_mode":
            chosen["mode"] = params["modeId"]
        case "session/prompt":
            result = {"stopReason": prompt("".join(block.get("text", "") for block in params["prompt"]))}
        case _ if "--nulls" in flags:
            result = None
        case _:
            error = {"code": -32601, "message": "Method not found"}
    send(id=message["id"], **({"result": result} if error is None else {"error": error}))

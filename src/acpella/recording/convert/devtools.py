"""Exports of acp-devtools: one document with all messages."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec

from acpella._plain_json import as_dict

from ..format import Begin, Item, RecordedFrame, new_header
from ..shape import kind_of
from .jsonl import as_line, document, parsed, seconds

__all__ = ["read", "write"]

_WAYS = {"editor-to-agent": "out", "agent-to-editor": "in"}
_KINDS = {"noise": "unknown"}


def read(path: Path) -> Iterator[Item]:
    """Raises `ValueError` if it is not such a document."""
    whole = document(path)
    messages = whole.get("messages")
    if not isinstance(messages, list):
        raise ValueError(f"{path}: an export of acp-devtools has `messages`")
    session = as_dict(whole.get("session"))
    began = session.get("startedAt", 0)
    agent = {"name": str(session.get("agentCommand") or "")}
    yield Begin(2, {**new_header("converted", agent, redacted="unknown"), "acpella": 2})
    for number, each in enumerate(cast("list[Any]", messages), 1):
        entry = as_dict(each)
        if entry.get("direction") in _WAYS and isinstance(entry.get("raw"), str):
            at = max(0.0, seconds(entry.get("timestamp")) - seconds(began))
            yield parsed(entry["raw"], at, _WAYS[entry["direction"]], number)  # type: ignore[arg-type]


def write(items: Iterable[Item], out: TextIO) -> None:
    from acpella._version import __version__

    frames = [item for item in items if isinstance(item, RecordedFrame) and item.direction != "err"]
    messages: list[dict[str, Any]] = []
    for number, frame in enumerate(frames, 1):
        kind = kind_of(frame.message)
        message = as_dict(frame.message)
        entry: dict[str, Any] = {
            "seq": number,
            "timestamp": round(frame.time * 1000),
            "direction": "editor-to-agent" if frame.direction == "out" else "agent-to-editor",
            "kind": _KINDS.get(kind, kind),
            "raw": as_line(frame),
            "payload": message or None,
        }
        entry |= {"method": message["method"]} if "method" in message else {}
        entry |= {"rpcId": message["id"]} if "id" in message else {}
        messages.append(entry)
    session = {
        "id": 1,
        "name": None,
        "agentCommand": None,
        "clientName": None,
        "startedAt": 0,
        "endedAt": None,
    }
    tool = {"name": "acpella", "version": __version__}
    whole = {"version": 1, "exportedAt": 0, "tool": tool, "session": session, "messages": messages}
    out.write(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n")

"""Traces of the Rust conductor: requests, responses and notifications between components."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from acpella._plain_json import as_dict

from ..format import Begin, Damaged, Item, RecordedFrame, new_header
from ..shape import kind_of, session_of
from .jsonl import lines

__all__ = ["read", "write"]


def read(path: Path) -> Iterator[Item]:
    """What passes between client and agent; where proxies are between them, `from` and `to` say so."""
    yield Begin(2, new_header("converted", {}, redacted="unknown"))
    for number, entry in lines(path):
        if isinstance(entry, Damaged):
            yield entry
            continue
        way = {"from": entry.get("from"), "to": entry.get("to")}
        direction = "in" if way["from"] == "agent" or way["to"] == "client" else "out"
        time = float(entry.get("ts", 0.0))
        kind = entry.get("type")
        message: dict[str, Any] = {"jsonrpc": "2.0"}
        if kind in ("request", "notification") and entry.get("protocol", "acp") == "acp":
            message |= {"id": entry.get("id")} if kind == "request" else {}
            message |= {"method": entry.get("method"), "params": entry.get("params")}
        elif kind == "response":
            message |= {
                "id": entry.get("id"),
                "error" if entry.get("is_error") else "result": entry.get("payload"),
            }
        elif kind == "trace":
            yield RecordedFrame(
                time, "err", f"{entry.get('component', '')}: {entry.get('message', '')}", line=number
            )
            continue
        else:
            continue
        plain = {way["from"], way["to"]} <= {"client", "agent"}
        yield RecordedFrame(time, direction, message, line=number, info={} if plain else way)


def write(items: Iterable[Item], out: TextIO) -> None:
    for item in items:
        if not isinstance(item, RecordedFrame):
            continue
        sides = ("client", "agent") if item.direction == "out" else ("agent", "client")
        way: dict[str, Any] = {"from": item.info.get("from", sides[0]), "to": item.info.get("to", sides[1])}
        message = as_dict(item.message)
        kind = kind_of(message)
        entry: dict[str, Any] = {"ts": item.time}
        if kind in ("request", "notification"):
            entry |= {"type": kind, "protocol": "acp", **way}
            entry |= {"id": message["id"]} if kind == "request" else {}
            entry |= {
                "method": message["method"],
                "session": session_of(message),
                "params": message.get("params", {}),
            }
        elif kind in ("response", "error"):
            payload = message.get("error" if kind == "error" else "result")
            entry |= {
                "type": "response",
                **way,
                "id": message["id"],
                "is_error": kind == "error",
                "payload": payload,
            }
        elif item.direction == "err":
            entry |= {"type": "trace", "component": "agent", "level": "info", "message": str(item.message)}
        else:
            continue
        out.write(msgspec.json.encode(entry).decode() + "\n")

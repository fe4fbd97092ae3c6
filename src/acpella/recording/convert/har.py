"""HTTP archives with the messages of a WebSocket, as saved by the developer tools of browsers."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec

from acpella._plain_json import as_dict

from ..format import Begin, Item, RecordedFrame, new_header
from .jsonl import as_line, document, parsed

__all__ = ["read", "write"]


def read(path: Path) -> Iterator[Item]:
    """Raises `ValueError` if the file has no WebSocket messages."""
    any_socket = False
    entries = as_dict(document(path).get("log")).get("entries")
    for each in cast("list[Any]", entries if isinstance(entries, list) else []):
        messages = as_dict(each).get("_webSocketMessages")
        if not isinstance(messages, list) or not messages:
            continue
        any_socket = True
        url = as_dict(as_dict(each).get("request")).get("url")
        yield Begin(2, new_header("converted", {"url": str(url).partition("?")[0]}, redacted="unknown"))
        began = float(as_dict(messages[0]).get("time", 0.0))
        for number, one in enumerate(cast("list[Any]", messages), 1):
            message = as_dict(one)
            at = float(message.get("time", 0.0)) - began
            for line in str(message.get("data", "")).splitlines():
                yield parsed(line, at, "out" if message.get("type") == "send" else "in", number)
    if not any_socket:
        raise ValueError(f"{path} holds no messages of a WebSocket")


def write(items: Iterable[Item], out: TextIO) -> None:
    from acpella._version import __version__

    messages = [
        {
            "type": "send" if item.direction == "out" else "receive",
            "time": item.time,
            "opcode": 1,
            "data": as_line(item),
        }
        for item in items
        if isinstance(item, RecordedFrame) and item.direction != "err"
    ]
    empty: dict[str, Any] = {
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [],
        "headersSize": -1,
        "bodySize": -1,
    }
    entry: dict[str, Any] = {
        "startedDateTime": "1970-01-01T00:00:00.000Z",
        "time": 0,
        "request": {"method": "GET", "url": "ws://localhost/acp", "queryString": [], **empty},
        "response": {
            "status": 101,
            "statusText": "Switching Protocols",
            "content": {"size": 0, "mimeType": "x-unknown"},
            "redirectURL": "",
            **empty,
        },
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
        "_resourceType": "websocket",
        "_webSocketMessages": messages,
    }
    whole = {
        "log": {"version": "1.2", "creator": {"name": "acpella", "version": __version__}, "entries": [entry]}
    }
    out.write(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n")

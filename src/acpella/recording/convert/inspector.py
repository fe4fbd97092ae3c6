"""acp-inspector-trace: a header, then each frame as the string it was."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from ..format import Begin, Damaged, Item, RecordedFrame, new_header
from .jsonl import as_line, lines, parsed

__all__ = ["read", "write"]

_WAYS = {"client -> agent": "out", "agent -> client": "in"}


def read(path: Path) -> Iterator[Item]:
    connection: object = None
    began = 0.0
    for number, entry in lines(path):
        if isinstance(entry, Damaged):
            yield entry
        elif entry.get("type") == "frame" and entry.get("direction") in _WAYS:
            at = float(entry.get("at", 0)) / 1000
            if entry.get("connection", 1) != connection:
                connection, began = entry.get("connection", 1), at
                yield Begin(2, new_header("converted", {}, redacted="unknown"), number)
            yield parsed(str(entry.get("frame", "")), at - began, _WAYS[entry["direction"]], number)  # type: ignore[arg-type]


def write(items: Iterable[Item], out: TextIO) -> None:
    """The header has the number of frames, so all are read before the first is written."""
    connection = 0
    records: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Begin):
            connection += 1
        elif isinstance(item, RecordedFrame) and item.direction != "err":
            records.append(
                {
                    "type": "frame",
                    "at": round(item.time * 1000),
                    "connection": max(1, connection),
                    "direction": "client -> agent" if item.direction == "out" else "agent -> client",
                    "encoding": "utf8",
                    "frame": as_line(item),
                }
            )
    head = {"type": "header", "format": "acp-inspector-trace", "version": 1, "at": 0, "frames": len(records)}
    warning = "may hold prompts, file contents and tool output"
    for record in ({**head, "dropped": 0, "warning": warning}, *records):
        out.write(msgspec.json.encode(record).decode() + "\n")

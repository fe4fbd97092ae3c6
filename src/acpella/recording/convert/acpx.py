"""Streams of acpx: one message per line, without time or direction; the messages imply the direction."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from ..format import Begin, Damaged, Direction, Item, RecordedFrame, new_header
from ..shape import kind_of
from .jsonl import as_line, lines

__all__ = ["read", "write"]

_OF_AGENTS = ("session/update", "session/request_permission", "fs/", "terminal/", "elicitation/", "mcp/")


def read(path: Path) -> Iterator[Item]:
    yield Begin(2, new_header("converted", {}, redacted="unknown"))
    pending: dict[Direction, set[str]] = {"out": set(), "in": set()}
    for number, entry in lines(path):
        if isinstance(entry, Damaged):
            yield entry
            continue
        kind = kind_of(entry)
        if kind in ("request", "notification"):
            way: Direction = "in" if str(entry["method"]).startswith(_OF_AGENTS) else "out"
            if kind == "request":
                pending[way].add(repr(entry["id"]))
        elif kind in ("response", "error"):
            key = repr(entry["id"])
            way = "out" if key in pending["in"] and key not in pending["out"] else "in"
            pending["in" if way == "out" else "out"].discard(key)
        else:
            way = "in"
        yield RecordedFrame(0.0, way, entry, line=number)


def write(items: Iterable[Item], out: TextIO) -> None:
    for item in items:
        if isinstance(item, RecordedFrame) and kind_of(item.message) != "noise":
            out.write(as_line(item) + "\n")

"""Converts recordings from and to the files of other tools."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec

from ..format import Item

__all__ = ["EXPORTS", "IMPORTS", "guess", "is_of", "reader_of", "writer_of"]

IMPORTS = {
    "acpella": "a recording of any version",
    "devtools": "an export of acp-devtools (one JSON document)",
    "inspector": "acp-inspector-trace, version 1",
    "conductor": "a trace of the Rust conductor (.jsons)",
    "acpx": "a stream of acpx: messages alone, one a line",
    "har": "WebSocket messages in an HTTP archive, as browsers write them",
    "claude": "a session of Claude Code (.jsonl), as the conversation that it tells of",
}

EXPORTS = {
    "acpella": "a recording of this version",
    "devtools": IMPORTS["devtools"],
    "inspector": IMPORTS["inspector"],
    "conductor": IMPORTS["conductor"],
    "acpx": IMPORTS["acpx"],
    "har": IMPORTS["har"],
    "mermaid": "a sequence diagram",
    "otlp": "spans of requests and tool calls, for tools that read OpenTelemetry (JSON)",
}


def reader_of(name: str) -> Callable[[Path], Iterator[Item]]:
    """The function that reads a format."""
    return cast("Callable[[Path], Iterator[Item]]", import_module(f".{name}", __name__).read)


def writer_of(name: str) -> Callable[[Iterable[Item], TextIO], None]:
    """The function that writes a format."""
    return cast("Callable[[Iterable[Item], TextIO], None]", import_module(f".{name}", __name__).write)


def guess(path: Path) -> str:
    """The format that a file seems to have.

    Raises:
        ValueError: the file looks like none of the formats.
    """
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    for line in head.splitlines():  # the first may be broken
        if (entry := _object(line)) is None:
            continue
        for keys, name in _KEYS.items():
            if keys <= entry.keys():
                return name
    for marks, name in _MARKS.items():
        if all(mark in head for mark in marks):
            return name
    way_out = "`acpella record convert --from FORMAT` reads it as one"
    raise ValueError(f"{path} looks like no format that is known; {way_out}")


def is_of(name: str, path: Path) -> bool:
    """Whether a file seems to have the format of an export."""
    if name in _STARTS:
        with path.open("rb") as file:
            return file.read(_LOOKED_AT).split()[:2] == _STARTS[name]
    try:
        return guess(path) == name
    except ValueError:
        return False


_STARTS = {"mermaid": [b"sequenceDiagram", b"participant"], "otlp": [b"{", b'"resourceSpans":']}
"""The first two words of exports that nothing reads."""

_LOOKED_AT = 64 * 1024

_KEYS = {
    frozenset({"acpella"}): "acpella",
    frozenset({"format", "frames"}): "inspector",
    frozenset({"connection", "frame"}): "inspector",
    frozenset({"dir", "msg"}): "acpella",
    frozenset({"dir", "text"}): "acpella",
    frozenset({"parentUuid"}): "claude",
    frozenset({"ts", "type"}): "conductor",
    frozenset({"jsonrpc"}): "acpx",
    frozenset({"messages", "exportedAt"}): "devtools",
    frozenset({"log"}): "har",
}
"""The fields of a line; what its messages say does not tell, as they may speak of any of these formats."""

_MARKS = {
    (b'{"acpella":',): "acpella",
    (b'"messages"', b'"exportedAt"'): "devtools",
    (b'"log"', b'"entries"'): "har",
    (b'"jsonrpc"', b'"dir"'): "acpella",
    (b'"parentUuid"',): "claude",
    (b'"jsonrpc"',): "acpx",
}
"""The same for documents of several lines, and for a line that is longer than what is looked at."""


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None

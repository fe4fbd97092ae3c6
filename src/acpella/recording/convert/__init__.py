"""Converts recordings from and to the files of other tools."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TextIO, cast

from ..format import Item

__all__ = ["EXPORTS", "IMPORTS", "guess", "reader_of", "writer_of"]

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
        head = file.read(64 * 1024)
    first = head.lstrip().partition(b"\n")[0]
    for marks, name in (
        ((b'"acpella"',), "acpella"),
        ((b"acp-inspector-trace",), "inspector"),
        ((b'"dir"',), "acpella"),
        ((b'"parentUuid"',), "claude"),
        ((b'"type"', b'"from"', b'"to"'), "conductor"),
        ((b'"jsonrpc"', b'"2.0"'), "acpx"),
    ):
        if all(mark in first for mark in marks):
            return name
    if b'"messages"' in head and b'"exportedAt"' in head:
        return "devtools"
    if b'"log"' in head and b'"entries"' in head:
        return "har"
    if b'"parentUuid"' in head:
        return "claude"
    raise ValueError(f"{path} looks like no format that is known; name it with --from")

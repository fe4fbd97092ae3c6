"""Reads recordings of every version as a stream: nothing but the line in hand is held in memory."""

import base64
import binascii
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from acpella._counted import counted
from acpella._processes.locks import lock_file

from .format import FORMAT, Begin, Damaged, Item, RecordedEvent, RecordedFrame

__all__ = [
    "NewerFormat",
    "frames_of",
    "is_written",
    "numbered_lines",
    "parse_line",
    "read",
    "read_any",
    "read_connection",
    "read_line",
    "read_recording",
]

MAX_LINE = 512 * 1024 * 1024
"""The most bytes of a line. Without a limit, a file that is not a recording is read into memory whole."""

_SKIP = 1024 * 1024
_KNOWN = {"n", "t", "dir", "msg", "text", "raw", "b64"}


class NewerFormat(ValueError):
    """The recording has a newer format than this acpella can read."""


def read(path: str | os.PathLike[str]) -> Iterator[Item]:
    """Everything in a recording, line by line. A line that cannot be read is yielded as `Damaged`.

    Raises:
        NewerFormat: a newer acpella wrote the recording, and this one would misread it.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, line in numbered_lines(file):
            if (item := read_line(line, number, path)) is not None:
                yield item


def read_any(path: str | os.PathLike[str]) -> Iterator[Item]:
    """As `read`. When all is read, an error tells that nothing could be.

    Raises:
        ValueError: no line of the file is one of a recording.
    """
    any_read = False
    for item in read(path):
        any_read = any_read or not isinstance(item, Damaged)
        yield item
    if not any_read:
        raise ValueError(f"{path} holds no conversation")


def is_written(path: str | os.PathLike[str]) -> bool:
    """Whether a recorder has the file open now. False where that cannot be known."""
    if sys.platform == "win32":
        return False
    try:
        with Path(path).open("rb") as file:
            return not lock_file(file.fileno())
    except OSError:
        return False


def read_recording(path: str | os.PathLike[str]) -> list[list[RecordedFrame]]:
    """The conversations of a file, one for each time the agent was connected to: the frames both ways.

    Raises:
        ValueError: a line is not valid in a recording; the message names the line.
    """

    def refuse(item: Damaged) -> None:
        raise ValueError(f"{path}, line {item.line}: {item.reason}")

    conversations: list[list[RecordedFrame]] = []
    for connection, frame in frames_of(read(path), refuse):
        conversations += [[] for _ in range(connection - len(conversations))]
        if frame is not None:
            conversations[-1].append(frame)
    return conversations


def read_connection(
    items: Iterable[Item], number: int, damaged: Callable[[Damaged], None], *, name: str
) -> Iterator[RecordedFrame]:
    """The frames of one connection, counted from 1, as a stream. `damaged` gets what cannot be read.

    Raises:
        ValueError: the file of this name has no such connection.
    """
    connection = 0
    for connection, frame in frames_of(items, damaged):
        if connection == number and frame is not None:
            yield frame
    if not 0 < number <= connection:
        raise ValueError(f"{name} holds {counted(connection, 'connection')}, not {number}")


def frames_of(
    items: Iterable[Item], damaged: Callable[[Damaged], None]
) -> Iterator[tuple[int, RecordedFrame | None]]:
    """The frames both ways with the number of their connection. None stands where a connection begins."""
    connection = 0
    for item in items:
        if isinstance(item, Damaged):
            damaged(item)
        elif isinstance(item, Begin):
            connection += 1
            yield connection, None
        elif isinstance(item, RecordedFrame) and item.direction != "err":
            connection = connection or 1  # other tools write only the frames
            yield connection, item


def numbered_lines(file: BinaryIO, before: int = 0) -> Iterator[tuple[int, bytes | Damaged]]:
    """The lines from the current position in the file, with their numbers; `before` lines precede them."""
    number = before
    while line := file.readline(MAX_LINE):
        number += 1
        if line.endswith(b"\n") or len(line) < MAX_LINE:
            yield number, line
            continue
        while (rest := file.readline(_SKIP)) and not rest.endswith(b"\n"):
            pass
        yield number, Damaged(f"longer than {MAX_LINE // 1024 // 1024} MiB", number)


def read_line(line: bytes | Damaged, number: int, path: str | os.PathLike[str]) -> Item | None:
    """Parse what `numbered_lines` yields; None if the line is empty."""
    if isinstance(line, Damaged):
        return line
    return parse_line(line, number, path) if line.strip() else None


def parse_line(line: bytes, number: int, path: str | os.PathLike[str]) -> Item:
    """Parse one line of a recording; the number and the path are for messages.

    Raises:
        NewerFormat: a newer acpella wrote the line, and this one would misread it.
    """
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else " (the file ends inside it)"
        return Damaged(f"not JSON{cut}: {error}", number)
    if not isinstance(entry, dict):
        return Damaged("not an object", number)
    table = cast("dict[str, Any]", entry)
    if "acpella" in table:
        version = table["acpella"]
        if not isinstance(version, int) or version > FORMAT:
            raise NewerFormat(
                f"{path}, line {number}: a recording of format {version}; this acpella reads up to {FORMAT}. "
                "Update it: pip install -U acpella"
            )
        return Begin(version, table, number)
    return _event(table, number) if "ev" in table else _frame(table, number)


def _event(table: dict[str, Any], number: int) -> Item:
    return RecordedEvent(str(table["ev"]), table, _seconds(table), number)


def _frame(table: dict[str, Any], number: int) -> Item:
    body: Any = table.get("msg", table.get("text"))
    if body is None and isinstance(table.get("b64"), str):
        try:
            body = base64.b64decode(table["b64"], validate=True)
        except binascii.Error:
            return Damaged("not a frame of a recording: b64 is not base64", number)
    if table.get("dir") not in ("in", "out", "err") or body is None:
        return Damaged("not a frame of a recording", number)
    raw = table.get("raw")
    return RecordedFrame(
        _seconds(table),
        table["dir"],
        body,
        raw if isinstance(raw, str) else None,
        table["n"] if isinstance(table.get("n"), int) else 0,
        number,
        {name: value for name, value in table.items() if name not in _KNOWN},
    )


def _seconds(table: dict[str, Any]) -> float:
    value = table.get("t", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0

"""Shared by the formats with one JSON object per line, and those with JSON in strings."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from ..format import Damaged, Direction, RecordedFrame

__all__ = ["as_line", "document", "lines", "parsed", "seconds"]


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | Damaged]]:
    """The objects of a file, each with the number of its line."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = msgspec.json.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                yield number, Damaged(f"not JSON: {error}", number)
                continue
            if isinstance(value, dict):
                yield number, cast("dict[str, Any]", value)
            else:
                yield number, Damaged("not an object", number)


def document(path: Path) -> dict[str, Any]:
    """A file that is one object.

    Raises:
        ValueError: the file is not one JSON object.
    """
    try:
        value = msgspec.json.decode(path.read_bytes())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: not an object")
    return cast("dict[str, Any]", value)


def parsed(text: str, time: float, direction: Direction, line: int) -> RecordedFrame:
    """A frame from its text."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = text
    return RecordedFrame(time, direction, value if isinstance(value, dict | list) else text, line=line)


def as_line(frame: RecordedFrame) -> str:
    """The text of a frame."""
    if frame.raw is not None:
        return frame.raw
    if isinstance(frame.message, bytes):
        return frame.message.decode("utf-8", "replace")
    return frame.message if isinstance(frame.message, str) else msgspec.json.encode(frame.message).decode()


def seconds(stamp: object) -> float:
    """A date such as 2026-01-02T03:04:05Z, or milliseconds, as seconds since 1970; 0 if it is neither."""
    if isinstance(stamp, int | float):
        return stamp / 1000
    try:
        return datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0

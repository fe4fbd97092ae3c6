"""How lists and times look."""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

__all__ = ["ago", "columns", "harmless_json", "one_line", "say", "show", "show_json"]


_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys or cannot show."""


def show(text: str) -> None:
    """Lines of the command's output; what an agent put into them cannot move the cursor."""
    print(_harmless(text))  # noqa: T201 - the output


def say(text: str) -> None:
    """A line for the person, beside the output; as harmless as `show`."""
    print(f"acpella: {_harmless(text)}", file=sys.stderr)  # noqa: T201


def _harmless(text: str) -> str:
    if not _OBEYED.search(text):
        return text
    from .clean import clean  # with what it takes to talk to agents, which lists do without

    return clean(text)


def show_json(value: Any, *, indent: int = 2) -> None:
    import json

    print(harmless_json(json.dumps(value, indent=indent, ensure_ascii=False)))  # noqa: T201 - the output


def harmless_json(text: str) -> str:
    """The same JSON, with names for the characters that a terminal obeys."""
    return _OBEYED.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def one_line(text: str, limit: int = 500) -> str:
    """Text of others for a list: harmless to the terminal, in one line."""
    if text.isprintable() and len(text) <= limit:
        return text
    from .clean import one_line  # with what it takes to talk to agents, which lists do without

    return one_line(text, limit)


def columns(rows: Sequence[Sequence[str]]) -> None:
    """Rows with their columns one below the other; the last one may be as long as it is."""
    if not rows:
        return
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        show("  ".join(cells).rstrip())


def ago(stamp: str) -> str:
    """How long since a time such as 2026-01-02T03:04:05Z."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(stamp.replace("Z", "+00:00"))).total_seconds()
    except (ValueError, TypeError):
        return stamp
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{max(0, int(seconds))} s ago"

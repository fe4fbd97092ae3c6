"""Rows that are the chat's own: what the user typed, warnings and failures."""

from ..terminal.clean import clean
from ..terminal.rows import Row, wrap

__all__ = ["marked_rows", "typed_rows"]


def marked_rows(text: str, mark: str, style: str, *, width: int, most: int | None = None) -> list[Row]:
    """A text behind a mark, `most` rows of it."""
    lines = [row for row in wrap(clean(text), max(width - 2, 8)) if row.strip()]
    return [[(mark if i == 0 else "  ", style), (line, style)] for i, line in enumerate(lines[:most])]


def typed_rows(text: str, *, width: int) -> list[Row]:
    """What the user typed."""
    rows = [row for line in clean(text).split("\n") for row in wrap(line, max(width - 2, 8))]
    return [[("› " if i == 0 else "  ", "cyan"), (row, "bold")] for i, row in enumerate(rows)]

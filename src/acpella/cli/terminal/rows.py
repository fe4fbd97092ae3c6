"""Rows of a terminal: how wide they are, how they are cut and coloured."""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TextIO, TypeAlias

__all__ = [
    "Row",
    "cell_len",
    "crop",
    "has_colour",
    "is_smart",
    "paint",
    "plain",
    "rows",
    "terminal_height",
    "terminal_width",
    "wrap",
]

Row: TypeAlias = "Sequence[tuple[str, str]]"
"""Pieces of text, each with the names of its styles."""

_CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "reverse": "7",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_ATTRIBUTES = ("bold", "dim", "italic", "reverse")
_SGR = re.compile(r"\x1b\[[0-9;]*m")
_OBEYED = re.compile("\x1b(?!\\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, besides colours: no row may bring it, whoever forgot to clean a text."""


def is_smart(out: TextIO) -> bool:
    """Whether this is a terminal on which the cursor can be moved."""
    return out.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def has_colour() -> bool:
    return not os.environ.get("NO_COLOR")


def terminal_width() -> int:
    """Columns that a row may have: the last one stays free, in which some terminals break the line."""
    import shutil

    return max(shutil.get_terminal_size().columns - 1, 20)


def terminal_height() -> int:
    import shutil

    return shutil.get_terminal_size().lines


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    if char == "\ufe0f":
        return 1  # makes the character before it wide on some terminals; rather too wide than wrapped
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cell_len(text: str) -> int:
    """Columns that a text takes, colours not counted."""
    if "\x1b" in text:
        text = _SGR.sub("", text)
    return len(text) if text.isascii() else sum(map(_width, text))


def crop(text: str, width: int) -> str:
    """At most so many columns, with an ellipsis if something is missing."""
    if len(text) > width * 4 + 16:  # a line of a megabyte is not measured
        text = text[: width * 4 + 16]
    text = text.expandtabs(4)
    if cell_len(text) <= width:
        return text
    used, count = 0, 0
    for char in text:
        if used + _width(char) > width - 1:
            break
        used += _width(char)
        count += 1
    return text[:count] + "…" if width > 0 else ""


def wrap(text: str, width: int) -> list[str]:
    """Rows of at most so many columns, broken at blanks where there are some."""
    rows: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        while cell_len(line) > width:
            used = cut = blank = 0
            for index, char in enumerate(line):
                if used + _width(char) > width:
                    break
                used += _width(char)
                cut = index + 1
                if char == " ":
                    blank = cut
            at = blank if blank > cut // 2 else max(cut, 1)
            rows.append(line[:at].rstrip())
            line = line[at:].lstrip(" ")
        rows.append(line)
    return rows


def paint(row: Row, width: int, *, colour: bool = True) -> str:
    """A row as a terminal shows it, cut to the width."""
    left, out = width, list[str]()
    for text, styles in row:
        if left <= 0:
            break
        text = _OBEYED.sub("\ufffd", crop(text, left))
        left -= cell_len(text)
        codes = [_CODES[s] for s in styles.split() if colour or s in _ATTRIBUTES]
        out.append(f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes and text else text)
    return "".join(out)


def plain(row: Row) -> str:
    return _OBEYED.sub("\ufffd", "".join(text for text, _ in row))


def rows(lines: Iterable[str], style: str, indent: str = "") -> list[Row]:
    """Each line as a row of one style."""
    return [[(indent, ""), (line, style)] for line in lines]

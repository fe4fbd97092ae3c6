"""Text that somebody decides on: nothing of it is removed, and what cannot be seen is made visible."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from .rows import Row, cell_len, plain, terminal_width

__all__ = ["CUT", "HIDDEN", "MAX_ROWS", "is_cut", "is_hidden", "reveal", "reveal_rows", "whole_rows"]

HIDDEN = "reverse"
"""The style of characters that stand for others, which cannot be seen."""

CUT = "bold red"
"""The style of a line that says that something is not shown."""

MAX_ROWS = 5000
"""Rows of one text; a text of megabytes would run for minutes."""

LONGEST_GAP = 40
"""Blanks in a row that are shown as they are. More of them push what follows out of sight."""

MAX_BLANK_LINES = 4
"""Empty lines in a row that are shown as they are."""

_INVISIBLE = re.compile(
    "[\u0334-\u0338\u0488\u0489\u1abe\ua670-\ua672\u20d0-\u20ff\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters that draw nothing, or strike out others, although they count as letters or marks."""

_JOINED = {
    "\u1039": "\u1000-\u1038\u103a-\u109f",
    "\u17d2": "\u1780-\u17b3\u17b6-\u17d1\u17d3",
    "\u1a60": "\u1a20-\u1a5e\u1a61-\u1a7c",
    "\U00011133": "\U00011103-\U00011132\U00011144-\U00011147",
}
"""Marks that put letters under one another, and the letters of their scripts: Burmese, Khmer, Tai Tham and
Chakma. Beside any others they draw nothing."""

_JOINS = re.compile("|".join(f"(?<=[{letters}]){mark}(?=[{letters}])" for mark, letters in _JOINED.items()))

_JOINERS = re.compile(
    "[\u1039\u17d2\u1a60\u1bab\u2d7f\uaaf6\U00010a3f\U0001107f\U00011133\U000113d0\U0001193e\U00011a47\U00011a99\U00011d45\U00011d97\U00011f42\U0001612f]"
)
"""Marks that draw nothing but join what is beside them: those, and such of scripts hardly written now."""

MAX_MARKS = 4
"""Marks on one letter; more of them paint over other lines."""

_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"


def reveal(text: str, *, lines: bool = False) -> str:
    """All of a text, with `\\x1b` for a character that cannot be seen; with `lines`, tabs and lines stay."""
    return "".join(unit for unit, _ in _units(text, lines=lines))


def reveal_rows(
    text: str,
    width: int,
    *,
    before: Row = (),
    style: str = "",
    lines: bool = True,
    indent: int | None = None,
    limit: int = MAX_ROWS,
) -> list[Row]:
    """All of a text in rows of at most `width` columns; what stands for others has the style `HIDDEN`.

    `before` stands before the first row, and `indent` blanks before all others. Of more than `limit` rows
    the last one says what is not shown.
    """
    used = sum(cell_len(piece) for piece, _ in before)
    margin = used if indent is None else indent
    rows: list[Row] = []
    units = _units(text, lines=lines)
    for line in _lines(islice(units, limit * width)):  # no more fit; a text of megabytes would take minutes
        for part in _broken(line, max(width - max(used, margin), 10)):
            start = [(" " * margin, "")] if rows else list(before)
            rows.append([*start, *_joined(part, style)])
    if len(rows) > limit or next(units, None) is not None:
        del rows[limit:]
        rows.append([(" " * margin, ""), (f"… not all of its {len(text)} characters are shown", CUT)])
    return rows


def is_hidden(rows: Iterable[Row]) -> bool:
    """Whether something in these rows stands for what cannot be seen."""
    return any(HIDDEN in style.split() for row in rows for _, style in row)


def whole_rows(
    text: str,
    before: Row,
    style: str = "",
    *,
    lines: bool = True,
    note: str = "",
    indent: int | None = None,
) -> list[Row]:
    """All of a text on this terminal, so that nobody says yes to what lies beyond the edge of the screen.

    `note` is what this program says of it, in another style.
    """
    used = sum(map(len, (piece for piece, _ in before)))
    margin = min(used, 6) if indent is None else indent
    rows = reveal_rows(text, terminal_width(), before=before, style=style, lines=lines, indent=margin)
    if note:
        *rest, last = rows
        room = terminal_width() - cell_len(plain(last))
        if cell_len(note) <= room:
            return [*rest, [*last, (note, "yellow")]]
        rows += reveal_rows(note.strip(), terminal_width(), before=[(" " * margin, "")], style="yellow")
    return rows


def is_cut(rows: Iterable[Row]) -> bool:
    """Whether one of these rows says that something is not shown."""
    return any(style == CUT for row in rows for _, style in row)


_GAPS = re.compile(rf"(?P<blanks>[ \t]{{{LONGEST_GAP},}})|(?P<rows>\n(?:[ \t]*\n){{{MAX_BLANK_LINES},}})")


def _units(text: str, *, lines: bool) -> Iterator[tuple[str, bool]]:
    """Pieces that are not broken in two, and whether each stands for something that cannot be seen."""
    at = 0
    for gap in _GAPS.finditer(text):
        yield from _characters(text, at, gap.start(), lines=lines)
        at = gap.end()
        if gap["blanks"]:
            yield f"[{len(gap[0])} blanks]", True
        elif lines:
            yield "\n", False
            yield f"[{gap[0].count(chr(10)) - 1} empty lines]", True
            yield "\n", False
        else:
            yield f"[{gap[0].count(chr(10))} line ends]", True
    yield from _characters(text, at, len(text), lines=lines)


def _characters(text: str, start: int, stop: int, *, lines: bool) -> Iterator[tuple[str, bool]]:
    marks = 0
    for index in range(start, stop):
        char = text[index]
        marks = marks + 1 if char > "\u02ff" and unicodedata.category(char) == "Mn" else 0
        if lines and char in "\n\t":
            yield ("\n" if char == "\n" else "    "), False
        elif char.isprintable() and marks <= MAX_MARKS and not _draws_nothing(text, index):
            yield char, False
        elif _belongs_to_emoji(text, index):
            yield char, False
        else:
            yield _name(char), True


def _draws_nothing(text: str, index: int) -> bool:
    char = text[index]
    if _JOINERS.match(char):
        return not _JOINS.match(text, index)
    return _INVISIBLE.match(char) is not None


def _name(char: str) -> str:
    """The way programmers write it: \\n, \\x1b, \\u202e."""
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _belongs_to_emoji(text: str, index: int) -> bool:
    """Whether a character that cannot be seen only says how the picture before it looks."""
    char, before = text[index], text[index - 1] if index else ""
    after = text[index + 1 : index + 2]
    if char == _EMOJI_STYLE:
        return _is_picture(before)
    if char == _JOINER:
        drawn = _is_picture(before) or (before == _EMOJI_STYLE and _is_picture(text[index - 2 : index - 1]))
        return drawn and _is_picture(after)
    return False


def _is_picture(char: str) -> bool:
    return bool(char) and char > "\u2000" and unicodedata.category(char) in ("So", "Sk")


def _lines(units: Iterable[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    line: list[tuple[str, bool]] = []
    for unit in units:
        if unit == ("\n", False):
            yield line
            line = []
        else:
            line.append(unit)
    yield line


def _broken(line: list[tuple[str, bool]], width: int) -> Iterator[list[tuple[str, bool]]]:
    """Rows that fit, broken after blanks where there are some; no blank is left out."""
    begin = used = 0
    blank = 0  # where a row may end
    for index, (text, _) in enumerate(line):
        size = cell_len(text)
        if used + size > width and index > begin:
            cut = blank if blank - begin > (index - begin) // 2 else index
            yield line[begin:cut]
            begin, used = cut, sum(cell_len(text) for text, _ in line[cut:index])
        used += size
        if text.isspace():
            blank = index + 1
    yield line[begin:]


def _joined(units: list[tuple[str, bool]], style: str) -> Iterator[tuple[str, str]]:
    for hidden, group in groupby(units, key=lambda unit: unit[1]):
        yield "".join(text for text, _ in group), f"{style} {HIDDEN}".strip() if hidden else style

"""Changes to files as rows: what a tool call shows, and all of it for whoever decides."""

import re
from collections.abc import Iterator
from itertools import islice

from acpella.schema import Diff

from .clean import clean
from .reveal import CUT, reveal_rows
from .rows import Row
from .shown_paths import relative_path, short_path

__all__ = ["diff_rows", "whole_diff_rows"]

MAX_DIFF_LINES = 60
"""Lines of one diff that are shown."""

MAX_COMPARED = 2000
"""Changed lines that are compared one by one; more would take seconds."""


def diff_rows(diff: Diff, *, cwd: str = "", limit: int = MAX_DIFF_LINES) -> list[Row]:
    """A change of a file with line numbers, a few lines around it, and no more than `limit` rows."""
    old, new = clean(diff.old_text or "").splitlines(), clean(diff.new_text).splitlines()
    rows: list[Row] = [[("    ", ""), (_diff_head(short_path(diff.path, cwd), diff, old, new), "bold")]]
    visible = list(islice(_numbered(old, new, around=2), limit + 1)) if _is_comparable(diff, old, new) else []
    visible, note = _with_blanks_marked(visible)
    rows += note
    for before, line, style in _margins(visible[:limit], old, new):
        rows.append([*before, (line, style)])
    if len(visible) > limit:
        start, stop_old, stop_new = _changed(old, new)
        counts = f"{stop_new - start} lines new, {stop_old - start} old in all"
        rows.append([("    ", ""), (f"… more; {counts}", "dim italic")])
    return rows


def whole_diff_rows(diff: Diff, width: int, *, cwd: str = "", limit: int) -> list[Row]:
    """The same for somebody who decides on it: no line is cut, and no character is left out."""
    before, after = diff.old_text or "", diff.new_text
    line_ends = ""
    if "\r\n" in after and not _BARE_LINE_END.search(before + after):
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
        line_ends = "lines end in CRLF"
    old, new = before.split("\n"), after.split("\n")
    for lines in (old, new):
        if lines[-1] == "":
            lines.pop()
    head = _diff_head(relative_path(diff.path, cwd), diff, old, new)
    rows = reveal_rows(head, width, before=[("    ", "")], style="bold", lines=False)
    if line_ends:
        rows.append([("    ", ""), (line_ends, "dim")])
    if after and before and after.endswith("\n") != before.endswith("\n"):
        changed = "gets a line end" if after.endswith("\n") else "loses its line end"
        rows.append([("    ", ""), (f"the last line {changed}", "dim")])
    lines = _numbered(old, new, around=2) if _is_comparable(diff, old, new) else _replaced(old, new)
    numbered = list(islice(lines, limit + 1))
    numbered, note = _with_blanks_marked(numbered)
    rows += note
    for margin, line, style in _margins(numbered[:limit], old, new):
        if len(rows) > limit:
            break
        rows += reveal_rows(line, width, before=margin, style=style, limit=limit)
    if len(numbered) > limit or len(rows) > limit:
        start, stop_old, stop_new = _changed(old, new)
        counts = f"{stop_new - start} lines new, {stop_old - start} old in all"
        del rows[limit:]
        rows.append([("    ", ""), (f"… the rest is not shown; {counts}", CUT)])
    return rows


def _with_blanks_marked(
    numbered: list[tuple[int, str, str]],
) -> tuple[list[tuple[int, str, str]], list[Row]]:
    """The lines of a diff, with marks for blanks where an old line looks like a new one, and a note of that.

    A mark that a line holds itself is written as a code.
    """
    seen = {sign: {"".join(x.split()) for _, s, x in numbered if s == sign} for sign in "-+"}
    both = seen["-"] & seen["+"]
    if not both:
        return numbered, []
    marked = [
        (number, sign, line.translate(_BLANK_MARKS))
        if sign in seen and "".join(line.split()) in both
        else (number, sign, line)
        for number, sign, line in numbered
    ]
    return marked, [[("    ", ""), ("lines differ only in blanks: · is a space, → is a tab", "yellow")]]


_BLANK_MARKS = str.maketrans({"·": r"\xb7", "→": r"\u2192", " ": "·", "\t": "→"})

_BARE_LINE_END = re.compile(r"(?<!\r)\n|\r(?!\n)")


def _is_comparable(diff: Diff, old: list[str], new: list[str]) -> bool:
    start, stop_old, stop_new = _changed(old, new)
    return diff.old_text is None or max(stop_new, stop_old) - start <= MAX_COMPARED


def _diff_head(name: str, diff: Diff, old: list[str], new: list[str]) -> str:
    if diff.old_text is None:
        return f"{name} (new, {len(new)} line{'' if len(new) == 1 else 's'})"
    if not _is_comparable(diff, old, new):
        start, stop_old, stop_new = _changed(old, new)
        return f"{name} (about {stop_new - start} lines in the place of {stop_old - start})"
    return name


def _margins(
    numbered: list[tuple[int, str, str]], old: list[str], new: list[str]
) -> Iterator[tuple[Row, str, str]]:
    """What stands before each line of a diff, the line, and its style."""
    digits = len(str(max(len(old), len(new), 1)))
    for number, sign, line in numbered:
        if sign == "@":
            yield [("    ", "")], " " * digits + " ⋮", "dim"
            continue
        style = {"+": "green", "-": "red"}.get(sign, "dim")
        yield [("    ", ""), (f"{number:>{digits}} ", "dim"), (f"{sign} ", style)], line, style


def _changed(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """The index at which the texts begin to differ, and the one after the last difference in each."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, len(old) - end, len(new) - end


def _numbered(old: list[str], new: list[str], *, around: int) -> Iterator[tuple[int, str, str]]:
    """Line number, sign and text of each line to show; `@` between places far apart."""
    start, stop_old, stop_new = _changed(old, new)
    first = max(0, start - around)
    part_old, part_new = old[first : stop_old + around], new[first : stop_new + around]
    from difflib import SequenceMatcher  # only diffs need it

    matcher = SequenceMatcher(None, part_old, part_new, autojunk=len(part_old) > 400)
    for index, group in enumerate(matcher.get_grouped_opcodes(around)):
        if index:
            yield 0, "@", ""
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((first + j + 1, " ", part_new[j]) for j in range(j1, j2))
                continue
            yield from ((first + i + 1, "-", part_old[i]) for i in range(i1, i2))
            yield from ((first + j + 1, "+", part_new[j]) for j in range(j1, j2))


def _replaced(old: list[str], new: list[str]) -> Iterator[tuple[int, str, str]]:
    """The same without a comparison: all lines that go, then all that come."""
    start, stop_old, stop_new = _changed(old, new)
    yield from ((index + 1, "-", old[index]) for index in range(start, stop_old))
    yield from ((index + 1, "+", new[index]) for index in range(start, stop_new))

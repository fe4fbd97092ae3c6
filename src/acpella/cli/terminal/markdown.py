"""Markdown as it arrives: which blocks are finished, and how a block looks."""

import io
import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .clean import clean
from .rows import wrap

__all__ = ["Block", "Blocks", "render"]

log: logging.Logger = logging.getLogger(__name__)

MAX_CODE_LINES = 80
"""Lines of code in one block; longer code comes in pieces, or each new line would colour all of it again."""

MAX_BLOCK = 6000
"""Characters of one block of text; a paragraph without end is shown in pieces."""

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*([^\s`]*)[^`]*$")
_INNER_FENCE = re.compile(r"\s+(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d+[.)])\s")
_RULE = re.compile(r"\s*\|?\s*:?-+[\s:|-]*$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table, heading, … or a piece of code."""

    text: str
    is_code: bool = False
    language: str = ""
    is_rest: bool = False
    """It goes on with the block before, without a blank line between."""

    @property
    def is_table(self) -> bool:
        """The columns of a table become wider with every row that needs it."""
        return not self.is_code and _is_table(self.text.split("\n", 2))


class Blocks:
    """Takes text in pieces and gives blocks back as soon as nothing can be added to them."""

    def __init__(self) -> None:
        self._tail = ""  # a line without its end
        self._lines: list[str] = []
        self._size = 0
        self._code: tuple[str, str] | None = None  # the fence and the language
        self._inner: str | None = None  # a fence inside a list
        self._blank = False
        self._rest = False

    def feed(self, text: str) -> list[Block]:
        finished: list[Block] = []
        *lines, self._tail = (self._tail + text.replace("\r\n", "\n")).split("\n")
        for line in lines:
            self._line(line, finished)
        while len(self._tail) > MAX_BLOCK:
            cut = self._tail.rfind(" ", MAX_BLOCK // 2, MAX_BLOCK) + 1 or MAX_BLOCK
            line, self._tail = self._tail[:cut], self._tail[cut:]
            self._add(line)
            self._finish(finished, more=True)
        return finished

    def pending(self) -> Block | None:
        """What may still change."""
        lines = [*self._lines, self._tail] if self._tail else self._lines
        if not any(line.strip() for line in lines):
            return None
        return self._block(lines)

    def end(self) -> list[Block]:
        finished: list[Block] = []
        if self._tail:
            line, self._tail = self._tail, ""
            self._line(line, finished)
        self._finish(finished)
        self._code = self._inner = None
        return finished

    def _line(self, line: str, finished: list[Block]) -> None:
        if self._code is not None:
            if _closes(line, self._code[0]):
                self._finish(finished)
                self._code = None
                return
            self._add(line)
            if len(self._lines) >= MAX_CODE_LINES or self._size > MAX_BLOCK:
                self._finish(finished, more=True)
            return
        if self._inner is not None:
            self._add(line)
            if _closes(line, self._inner):
                self._inner = None
            return
        fence = _FENCE.match(line)
        if fence and not (fence[1] and self._lines and _ITEM.match(self._lines[0])):
            self._finish(finished)
            self._code = (fence[2], fence[3])
            return
        if not line.strip():
            self._blank = True
            self._add(line)
            return
        if self._blank and not line.startswith((" ", "\t")):
            self._finish(finished)
        if inner := _INNER_FENCE.match(line):
            self._inner = inner[1]
        self._blank = False
        self._add(line)
        if len(self._lines) == 1 and _HEADING.match(line):
            self._finish(finished)
        elif self._size > MAX_BLOCK:
            head = self._lines[:2] if _is_table(self._lines) else []
            self._finish(finished, more=not head)
            for again in head:
                self._add(again)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self, finished: list[Block], *, more: bool = False) -> None:
        if self._lines and (self._code is not None or any(line.strip() for line in self._lines)):
            finished.append(self._block(self._lines))
            self._rest = more
        elif not more:
            self._rest = False
        self._lines, self._size, self._blank = [], 0, False

    def _block(self, lines: list[str]) -> Block:
        text = "\n".join(lines)
        if self._code is not None:
            return Block(text, is_code=True, language=self._code[1], is_rest=self._rest)
        return Block(text.strip("\n"), is_rest=self._rest)


def _is_table(lines: list[str]) -> bool:
    return len(lines) > 1 and "|" in lines[0] and _RULE.match(lines[1]) is not None


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return stripped.startswith(fence) and not stripped.strip(fence[0])


def render(block: Block, width: int, *, colour: bool = True) -> list[str]:
    """The rows of a block, coloured, none wider than `width`."""
    try:
        rows = _rich_rows(block, max(width, 4), colour)
    except Exception:  # a mistake in a library must not hide what the agent says
        log.exception("a block of Markdown could not be drawn")
        return wrap(clean(block.text), max(width, 4))
    if block.is_code:
        return rows[:-1] if rows and not rows[-1] else rows
    first, last = 0, len(rows)
    while first < last and not rows[first]:
        first += 1
    while last > first and not rows[last - 1]:
        last -= 1
    return rows[first:last]


def _rich_rows(block: Block, width: int, colour: bool) -> list[str]:
    console, markdown, syntax = _tools(colour)
    console.width = width
    text = clean(block.text)
    if block.is_code:
        language = clean(block.language) or "text"
        drawn = syntax(
            text, language, theme="ansi_dark", background_color="default", word_wrap=True, padding=(0, 2)
        )
    else:
        drawn = markdown(text)
    with console.capture() as captured:
        console.print(drawn)
    return [_trimmed(row.rstrip()) for row in captured.get().split("\n")]


_BLANK_END = re.compile(r"(?:\x1b\[[0-9;]*m|\s)+\Z")


def _trimmed(row: str) -> str:
    """Without the blanks with which rich fills a row up."""
    end = _BLANK_END.search(row)
    if end is None or " " not in end[0]:
        return row
    trimmed = row[: end.start()]
    return trimmed + "\x1b[0m" if "\x1b[" in trimmed else trimmed


@lru_cache(maxsize=2)
def _tools(colour: bool) -> tuple[Any, Any, Any]:
    """What rich is needed for, set up once."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Heading, Markdown
    from rich.syntax import Syntax

    class LeftHeading(Heading):
        """rich puts headings in the middle, or a box round them."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            self.text.stylize("bold")
            yield self.text

    class Streamed(Markdown):
        elements = {**Markdown.elements, "heading_open": LeftHeading}

        def __init__(self, markup: str) -> None:
            # links are written out: what one sees is where it leads
            super().__init__(markup, code_theme="ansi_dark", hyperlinks=False)
            for token in self.parsed:
                for part in token.children or ():
                    if part.type == "softbreak":  # agents mean the line ends that they write
                        part.type = "hardbreak"

    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        no_color=not colour,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        width=80,
    )
    return console, Streamed, Syntax

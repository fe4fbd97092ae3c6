"""A terminal to draw on: rows that stay, and beneath them a few that change."""

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from .rows import cell_len, has_colour

__all__ = ["Paper", "TerminalPaper"]


class Paper(Protocol):
    """What a screen draws on."""

    colour: bool

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def draw(self, rows: Sequence[str], live: Sequence[str]) -> None:
        """Add rows for good, and put `live` in the place of the earlier live rows."""
        ...


class TerminalPaper:
    """The terminal itself. Rows that stay go to its scrollback and are never written twice."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._live: list[str] = []
        self._columns = 0
        self.colour: bool = has_colour()

    @property
    def width(self) -> int:
        return max(self._size().columns - 1, 10)  # the last column wraps on some terminals

    @property
    def height(self) -> int:
        return max(self._size().lines, 4)

    def _size(self) -> os.terminal_size:
        try:
            size = os.get_terminal_size(self._out.fileno())
        except (OSError, ValueError):
            from shutil import get_terminal_size

            return get_terminal_size()
        return size if size.columns and size.lines else os.terminal_size((80, 24))

    def draw(self, rows: Sequence[str], live: Sequence[str]) -> None:
        live = list(live)
        if not rows and live == self._live:
            return
        # One write, each row overwritten in place: nothing flickers. ?2026 holds the picture on terminals
        # that know it.
        out = ["\x1b[?2026h", self._to_top()]
        if self._columns != (columns := self._size().columns):
            # rows that the terminal broke count as one to it until they are erased
            out.append("\x1b[J")
            self._columns = columns
        out += [f"{row}\x1b[K\n" for row in rows]
        out.append("\x1b[K\n".join(live))
        out.append("\x1b[J\x1b[?2026l")
        self._live = live
        self._out.write("".join(out))
        self._out.flush()

    def _to_top(self) -> str:
        """To where the live rows begin. If the terminal has become narrower, they take more rows now."""
        if not self._live:
            return "\r"
        columns = max(self._size().columns, 1)
        height = sum(max(1, -(-cell_len(row) // columns)) for row in self._live)
        up = min(height, self._size().lines) - 1
        return f"\r\x1b[{up}A" if up else "\r"

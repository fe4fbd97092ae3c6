"""What the user sees of a turn: pleasant on a terminal, plain in a pipe."""

import sys
from collections.abc import Sequence
from typing import Any, Protocol

from acpella.client import ClientSession, ToolCallState
from acpella.schema import SessionUpdate, Usage

from .plain import PlainText, Simple
from .rows import Row, is_smart
from .update_rows import is_visible

__all__ = [
    "Display",
    "PlainText",
    "Simple",
    "is_visible",
    "open_screen",
]


class Display(Protocol):
    """What every screen can do."""

    def start(self) -> None:
        """A turn begins."""

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        """Show an update; `calls` holds the tool calls as they are now."""

    def tell(self, rows: Sequence[Row]) -> None:
        """Show rows of the program's own."""

    def end(self, stop_reason: str = "end_turn", usage: Usage | None = None) -> None:
        """The turn is over."""

    def pause(self) -> None:
        """Leave the terminal to a question."""

    def resume(self) -> None: ...

    def saw_diff(self, tool_call_id: str) -> None:
        """A question has shown the diffs of this call."""


def open_screen(output: str, session: ClientSession, *, live: bool = True) -> Display:
    """The screen for an output; `-o text` is drawn on a terminal, if rich is there.

    Without `live` it is line by line there, too: for when somebody else writes to the terminal as well.
    """
    if output == "simple":
        return Simple()
    if output in ("json", "jsonl"):
        from .document import NoDisplay

        return NoDisplay()
    options: dict[str, Any] = {"find_terminal": session.terminal, "cwd": str(session.cwd)}
    if live and is_smart(sys.stdout):
        from importlib.util import find_spec

        if find_spec("rich") is not None:  # for Markdown; it is loaded with the first block
            from .paper import TerminalPaper
            from .screen import Screen

            return Screen(TerminalPaper(), **options)
    return PlainText(**options)

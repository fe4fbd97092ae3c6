"""What the user sees of a turn: the answer on stdout, what happens around it as short lines."""

import difflib
import os
import sys
from typing import TextIO

from acpella.client import ToolCallState
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Content,
    Diff,
    Notice,
    Plan,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    Unknown,
)

__all__ = ["Simple", "Text"]

_MARKS = {"pending": "○", "in_progress": "◐", "completed": "●"}
_STATUS = {"completed": "✓", "failed": "✗", "cancelled": "✗"}
_COLOURS = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}
MAX_DIFF_LINES = 60
"""Lines of one diff that are shown."""


class Simple:
    """The answer alone."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._at_start = True

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            self._write(update.content.text)

    def end(self, stop_reason: str) -> None:
        if not self._at_start:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_start = text.endswith("\n")


class Text(Simple):
    """The answer, and what the agent does for it; in colour on a terminal."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        super().__init__(out)
        self._colour = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._thinking = False
        self._shown: dict[str, str] = {}  # status of each call that was told
        self._plan = ""

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentThoughtChunk):
            if isinstance(update.content, TextContent):
                if not self._thinking:
                    self._line_start()
                    self._thinking = True
                self._write(self._paint(update.content.text, "dim"))
            return
        if self._thinking:
            self._thinking = False
            self._line_start()
        if isinstance(update, ToolCall | ToolCallUpdate):
            self._tool(calls[update.tool_call_id])
        elif isinstance(update, Plan):
            self._show_plan(update)
        elif isinstance(update, Notice):
            self._tell(f"[{update.severity}] {update.title} {update.description or ''}".rstrip(), "yellow")
        elif isinstance(update, Unknown):
            self._tell(f"[{update.tag}]", "dim")
        else:
            super().update(update, calls)

    def end(self, stop_reason: str) -> None:
        super().end(stop_reason)
        if stop_reason != "end_turn":
            self._tell(f"[{stop_reason}]", "yellow")

    def _tool(self, call: ToolCallState) -> None:
        before = self._shown.get(call.id)
        if before == call.status:
            return
        self._shown[call.id] = call.status
        if call.is_open and before is None:
            self._tell(f"[{call.kind}] {call.title}", "cyan")
        elif not call.is_open:
            colour = "green" if call.status == "completed" else "red"
            self._tell(f"[{call.kind}] {call.title} {_STATUS[call.status]} {call.status}", colour)
            for item in call.content:
                if isinstance(item, Diff):
                    self._diff(item)
                elif (
                    isinstance(item, Content)
                    and isinstance(item.content, TextContent)
                    and call.kind == "execute"
                ):
                    for line in item.content.text.splitlines()[-10:]:
                        self._tell(f"  {line}", "dim")

    def _diff(self, diff: Diff) -> None:
        old, new = (diff.old_text or "").splitlines(), diff.new_text.splitlines()
        lines = list(difflib.unified_diff(old, new, diff.path, diff.path, lineterm="", n=2))
        for line in lines[:MAX_DIFF_LINES]:
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            self._tell(f"  {line}", colour)
        if len(lines) > MAX_DIFF_LINES:
            self._tell(f"  … {len(lines) - MAX_DIFF_LINES} more lines", "dim")

    def _show_plan(self, plan: Plan) -> None:
        shown = "\n".join(f"  {_MARKS[entry.status]} {entry.content}" for entry in plan.entries)
        if shown != self._plan:
            self._plan = shown
            self._tell("[plan]\n" + shown, "dim")

    def _tell(self, text: str, colour: str) -> None:
        self._line_start()
        self._write(self._paint(text, colour) + "\n")
        self._at_start = True

    def _line_start(self) -> None:
        if not self._at_start:
            self._write("\n")

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._colour else text

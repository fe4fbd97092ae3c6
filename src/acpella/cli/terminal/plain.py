"""A turn line by line, for pipes, files and terminals that can do no more."""

import sys
from collections.abc import Sequence
from typing import TextIO

from acpella.client import ToolCallState
from acpella.client.result import Messages, plan_entries
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Notice,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    Unknown,
    Usage,
)

from .clean import Cleaner, one_line
from .command_output import FindTerminal, Outputs
from .rows import Row, plain
from .tool_rows import MARKS, ShownCalls, call_label, detail_rows
from .update_rows import describe, notice_row, plan_rows

__all__ = ["PlainText", "Simple"]


class Simple:
    """The answer alone; byte for byte, unless a terminal would obey it."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._at_start = True
        self._messages = Messages()
        self._called = set[str]()
        self._cleaner = Cleaner() if self._out.isatty() else None

    def start(self) -> None:
        """A turn begins."""

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            self._say(update.message_id, update.content.text)
        elif isinstance(update, ToolCall | ToolCallUpdate) and update.tool_call_id not in self._called:
            self._called.add(update.tool_call_id)
            self._messages.interrupt()

    def _say(self, message_id: str | None, text: str) -> None:
        """Go on with a message, or begin another one after a blank line."""
        if gap := self._messages.gap(message_id, text):
            self._write((self._cleaner.end() if self._cleaner is not None else "") + gap)
        self._write_foreign(text)

    def end(self, stop_reason: str = "end_turn", usage: Usage | None = None) -> None:
        if not self._at_start:
            self._write("\n")

    def pause(self) -> None:
        if not self._at_start and self._out.isatty():
            self._write("\n")

    def resume(self) -> None: ...

    def saw_diff(self, tool_call_id: str) -> None: ...

    def tell(self, rows: Sequence[Row]) -> None: ...

    def _write_foreign(self, text: str) -> None:
        self._write(text if self._cleaner is None else self._cleaner.feed(text))

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_start = text.endswith("\n")


class PlainText(Simple):
    """The answer, and what the agent does for it in lines of their own."""

    def __init__(
        self, out: TextIO | None = None, *, find_terminal: FindTerminal | None = None, cwd: str = ""
    ) -> None:
        super().__init__(out)
        self._cleaner = Cleaner()
        self._cwd = cwd
        self._outputs = Outputs(find_terminal)
        self._calls = ShownCalls()
        self._thinking = False
        self._shown: dict[str, str] = {}  # the line about each call that was told last
        self._open: dict[str, ToolCallState] = {}
        self._plan: list[Row] = []

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentThoughtChunk) and isinstance(update.content, TextContent):
            if not self._thinking:
                self._line_start()
                self._thinking = True
            self._write_foreign(update.content.text)
            return
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            if self._thinking:
                self._thinking = False
                self._line_start()
            self._say(update.message_id, update.content.text)
        elif isinstance(update, ToolCall | ToolCallUpdate):
            self._outputs.note(update)
            self._tool(self._calls.fold(update, calls))
        elif (entries := plan_entries(update)) is not None:
            self._show_plan(plan_rows(entries))
        elif isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            self._tell(describe(update.content))
        elif isinstance(update, Notice):
            self._tell(f"[{one_line(update.severity, 20)}] {plain(notice_row(update))[2:]}")
        elif isinstance(update, Unknown):
            self._tell(f"[{one_line(str(update.tag), 80)}]")

    def end(self, stop_reason: str = "end_turn", usage: Usage | None = None) -> None:
        super().end(stop_reason)
        for call in list(self._open.values()):
            self._tool(self._calls.end(call, stop_reason))
        if stop_reason != "end_turn":
            self._tell(f"[{one_line(stop_reason, 80)}]")

    def tell(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._tell(plain(row).rstrip())

    def _tool(self, call: ToolCallState) -> None:
        line = f"[{one_line(call.kind, 20)}] {call_label(call) or one_line(call.id)}"
        if call.is_open:
            self._open[call.id] = call
            if self._shown.get(call.id) != line:  # new, or something else than was said
                self._shown[call.id] = line
                self._tell(line)
            return
        self._open.pop(call.id, None)
        if self._shown.get(call.id) == call.status:
            return
        self._shown[call.id] = call.status
        output = self._outputs.of(call)
        code = f" ({output.ended})" if output.ended not in ("", "exit 0") else ""
        self._tell(f"{line} {MARKS.get(call.status, ('·',))[0]} {call.status}{code}")
        self.tell(detail_rows(call, output, cwd=self._cwd))

    def _show_plan(self, rows: list[Row]) -> None:
        if rows != self._plan:
            self._plan = rows
            self._tell("[plan]")
            self.tell(rows)

    def _tell(self, text: str) -> None:
        self._thinking = False
        self._line_start()
        self._write(text + "\n")

    def _line_start(self) -> None:
        assert self._cleaner is not None
        self._messages = Messages()  # the lines between are gap enough
        self._write(self._cleaner.end())
        if not self._at_start:
            self._write("\n")

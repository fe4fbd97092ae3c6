"""A turn on a terminal: finished parts go to the scrollback, what still changes is drawn beneath them."""

import asyncio
import time
from collections.abc import Sequence

from acpella.client import ToolCallState
from acpella.client.result import plan_entries
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Notice,
    PlanEntry,
    PlanUpdate,
    SessionInfoUpdate,
    SessionUpdate,
    SubagentUpdate,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    Unknown,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from .clean import Cleaner, one_line
from .command_output import FindTerminal, Outputs, output_rows
from .markdown import Block, Blocks, render
from .paper import Paper
from .rows import Row, paint, wrap
from .tool_rows import MAX_CALLS, ShownCalls, detail_rows, tool_row
from .update_rows import describe, notice_row, plan_rows, usage_text

__all__ = ["Screen"]

REDRAW_SECONDS = 0.05
"""Seconds between two pictures, however fast updates come."""

TICK = 0.1
"""Seconds between two pictures of the spinner while nothing comes."""

MAX_LIVE_CALLS = 8
"""Running tool calls that are shown at once."""

LIVE_OUTPUT = 3
"""Lines of a running command's output that are shown."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Screen:
    """Display updates as they come. `end` leaves nothing but what stays."""

    def __init__(
        self,
        paper: Paper,
        *,
        find_terminal: FindTerminal | None = None,
        cwd: str = "",
        idle: bool = False,
        notes: bool = True,
    ) -> None:
        """`idle`: no turn runs yet. Without `notes`, title and usage are left to somebody else."""
        self._paper = paper
        self._cwd = cwd
        self._notes = notes
        self.show_user = False
        """What the user said is shown, too: when an old conversation is told again."""
        self._outputs = Outputs(find_terminal)
        self._rows: list[str] = []  # to be added for good with the next picture
        self._speaking: str | None = None  # which kind of text is coming in
        self._message: str | None = None  # which message it belongs to, if the agent tells
        self._blocks = Blocks()
        self._thought = ""
        self._cleaner = Cleaner()
        self._frozen = 0  # rows of the pending block that were added already
        self._frozen_width = 0
        self._held: list[str] = []  # rows that wait for the end of that block
        self._cache: tuple[Block, int, list[str]] | None = None
        self._gap = False  # a blank row is due before the next thing
        self._any = False  # something was shown already
        self._begun: dict[str, float] = {}
        self._calls = ShownCalls()
        self._open: dict[str, ToolCallState] = {}
        self._shown: dict[
            str, tuple[str, bool]
        ] = {}  # how a call ended, and whether more than its row was shown
        self._seen = set[str]()  # calls whose diffs a question has shown
        self._plan: list[PlanEntry] = []
        self._context: UsageUpdate | None = None
        self._title = ""
        self._started = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._cost = 0.0
        self._paused = 0
        self._running = not idle
        self._touch(0)

    # -- what comes in -----------------------------------------------------------------------

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        """Take an update; `calls` holds the tool calls as they are now."""
        self._take(update, calls)
        self._touch(max(REDRAW_SECONDS, self._cost * 4))

    def _take(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None:
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk | UserMessageChunk):
            self._chunk(update)
        elif isinstance(update, ToolCall | ToolCallUpdate):
            self._outputs.note(update)
            self._tool(self._calls.fold(update, calls))
        elif (entries := plan_entries(update)) is not None:
            self._plan = entries
        elif isinstance(update, UsageUpdate):
            self._context = update
        elif isinstance(update, SessionInfoUpdate):
            self._title = update.title if isinstance(update.title, str) else self._title
        elif isinstance(update, Notice):
            self._say(notice_row(update))
        elif isinstance(update, CompactionUpdate):
            self._say([("· ", "dim"), (f"compacting the context: {one_line(update.status, 40)}", "dim")])
        elif isinstance(update, SubagentUpdate):
            title = update.title if isinstance(update.title, str) else update.session_id
            self._say([("· ", "dim"), (f"subagent {one_line(title)}", "dim")])
        elif isinstance(update, CurrentModeUpdate):
            self._say([("· ", "dim"), (f"mode {one_line(update.current_mode_id)}", "dim")])
        elif isinstance(update, Unknown):
            self._say([("· ", "dim"), (f"[{one_line(str(update.tag), 80)}]", "dim")])
        elif isinstance(
            update, AvailableCommandsUpdate | ConfigOptionUpdate | CompactionSummaryChunk | PlanUpdate
        ):
            pass  # nothing to see
        else:
            self._say([("· ", "dim"), (f"[{type(update).__name__}]", "dim")])

    def tell(self, rows: Sequence[Row], *, gap: bool = False) -> None:
        """Add rows of the program's own, with a blank one before if there is a `gap`."""
        self._end_text()
        self._gap = (self._gap or gap) and self._any
        self._print(rows)
        self._touch(0)

    def aside(self, rows: Sequence[Row]) -> None:
        """Add rows above the text that is coming in, without breaking that."""
        painted = [self._paint(row) for row in rows]
        if self._frozen:
            self._held += painted  # they would stand in the middle of a block
        else:
            self._rows += painted
        self._any = True
        self._touch(0)

    def end(self, stop_reason: str = "end_turn", usage: Usage | None = None) -> None:
        """The turn is over: what was unfinished stays as it is."""
        self._end_text()
        for call in list(self._open.values()):
            self._close_call(self._calls.end(call, stop_reason))
        if self._plan:
            self._print(plan_rows(self._plan), gap=True)
            self._plan = []
        if stop_reason != "end_turn":
            self._print([[(f"[{one_line(stop_reason, 80)}]", "yellow")]], gap=True)
        notes = [one_line(self._title, 80)] if self._title else []
        if text := usage_text(self._context, usage):
            notes.append(text)
        if notes and self._notes:
            self._print([[("· " + " · ".join(notes), "dim")]], gap=True)
        self._title, self._context = "", None
        self._running = False
        self._stop_timer()
        self._draw()

    def start(self) -> None:
        """A turn begins."""
        self._end_text()
        self._running = True
        self._started = time.monotonic()
        self._gap = self._any
        self._touch(0)

    def forget(self) -> None:
        """Another conversation begins: tool calls that were shown may come again."""
        self._begun.clear()
        self._shown.clear()
        self._calls = ShownCalls()

    def pause(self) -> None:
        """Leave the terminal to somebody else; what comes meanwhile is shown at `resume`."""
        self._paused += 1
        if self._paused == 1:
            self._stop_timer()
            self._paper.draw(self._take_rows(), [])

    def resume(self) -> None:
        self._paused -= 1
        self._any = self._gap = True
        self._touch(0)

    def saw_diff(self, tool_call_id: str) -> None:
        """A question has shown the diffs of this call."""
        self._seen.add(tool_call_id)

    # -- text --------------------------------------------------------------------------------

    def _chunk(self, update: AgentMessageChunk | AgentThoughtChunk | UserMessageChunk) -> None:
        kind = type(update).__name__
        if isinstance(update, UserMessageChunk) and not self.show_user:
            return
        if not isinstance(update.content, TextContent):
            self._say([(describe(update.content), "cyan")])
            return
        message, self._message = self._message, update.message_id
        if self._speaking != kind or message != update.message_id:
            self._end_text()
            self._speaking = kind
            self._gap = self._any
        text = self._cleaner.feed(update.content.text)
        if isinstance(update, AgentMessageChunk):
            for block in self._blocks.feed(text):
                self._add_block(block)
            return
        if not self._thought:
            text = text.lstrip("\n")
        *lines, self._thought = (self._thought + text).split("\n")
        if len(self._thought) > 4000:
            lines, self._thought = [*lines, self._thought], ""
        for line in lines:
            self._add_text(line)

    def _add_text(self, line: str) -> None:
        """A line of a thought, or of what the user said."""
        if self._speaking == "UserMessageChunk":
            self._add_rows([paint([("› ", "cyan"), (r, "bold")], 10**6) for r in self._wrap(line, 2)])
        else:
            rows = [[("  ", ""), (row, "dim italic")] for row in self._wrap(line, 2)]
            self._add_rows([self._paint(row) for row in rows])

    def _wrap(self, line: str, indent: int) -> list[str]:
        return wrap(line, max(self._paper.width - indent, 8))

    def _add_block(self, block: Block) -> None:
        rows = self._rendered(block)[self._frozen :]
        if block.is_rest or self._frozen:
            self._rows += rows
        else:
            self._add_rows(rows)
        self._rows += self._held
        self._held = []
        self._frozen = 0
        self._cache = None
        self._gap = True

    def _rendered(self, block: Block) -> list[str]:
        width = self._frozen_width if self._frozen else min(self._paper.width, 120)
        if self._cache is None or self._cache[0] != block or self._cache[1] != width:
            self._cache = (block, width, render(block, width, colour=self._paper.colour))
        return self._cache[2]

    def _end_text(self) -> None:
        if self._speaking is None:
            return
        rest = self._cleaner.end()
        if self._speaking == "AgentMessageChunk":
            for block in [*self._blocks.feed(rest), *self._blocks.end()]:
                self._add_block(block)
        elif text := (self._thought + rest).rstrip():
            self._add_text(text)
        self._thought = ""
        self._speaking = None
        self._gap = True

    # -- tool calls --------------------------------------------------------------------------

    def _tool(self, call: ToolCallState) -> None:
        if call.id not in self._begun:
            self._end_text()
            if len(self._begun) >= MAX_CALLS:
                self._begun.pop(next(iter(self._begun)))
            self._begun[call.id] = time.monotonic()
        if call.is_open:
            if call.id not in self._shown:
                self._open[call.id] = call
        else:
            self._close_call(call)

    def _close_call(self, call: ToolCallState) -> None:
        """Print the row of a call for good; again only if its status changed, or its details came later."""
        self._open.pop(call.id, None)
        output = self._outputs.of(call)
        details = detail_rows(call, output, cwd=self._cwd, diffs=call.id not in self._seen)
        self._seen.discard(call.id)
        before = self._shown.get(call.id)
        if before is not None and before[0] == call.status and (before[1] or not details):
            return
        if len(self._shown) >= MAX_CALLS:
            self._shown.pop(next(iter(self._shown)))
        self._shown[call.id] = (call.status, bool(details))
        self._end_text()
        if before is None or before[0] != call.status:
            seconds = time.monotonic() - self._begun.get(call.id, time.monotonic())
            details.insert(0, tool_row(call, spinner="·", seconds=seconds, cwd=self._cwd, ended=output.ended))
        self._print(details, gap=self._gap)
        self._gap = False

    # -- rows --------------------------------------------------------------------------------

    def _say(self, row: Row) -> None:
        self._end_text()
        self._print([row])

    def _print(self, rows: Sequence[Row], *, gap: bool = False) -> None:
        self._gap = self._gap or gap
        self._add_rows([self._paint(row) for row in rows])
        self._gap = gap

    def _add_rows(self, rows: list[str]) -> None:
        if self._gap and rows:
            self._rows.append("")
        self._any = self._any or bool(rows)
        self._gap = False
        self._rows += rows

    def _paint(self, row: Row) -> str:
        return paint(row, self._paper.width, colour=self._paper.colour)

    def _take_rows(self) -> list[str]:
        rows, self._rows = self._rows, []
        return rows

    # -- pictures ----------------------------------------------------------------------------

    def _touch(self, delay: float) -> None:
        """See that a picture is drawn within so many seconds."""
        if self._paused:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = loop.call_at(due, self._draw)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _draw(self) -> None:
        if self._paused:
            return
        self._timer = None
        began = time.perf_counter()
        live = self._live()
        self._paper.draw(self._take_rows(), live)
        self._cost = time.perf_counter() - began
        if self._running:
            self._touch(max(TICK, self._cost * 4))

    def _live(self) -> list[str]:
        room = max(self._paper.height - 3, 2)
        if not self._running:
            return self._live_text(room)
        below = self._live_calls(room)
        if self._plan:
            entries = plan_rows(self._plan, limit=max(room // 2, 1))
            below += [self._paint(row) for row in entries]
        below = below[: max(room - 2, 1)]
        return self._live_text(room - len(below)) + below

    def _live_calls(self, room: int) -> list[str]:
        spinner = _SPINNER[int(time.monotonic() / TICK) % len(_SPINNER)]
        now = time.monotonic()
        if not self._open:
            if self._speaking == "AgentMessageChunk":
                return []
            row = [(f"{spinner} ", "cyan"), (f"working {now - self._started:.0f} s", "dim")]
            return [self._paint(row)]
        rows: list[Row] = []
        calls = list(self._open.values())
        for call in calls[:MAX_LIVE_CALLS]:
            seconds = now - self._begun.get(call.id, now)
            rows.append(tool_row(call, spinner=spinner, seconds=seconds, cwd=self._cwd))
            if call.kind == "execute" and len(calls) <= 2:
                rows += output_rows(self._outputs.of(call), LIVE_OUTPUT)
        if len(calls) > MAX_LIVE_CALLS:
            rows.append([("  ", ""), (f"and {len(calls) - MAX_LIVE_CALLS} more", "dim")])
        return [self._paint(row) for row in rows[:room]]

    def _live_text(self, room: int) -> list[str]:
        """The unfinished block; what has no room goes to the scrollback already."""
        gap = [""] if self._gap else []
        room = max(room - len(gap), 1)
        if self._speaking in ("AgentThoughtChunk", "UserMessageChunk"):
            rows = [self._paint([("  ", ""), (r, "dim italic")]) for r in self._wrap(self._thought, 2)]
            return gap + rows[-room:] if self._thought else []
        block = self._blocks.pending()
        if block is None:
            return []
        rows = self._rendered(block)
        if block.is_table:
            return gap + rows[-room:]
        if len(rows) - self._frozen > room:
            if not self._frozen:
                self._frozen_width = min(self._paper.width, 120)
                if not block.is_rest:
                    self._rows += gap
                    self._gap = False
            stay = len(rows) - max(room // 2, 1)
            self._rows += rows[self._frozen : stay]
            self._frozen = stay
        return ([] if block.is_rest or self._frozen else gap) + rows[self._frozen :]

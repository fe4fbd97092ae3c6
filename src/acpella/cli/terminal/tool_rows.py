"""Tool calls as rows: what they do, how far they are, what came of them."""

from msgspec import UNSET

from acpella.client import ToolCallState
from acpella.client.result import command_in
from acpella.schema import (
    Content,
    Diff,
    Terminal,
    TextContent,
    ToolCall,
    ToolCallUpdate,
)

from .clean import one_line
from .command_output import Output, output_rows
from .diffs import diff_rows
from .rows import Row
from .shown_paths import short_path
from .update_rows import describe

__all__ = ["MARKS", "ShownCalls", "call_label", "detail_rows", "tool_row"]

MAX_CALLS = 10_000
"""Tool calls that are remembered; a session of days would fill the memory."""

MARKS = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("✗", "yellow"),
    "unfinished": ("·", "yellow"),
}


class ShownCalls:
    """Tool calls as of the update that is shown now; a turn's own state may be many updates ahead."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCallState] = {}
        self._known: dict[str, ToolCallState] = {}

    def end(self, call: ToolCallState, stop_reason: str) -> ToolCallState:
        """A call that was open when the turn ended, as it is now: refused, cancelled, or never closed."""
        latest = self._known.get(call.id)
        if latest is not None:
            call.title = latest.title or call.title  # a question may have told a newer one
            self._complete(call, latest)
        if latest is not None and not latest.is_open:
            call.status = latest.status
        elif call.is_open:
            call.status = "cancelled" if stop_reason == "cancelled" else "unfinished"
        return call

    def fold(self, update: ToolCall | ToolCallUpdate, states: dict[str, ToolCallState]) -> ToolCallState:
        """The call with this update. What only a permission request told is taken from `states`."""
        self._known = states
        call = self._calls.get(update.tool_call_id)
        if call is None:
            if len(self._calls) >= MAX_CALLS:
                del self._calls[next(iter(self._calls))]
            call = self._calls[update.tool_call_id] = ToolCallState(update.tool_call_id)
        call.apply(update)
        if (other := states.get(call.id)) is not None:
            if not update.title:  # a question may have told a newer one
                call.title = other.title or call.title
            self._complete(call, other)
        return call

    @staticmethod
    def _complete(call: ToolCallState, other: ToolCallState) -> None:
        call.kind = other.kind if call.kind == "other" else call.kind
        call.raw_input = other.raw_input if call.raw_input is UNSET else call.raw_input
        call.content = call.content or other.content
        call.locations = call.locations or other.locations


def call_label(call: ToolCallState | ToolCallUpdate, limit: int = 500) -> str:
    """What a call does in one line: its title, and its command if that is known and the title lacks it."""
    title = one_line(call.title or call.name or "", limit)
    command = one_line(command_in(call.raw_input), limit)
    if command and command not in title:
        return f"{title}: {command}" if title else command
    return title


def tool_row(
    call: ToolCallState, *, spinner: str = "○", seconds: float | None = None, cwd: str = "", ended: str = ""
) -> Row:
    """A tool call in one row: mark, kind, title, places, how long it took."""
    mark, colour = MARKS.get(call.status, (spinner, "cyan"))
    title = call_label(call) or one_line(call.id)
    row = [(f"{mark} ", colour), (f"{one_line(call.kind, 20)} ", "dim"), (title, "")]
    places = [place for place in _places(call, cwd) if place.partition(":")[0] not in title]
    if places:
        row.append((f"  {places[0]}" + (f" +{len(places) - 1}" if len(places) > 1 else ""), "dim"))
    if call.status in ("failed", "cancelled", "unfinished"):
        row.append((f"  {call.status}", colour))
    if ended and ended != "exit 0":
        row.append((f"  {ended}", "red"))
    if seconds is not None and seconds >= 0.1:
        row.append((f"  {_time(seconds)}", "dim"))
    return row


def _places(call: ToolCallState, cwd: str) -> list[str]:
    paths: list[str] = []
    for location in call.locations[:100]:
        path = short_path(location.path, cwd)
        paths.append(path if location.line is None else f"{path}:{location.line}")
    return list(dict.fromkeys(paths))


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def detail_rows(call: ToolCallState, output: Output, *, cwd: str = "", diffs: bool = True) -> list[Row]:
    """What a call did: its diffs, the output of commands, why it failed, other content in a line each."""
    rows: list[Row] = []
    for item in call.content[:50]:
        if isinstance(item, Diff):
            rows += diff_rows(item, cwd=cwd) if diffs else []
        elif isinstance(item, Content) and not isinstance(item.content, TextContent):
            rows.append([("    ", ""), (describe(item.content), "dim")])
    terminal = any(isinstance(item, Terminal) for item in call.content)
    if call.kind == "execute" or terminal or call.status == "failed":
        rows += output_rows(output)
    return rows

"""What there is to tell of updates and tool calls, as rows; the same for every screen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import UNSET

from acpella._counted import counted
from acpella._plain_json import as_dict
from acpella.client import ToolCallState
from acpella.client.result import command_in
from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AudioContent,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    Content,
    ContentBlock,
    CurrentModeUpdate,
    Diff,
    EmbeddedResource,
    ImageContent,
    Notice,
    PlanEntry,
    ResourceLink,
    SessionInfoUpdate,
    Terminal,
    TextContent,
    TextResourceContents,
    ToolCall,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from .clean import clean, one_line
from .diffs import diff_rows
from .rows import Row
from .shown_paths import short_path

__all__ = [
    "Output",
    "Outputs",
    "OwnTerminal",
    "ShownCalls",
    "call_label",
    "count",
    "describe",
    "detail_rows",
    "is_visible",
    "notice_row",
    "output_rows",
    "plan_rows",
    "tool_row",
    "unfenced",
    "usage_text",
]

MAX_OUTPUT_LINES = 12
"""Lines of a command's output that are shown: the last ones, which say how it ended."""

MAX_KEPT = 64 * 1024
"""Characters kept of each terminal that the agent runs itself."""

MAX_TERMINALS = 256
"""Terminals of one conversation that are remembered."""

MAX_CALLS = 10_000
"""Tool calls that are remembered; a session of days would fill the memory."""

_MARKS = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("✗", "yellow"),
    "unfinished": ("·", "yellow"),
}
_PLAN = {"pending": ("○", "dim"), "in_progress": ("◐", "yellow"), "completed": ("●", "green")}
_SEVERITY = {"error": "red", "warning": "yellow"}


class OwnTerminal(Protocol):
    """A terminal that this client runs, as `acpella.local.LocalTerminal`."""

    @property
    def output(self) -> str: ...
    @property
    def exit_status(self) -> tuple[int | None, str | None] | None: ...


FindTerminal = Callable[[str], OwnTerminal | None]


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


@dataclass(frozen=True, slots=True)
class Output:
    """What a command wrote last, and how it ended if that is known."""

    text: str = ""
    lines_before: int = 0
    ended: str = ""


@dataclass(slots=True)
class _ReportedTerminal:
    """What an agent told of a terminal that it runs itself (`_meta.terminal_output`, `terminal_exit`)."""

    output: str = ""
    lines_before: int = 0
    exit_code: int | None = None
    signal: str | None = None
    ended: bool = False


class Outputs:
    """Collects what commands wrote, wherever an agent puts it."""

    def __init__(self, find: FindTerminal | None = None) -> None:
        self._find = find
        self._own: dict[str, OwnTerminal] = {}
        self._reported: dict[str, _ReportedTerminal] = {}

    def note(self, update: ToolCall | ToolCallUpdate) -> None:
        """Look at an update: its `_meta`, and terminals that may be released soon."""
        for item in update.content or []:
            if isinstance(item, Terminal) and self._find is not None and len(self._own) < MAX_TERMINALS:
                if item.terminal_id not in self._own and (own := self._find(item.terminal_id)) is not None:
                    self._own[item.terminal_id] = own
        meta = update.meta or {}
        report = as_dict(meta.get("terminal_output"))
        if (data := report.get("data")) and isinstance(data, str):
            terminal = self._terminal(report)
            terminal.output, lost = _last(terminal.output + data)
            terminal.lines_before += lost
        report = as_dict(meta.get("terminal_exit"))
        if report:
            terminal = self._terminal(report)
            terminal.ended = True
            code, name = report.get("exit_code"), report.get("signal")
            terminal.exit_code = code if isinstance(code, int) else None
            terminal.signal = name if isinstance(name, str) else None

    def _terminal(self, report: dict[str, Any]) -> _ReportedTerminal:
        key = str(report.get("terminal_id"))
        while len(self._reported) >= MAX_TERMINALS and key not in self._reported:
            del self._reported[next(iter(self._reported))]
        return self._reported.setdefault(key, _ReportedTerminal())

    def of(self, call: ToolCallState) -> Output:
        """What a call has written until now."""
        texts: list[str] = []
        before, ended = 0, ""
        for item in call.content:
            if isinstance(item, Terminal):
                own, reported = self._own.get(item.terminal_id), self._reported.get(item.terminal_id)
                if own is not None:
                    texts.append(own.output)
                    if own.exit_status is not None:
                        ended = _ended(*own.exit_status)
                elif reported is not None:
                    texts.append(reported.output)
                    before += reported.lines_before
                    if reported.ended:
                        ended = _ended(reported.exit_code, reported.signal)
            elif isinstance(item, Content) and isinstance(item.content, TextContent):
                texts.append(unfenced(item.content.text))
        raw = as_dict(call.raw_output)
        if not any(texts):
            texts = [text for name in _RAW_TEXTS if isinstance(text := raw.get(name), str) and text][:1]
        if not ended:
            for table in (raw, as_dict(raw.get("metadata"))):
                for name in _RAW_CODES:
                    code = table.get(name)
                    if isinstance(code, int) and not isinstance(code, bool):
                        ended = ended or _ended(code, None)
        text, lost = _last("\n".join(text.strip("\n") for text in texts if text))
        return Output(clean(text), before + lost, ended)


_RAW_TEXTS = ("aggregated_output", "output", "stdout")
_RAW_CODES = ("exit_code", "exitCode", "exit")


def _last(text: str) -> tuple[str, int]:
    """The end of a text, and how many lines were before it."""
    if len(text) <= MAX_KEPT:
        return text, 0
    cut = text.find("\n", len(text) - MAX_KEPT, len(text) - 1) + 1 or len(text) - MAX_KEPT
    return text[cut:], text.count("\n", 0, cut)


def _ended(code: int | None, signal: str | None) -> str:
    if signal:
        return f"ended by {one_line(signal, 20)}"
    return f"exit {code}" if code is not None else ""


def unfenced(text: str) -> str:
    """Output without the code fence that some agents put around it."""
    first, _, rest = text.strip().partition("\n")
    fence = first[: len(first) - len(first.lstrip("`"))]
    return rest.removesuffix(fence).rstrip("\n") if len(fence) >= 3 and rest.endswith(fence) else text


# -- content ---------------------------------------------------------------------------------


def describe(block: ContentBlock) -> str:
    """A line about content that a terminal does not show."""
    if isinstance(block, TextContent):
        return one_line(block.text)
    if isinstance(block, ImageContent | AudioContent):
        what = "image" if isinstance(block, ImageContent) else "audio"
        where = f" {block.uri}" if isinstance(block, ImageContent) and block.uri else ""
        return one_line(f"[{what} {block.mime_type}, {_size(len(block.data) * 3 // 4)}{where}]")
    if isinstance(block, ResourceLink):
        size = f", {_size(block.size)}" if block.size is not None else ""
        return one_line(f"[link {block.title or block.name}{size}: {block.uri}]")
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        size = len(inner.text) if isinstance(inner, TextResourceContents) else len(inner.blob) * 3 // 4
        return one_line(f"[file {inner.uri}, {_size(size)}]")
    return one_line(f"[{block.tag}]")


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


_BESIDE = (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    UsageUpdate,
    UserMessageChunk,
)


def is_visible(update: object) -> bool:
    """Whether an update says or does anything; others only tell the state of the session."""
    if isinstance(update, AgentMessageChunk | AgentThoughtChunk) and isinstance(update.content, TextContent):
        return bool(update.content.text.strip())
    return not isinstance(update, _BESIDE)


# -- tool calls ------------------------------------------------------------------------------


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
    mark, colour = _MARKS.get(call.status, (spinner, "cyan"))
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


def output_rows(output: Output, limit: int = MAX_OUTPUT_LINES) -> list[Row]:
    """The last lines of an output, with a note of what is left out."""
    lines = output.text.rstrip().split("\n") if output.text.strip() else []
    before, rows = output.lines_before, list[Row]()
    if len(lines) > limit:
        before += len(lines) - limit
        lines = lines[-limit:]
    if before:
        rows.append([("    ", ""), (f"… {counted(before, 'line')} before", "dim italic")])
    return rows + [[("    ", ""), (line, "dim")] for line in lines]


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


# -- the rest --------------------------------------------------------------------------------


def plan_rows(entries: list[PlanEntry], limit: int = 100) -> list[Row]:
    """A plan as a checklist."""
    rows: list[Row] = []
    for entry in entries[:limit]:
        mark, colour = _PLAN.get(entry.status, ("○", "dim"))
        style = {"completed": "dim", "in_progress": "bold"}.get(entry.status, "")
        rows.append([("  ", ""), (f"{mark} ", colour), (one_line(entry.content), style)])
    if len(entries) > limit:
        rows.append([("  ", ""), (f"… {len(entries) - limit} more", "dim")])
    return rows


def notice_row(notice: Notice) -> Row:
    colour = _SEVERITY.get(notice.severity, "cyan")
    row = [("! ", colour), (one_line(notice.title), colour)]
    if notice.description:
        row.append((f"  {one_line(notice.description)}", "dim"))
    return row


def usage_text(context: UsageUpdate | None, usage: Usage | None = None) -> str:
    """How full the context is, what the turn took and cost; empty if nothing is known."""
    parts: list[str] = []
    if usage is not None:
        parts.append(f"{count(usage.input_tokens)} in, {count(usage.output_tokens)} out")
    if context is not None and context.size:
        parts.append(f"{count(context.used)}/{count(context.size)} ({context.used * 100 // context.size} %)")
    if context is not None and context.cost is not None and context.cost.amount:
        parts.append(f"{context.cost.amount:.2f} {one_line(context.cost.currency, 10)}")
    return " · ".join(parts)


def count(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"

"""What commands wrote, wherever an agent puts it: the same for every screen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from acpella._counted import counted
from acpella._plain_json import as_dict
from acpella.client import ToolCallState
from acpella.schema import (
    Content,
    Terminal,
    TextContent,
    ToolCall,
    ToolCallUpdate,
)

from .clean import clean, one_line
from .rows import Row

__all__ = ["Output", "Outputs", "OwnTerminal", "output_rows", "unfenced"]

MAX_OUTPUT_LINES = 12
"""Lines of a command's output that are shown: the last ones, which say how it ended."""

MAX_KEPT = 64 * 1024
"""Characters kept of each terminal that the agent runs itself."""

MAX_TERMINALS = 256
"""Terminals of one conversation that are remembered."""


class OwnTerminal(Protocol):
    """A terminal that this client runs, as `acpella.local.LocalTerminal`."""

    @property
    def output(self) -> str: ...
    @property
    def exit_status(self) -> tuple[int | None, str | None] | None: ...


FindTerminal = Callable[[str], OwnTerminal | None]


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

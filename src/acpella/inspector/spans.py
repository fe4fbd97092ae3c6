"""Where the time of a turn went: to the model, to a tool, to a person who is asked, or to silence."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from acpella._plain_json import as_dict

from .rows import Row

__all__ = ["Lane", "Span", "Spans", "TurnTimes", "turn_times"]

Lane: TypeAlias = Literal["turn", "tool", "person", "silence"]

SILENCE = 1.0
"""Seconds without a word of the agent, while it waits for nobody, that count as silence of the model."""

MAX_OPEN = 10_000
"""Spans that have begun and not ended, and turns that run."""

MAX_SPANS = 50_000
"""Spans that are kept: the last ones. A recording of days has more than anybody looks at."""


class Span(msgspec.Struct, omit_defaults=True):
    """A stretch of time. Without an end it goes on."""

    lane: Lane
    start: float
    row: int
    """Where it begins."""
    end: float | None = None
    label: str = ""
    c: int = 1
    turn: int = 0
    """Counted from 1 over the whole file."""
    bad: bool = False


class TurnTimes(msgspec.Struct):
    """Seconds of a turn, by who was waited for."""

    turn: int
    row: int
    total: float | None
    person: float = 0.0
    tools: float = 0.0
    silence: float = 0.0
    writing: float = 0.0
    stop_reason: str = ""


class _Turn:
    def __init__(self, span: Span) -> None:
        self.span = span
        self.heard = span.start
        """When the agent last said something, or was answered."""
        self.waiting: set[Any] = set()
        """Tool calls and requests of the agent that are open."""


class Spans:
    """Makes spans of rows and their messages, one after the other."""

    def __init__(self) -> None:
        self.spans: deque[Span] = deque(maxlen=MAX_SPANS)
        self._turns: dict[tuple[int, str], _Turn] = {}
        self._open: dict[tuple[int, str, str], Span] = {}
        self._count = 0

    def take(self, row: Row, message: Any) -> None:
        """The next row, and the message that it stands for."""
        if row.kind == "req":
            self._request(row, as_dict(as_dict(message).get("params")))
        elif row.kind in ("res", "err"):
            self._response(row, as_dict(message))
        elif row.kind == "ntf" and row.update:
            self._update(row, as_dict(as_dict(as_dict(message).get("params")).get("update")))

    def _begin(self, key: tuple[int, str, str], span: Span) -> None:
        if len(self._open) >= MAX_OPEN:
            del self._open[next(iter(self._open))]
        self._open[key] = span
        self.spans.append(span)

    def _request(self, row: Row, params: dict[str, Any]) -> None:
        if row.method == "session/prompt":
            self._count += 1
            span = Span("turn", row.t, row.n, label=f"Turn {self._count}", c=row.c, turn=self._count)
            self._begin((row.c, row.dir, row.id), span)
            if len(self._turns) >= MAX_OPEN:
                del self._turns[next(iter(self._turns))]
            self._turns[row.c, row.session] = _Turn(span)
            return
        turn = self._turns.get((row.c, row.session))
        if turn is None or row.dir != "in":
            return
        self._hear(turn, row)
        turn.waiting.add(row.id)
        if row.method in ("session/request_permission", "elicitation/create"):
            label = str(as_dict(params.get("toolCall")).get("title") or params.get("message") or "")
            span = Span("person", row.t, row.n, label=label[:80], c=row.c, turn=turn.span.turn)
            self._begin((row.c, row.dir, row.id), span)

    def _response(self, row: Row, message: dict[str, Any]) -> None:
        key = (row.c, "out" if row.dir == "in" else "in", row.id)
        span = self._open.pop(key, None)
        turn = self._turns.get((row.c, row.session))
        if turn is not None and row.dir == "out":
            turn.waiting.discard(row.id)
            if not turn.waiting:
                turn.heard = row.t
        if span is None:
            return
        span.end = row.t
        if span.lane == "turn":
            reason = as_dict(message.get("result")).get("stopReason")
            span.label = f"{span.label} · {reason if reason else 'error'}"
            span.bad = row.kind == "err"
            if turn is not None and turn.span is span:
                self._hear(turn, row)
                self._end_tools(row, span)
                del self._turns[row.c, row.session]

    def _end_tools(self, row: Row, turn: Span) -> None:
        """Tool calls that the agent never closed end with the turn."""
        for key, span in list(self._open.items()):
            if span.lane == "tool" and span.turn == turn.turn and span.c == row.c:
                span.end = row.t
                del self._open[key]

    def _update(self, row: Row, update: dict[str, Any]) -> None:
        turn = self._turns.get((row.c, row.session))
        if turn is None:
            return
        self._hear(turn, row)
        if row.update not in ("tool_call", "tool_call_update"):
            return
        call = str(update.get("toolCallId"))
        key = (row.c, f"tool {row.session}", call)
        span = self._open.get(key)
        status = update.get("status")
        if span is None and status not in ("completed", "failed"):
            label = str(update.get("title") or call)[:80]
            self._begin(key, Span("tool", row.t, row.n, label=label, c=row.c, turn=turn.span.turn))
            turn.waiting.add(key)
        elif span is None and row.update == "tool_call":
            label, failed = str(update.get("title") or call)[:80], status == "failed"
            self.spans.append(
                Span("tool", row.t, row.n, end=row.t, label=label, c=row.c, turn=turn.span.turn, bad=failed)
            )
        elif span is not None and status in ("completed", "failed"):
            span.end, span.bad = row.t, status == "failed"
            del self._open[key]
            turn.waiting.discard(key)
            turn.heard = row.t

    def _hear(self, turn: _Turn, row: Row) -> None:
        """The agent said something. If nobody else was waited for, the model was silent before."""
        if row.t - turn.heard >= SILENCE and not turn.waiting:
            self.spans.append(Span("silence", turn.heard, row.n, end=row.t, c=row.c, turn=turn.span.turn))
        turn.heard = row.t


def turn_times(spans: Iterable[Span]) -> list[TurnTimes]:
    """How long each turn took, and for whom it waited. What is left is the time in which the model wrote."""
    turns: dict[int, TurnTimes] = {}
    ended: defaultdict[int, list[Span]] = defaultdict(list)
    for span in spans:
        if span.end is not None:
            ended[span.turn].append(span)
        if span.lane == "turn":
            total = None if span.end is None else span.end - span.start
            reason = span.label.partition(" · ")[2]
            turns[span.turn] = TurnTimes(span.turn, span.row, total, stop_reason=reason)
    for turn in turns.values():
        of_turn = ended[turn.turn]
        waits = _merged(of_turn, ("person",))
        busy = _merged(of_turn, ("person", "tool"))
        silent = _merged(of_turn, ("silence",))
        turn.person, turn.tools, turn.silence = waits, busy - waits, silent
        if turn.total is not None:
            turn.writing = max(0.0, turn.total - busy - silent)
    return sorted(turns.values(), key=lambda turn: turn.turn)


def _merged(spans: list[Span], lanes: tuple[Lane, ...]) -> float:
    """Seconds that are covered by the spans of these lanes, each counted once."""
    total, reached = 0.0, float("-inf")
    for span in sorted((s for s in spans if s.lane in lanes), key=lambda s: s.start):
        assert span.end is not None
        if span.end > reached:
            total += span.end - max(span.start, reached)
            reached = span.end
    return total

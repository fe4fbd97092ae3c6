"""A row for each line of a recording: what it is, what it answers, and how long that took."""

from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from acpella._plain_json import as_dict
from acpella.recording import Begin, Damaged, Item, RecordedEvent, RecordedFrame
from acpella.recording.shape import kind_of, session_of, update_kind

from .previews import event_preview, header_preview, preview_of

__all__ = ["Kind", "Row", "Rows"]

Kind: TypeAlias = Literal["req", "ntf", "res", "err", "text", "stderr", "event"]
"""Request, notification, response, error, a line that is not a message, stderr, something beside the wire."""

MAX_OPEN = 10_000
"""Requests whose answer is waited for. Without it, a peer that never answers fills the memory."""

_KINDS: dict[str, Kind] = {"request": "req", "notification": "ntf", "response": "res", "error": "err"}
_STREAMS = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call_update"}


class Row(msgspec.Struct, omit_defaults=True):
    """What a list shows of a line."""

    n: int
    """Counted from 1 over the whole file."""
    t: float
    """Seconds since the first connection was opened."""
    kind: Kind
    dir: str = ""
    """As the client sees it: `in` came from the agent, `out` went to it."""
    c: int = 1
    """The connection, counted from 1."""
    method: str = ""
    """Of a response: the method that it answers."""
    update: str = ""
    session: str = ""
    id: str = ""
    pair: int = 0
    """Of a response: the row of its request."""
    took: float = -1.0
    """Of a response: seconds since its request."""
    size: int = 0
    """Bytes of the message."""
    preview: str = ""
    fold: str = ""
    """Rows that follow each other with the same value are pieces of one thing."""


class Rows:
    """Makes rows of what a recording says, line after line. Only open requests are remembered."""

    def __init__(self) -> None:
        self._count = 0
        self._connection = 0
        self._first: datetime | None = None
        self._offset = 0.0
        """Seconds from the first connection of the file to the current one."""
        self._time = 0.0
        """The time of the last row, in seconds since its connection began."""
        self._open: dict[tuple[str, str], Row] = {}

    @property
    def open_requests(self) -> list[Row]:
        """Requests that nobody has answered."""
        return list(self._open.values())

    def expect(self, request: Row) -> None:
        """Add an open request that was seen elsewhere."""
        self._open[request.dir, request.id] = request

    def take(self, item: Item) -> Row:
        """The row of the next line."""
        self._count += 1
        if isinstance(item, Begin):
            self._connection += 1
            self._open.clear()
            self._set_offset(item.info.get("started"))
            return self._row(0.0, "event", method="connection", preview=header_preview(item.info))
        if isinstance(item, RecordedEvent):
            return self._row(item.time, "event", method=item.name, preview=event_preview(item))
        if isinstance(item, Damaged):
            return self._row(
                self._time, "event", method="damaged", preview=f"line {item.line}: {item.reason}"
            )
        return self._frame(item)

    def _row(self, time: float, kind: Kind, **fields: Any) -> Row:
        self._time = time
        return Row(self._count, round(self._offset + time, 6), kind, c=max(self._connection, 1), **fields)

    def _set_offset(self, started: Any) -> None:
        """Times begin anew with each connection; the rows go on."""
        try:
            moment = datetime.fromisoformat(started)
        except (TypeError, ValueError):
            return
        self._first = self._first or moment
        self._offset = max(0.0, (moment - self._first).total_seconds())

    def _frame(self, frame: RecordedFrame) -> Row:
        message = frame.message
        if not isinstance(message, dict) or (kind := _KINDS.get(kind_of(message))) is None:
            return self._noise(frame)
        fields = as_dict(message)
        row = self._row(
            frame.time,
            kind,
            dir=frame.direction,
            update=update_kind(message),
            session=session_of(message) or "",
            size=len(msgspec.json.encode(message)),
        )
        if kind in ("req", "ntf"):
            row.method = fields["method"]
            if row.update in _STREAMS:
                update = as_dict(as_dict(fields.get("params")).get("update"))
                part = update.get("toolCallId") or update.get("messageId") or ""
                row.fold = f"{row.session} {row.update} {part}"
        if kind != "ntf":
            row.id = _id_text(fields.get("id"))
            self._join(row)
        row.preview = preview_of(row.method, kind, fields)
        return row

    def _join(self, row: Row) -> None:
        """Remember a request, or find that of a response."""
        if row.kind == "req":
            if len(self._open) >= MAX_OPEN:
                del self._open[next(iter(self._open))]
            self._open[row.dir, row.id] = row
            return
        request = self._open.pop(("out" if row.dir == "in" else "in", row.id), None)
        if request is not None:
            row.method, row.pair, row.took = request.method, request.n, max(0.0, row.t - request.t)
            row.session = row.session or request.session

    def _noise(self, frame: RecordedFrame) -> Row:
        message = frame.message
        if isinstance(message, bytes):
            text, size = f"{len(message)} bytes that are not text", len(message)
        else:
            text = message if isinstance(message, str) else msgspec.json.encode(message).decode()
            size = len(text.encode("utf-8", "surrogatepass"))
        kind: Kind = "stderr" if frame.direction == "err" else "text"
        return self._row(
            frame.time,
            kind,
            dir="in" if kind == "stderr" else frame.direction,
            size=size,
            preview=" ".join(text.split())[:200],
            fold="stderr" if kind == "stderr" else "",
        )


def _id_text(value: Any) -> str:
    """1 and "1" are different ids."""
    return msgspec.json.encode(value).decode()

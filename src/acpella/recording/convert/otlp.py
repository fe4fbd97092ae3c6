"""Spans for tools that read OpenTelemetry: one for each request, with tool calls below their turn."""

import hashlib
from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from acpella._plain_json import as_dict

from ..format import Begin, Item, RecordedFrame
from ..shape import kind_of, session_of, update_kind
from .jsonl import seconds

__all__ = ["write"]


def write(items: Iterable[Item], out: TextIO) -> None:
    from acpella._version import __version__

    spans = _Spans()
    for item in items:
        if isinstance(item, Begin):
            spans.begin(item)
        elif isinstance(item, RecordedFrame):
            spans.take(item)
    scope = {"name": "acpella", "version": __version__}
    resource = {"attributes": [_attribute("service.name", "acp")]}
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans.all}]}]}
    out.write(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n")


class _Spans:
    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._trace = _name(32, "0")
        self._base = 0.0
        self._open: dict[tuple[str, str], dict[str, Any]] = {}
        self._turns: dict[str | None, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}

    def begin(self, item: Begin) -> None:
        self._base = seconds(item.info.get("started"))
        self._trace = _name(32, item.info.get("id", item.line))
        self._open, self._turns, self._calls = {}, {}, {}

    def take(self, frame: RecordedFrame) -> None:
        kind = kind_of(frame.message)
        message = as_dict(frame.message)
        if kind == "request":
            session = session_of(message)
            parent = self._turns.get(session) if frame.direction == "in" else None
            span = self._start(str(message["method"]), frame, parent, session=session)
            self._open[frame.direction, repr(message["id"])] = span
            if message["method"] == "session/prompt":
                self._turns[session] = span
        elif kind in ("response", "error"):
            asker = "out" if frame.direction == "in" else "in"
            if (span := self._open.pop((asker, repr(message["id"])), None)) is not None:
                stop = as_dict(message.get("result")).get("stopReason")
                self._end(span, frame, failed=kind == "error", stop=stop)
        elif update_kind(message).startswith("tool_call"):
            self._call(as_dict(message["params"]["update"]), frame, session_of(message))

    def _call(self, update: dict[str, Any], frame: RecordedFrame, session: str | None) -> None:
        key = str(update.get("toolCallId"))
        span = self._calls.get(key)
        if span is None:
            title = f"tool {update.get('kind') or update.get('title') or key}"
            span = self._calls[key] = self._start(title, frame, self._turns.get(session), session=session)
        if update.get("status") in ("completed", "failed"):
            self._end(span, frame, failed=update["status"] == "failed")

    def _start(
        self, name: str, frame: RecordedFrame, parent: dict[str, Any] | None, *, session: str | None
    ) -> dict[str, Any]:
        span: dict[str, Any] = {
            "traceId": self._trace,
            "spanId": _name(16, self._trace, frame.line, name),
            "name": name,
            "kind": 3 if frame.direction == "out" else 2,
            "startTimeUnixNano": self._at(frame),
            "endTimeUnixNano": self._at(frame),
            "attributes": [_attribute("session.id", session)] if session else [],
        }
        if parent is not None:
            span["parentSpanId"] = parent["spanId"]
        self.all.append(span)
        return span

    def _end(self, span: dict[str, Any], frame: RecordedFrame, *, failed: bool, stop: object = None) -> None:
        span["endTimeUnixNano"] = self._at(frame)
        span["status"] = {"code": 2 if failed else 1}
        if isinstance(stop, str):
            span["attributes"].append(_attribute("acp.stop_reason", stop))

    def _at(self, frame: RecordedFrame) -> str:
        return str(round((self._base + frame.time) * 1_000_000_000))


def _name(length: int, *parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:length]


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}

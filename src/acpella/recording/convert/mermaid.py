"""A sequence diagram for Markdown pages. Runs of text are one arrow."""

import re
from collections.abc import Iterable
from typing import Any, TextIO

from acpella._plain_json import as_dict

from ..format import Begin, Item, RecordedEvent, RecordedFrame
from ..shape import kind_of, update_kind

__all__ = ["write"]

SHOWN = 60
"""The most characters of a text on an arrow."""

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that a terminal obeys, or that make a text look like another one."""


def write(items: Iterable[Item], out: TextIO) -> None:
    out.write("sequenceDiagram\n    participant C as Client\n    participant A as Agent\n")
    methods: dict[tuple[str, str], str] = {}
    run: tuple[str, int, str] | None = None  # kind of update, how many, the text so far
    for item in items:
        if isinstance(item, RecordedFrame) and (kind := update_kind(item.message)).endswith("_chunk"):
            text = str(as_dict(as_dict(item.message["params"]["update"]).get("content")).get("text", ""))
            same = run is not None and run[0] == kind
            if not same:
                _end_run(run, out)
            run = (
                (kind, run[1] + 1, (run[2] + text)[: SHOWN * 2])
                if run is not None and same
                else (kind, 1, text)
            )
            continue
        _end_run(run, out)
        run = None
        if isinstance(item, Begin):
            out.write(f"    Note over C,A: {_clean(str(item.info.get('started', 'a connection')))}\n")
        elif isinstance(item, RecordedEvent) and item.name == "end":
            out.write("    Note over C,A: the end\n")
        elif isinstance(item, RecordedFrame):
            _arrow(item, methods, out)
    _end_run(run, out)


def _arrow(frame: RecordedFrame, methods: dict[tuple[str, str], str], out: TextIO) -> None:
    kind = kind_of(frame.message)
    message = as_dict(frame.message)
    way = "C->>A" if frame.direction == "out" else "A->>C"
    if frame.direction == "err":
        out.write(f"    Note right of A: stderr: {_clean(str(frame.message))}\n")
    elif kind == "noise":
        out.write(f"    {way}: {_clean(str(frame.message))}\n")
    elif kind in ("request", "notification"):
        if kind == "request":
            methods[frame.direction, repr(message["id"])] = str(message["method"])
        out.write(f"    {way}: {_clean(_said(message))}\n")
    else:
        asker = "out" if frame.direction == "in" else "in"
        method = methods.pop((asker, repr(message["id"])), "?")
        result = as_dict(message.get("result"))
        outcome: Any = result.get("stopReason") or as_dict(message.get("error")).get("message") or ""
        out.write(f"    {way.replace('->>', '-->>')}: {_clean(f'{method} {outcome}'.strip())}\n")


def _said(message: dict[str, Any]) -> str:
    params = as_dict(message.get("params"))
    update = as_dict(params.get("update"))
    if update:
        what = update.get("title") or update.get("status") or ""
        return f"{update.get('sessionUpdate')} {what}".strip()
    if isinstance(params.get("prompt"), list):
        blocks: list[Any] = params["prompt"]
        texts = [str(as_dict(block).get("text", "")) for block in blocks]
        return f"{message['method']} {' '.join(texts)}".strip()
    detail = params.get("path") or params.get("command") or ""
    return f"{message['method']} {detail}".strip()


def _end_run(run: tuple[str, int, str] | None, out: TextIO) -> None:
    if run is not None:
        kind, count, text = run
        times = f" ({count})" if count > 1 else ""
        out.write(f"    A->>C: {_clean(kind)}{times} {_clean(text)}\n")


def _clean(text: str) -> str:
    """The text in one line, without characters that mean something to Mermaid."""
    line = _UNSEEN.sub("\ufffd", " ".join(text.split()))
    line = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
    return line.replace("#", "＃").replace(";", "，").replace("<", "‹").replace(">", "›") or " "

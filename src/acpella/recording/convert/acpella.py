"""Our own recordings."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from .. import reader
from ..format import FORMAT, Begin, Damaged, Item, RecordedEvent, RecordedFrame, new_header

__all__ = ["read", "write"]


def read(path: Path) -> Iterator[Item]:
    """The items of a recording in any version of the format."""
    yield from reader.read(path)


def write(items: Iterable[Item], out: TextIO) -> None:
    """Write format 2, with the lines numbered anew."""
    number = 0
    began = False
    for item in items:
        if isinstance(item, Damaged):
            continue
        if isinstance(item, Begin):
            began, number = True, 0
            agent = item.info.get("agent")
            agent_info = {"agent": {"name": agent}} if isinstance(agent, str) else {}  # format 1
            _put(
                out,
                {
                    **new_header("converted", {}, redacted="unknown"),
                    **item.info,
                    **agent_info,
                    "acpella": FORMAT,
                },
            )
            continue
        if not began:
            began = True
            _put(out, new_header("converted", {}, redacted="unknown"))
        if isinstance(item, RecordedEvent):
            number += item.name != "end"
            counted = {} if item.name == "end" else {"n": number}
            _put(out, {**item.info, **counted})
        else:
            number += 1
            _put(out, {"n": number, "t": item.time, "dir": item.direction, **_body(item), **item.info})


def _body(frame: RecordedFrame) -> dict[str, Any]:
    if isinstance(frame.message, bytes):
        import base64

        return {"b64": base64.b64encode(frame.message).decode()}
    if isinstance(frame.message, str):
        return {"text": frame.message}
    return {"msg": frame.message} | ({"raw": frame.raw} if frame.raw is not None else {})


def _put(out: TextIO, value: Any) -> None:
    out.write(msgspec.json.encode(value).decode() + "\n")

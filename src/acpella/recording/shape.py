"""Compares messages that different programs sent at different times."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from acpella._plain_json import as_dict

from .media import cut_media
from .redaction import Redactor

__all__ = [
    "Difference",
    "differences",
    "kind_of",
    "session_of",
    "shape",
    "update_kind",
    "without_volatile",
]

VOLATILE = frozenset(
    {
        "_meta",
        "sessionId",
        "terminalId",
        "requestId",
        "messageId",
        "toolCallId",
        "elicitationId",
        "cwd",
        "env",
    }
)
"""Fields that differ from run to run although they mean the same."""

SHOWN = 200
"""Characters of a value that are shown."""

_SECRET = re.compile(r"<secret \d+>")
_ABSENT = object()


class Difference(NamedTuple):
    """A field that two messages do not agree on."""

    path: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.path}: {self.left} ≠ {self.right}"


def kind_of(message: Any) -> str:
    """`request`, `notification`, `response`, `error`, or `noise`."""
    fields = as_dict(message)
    if isinstance(fields.get("method"), str):
        return "notification" if fields.get("id") is None else "request"
    if "id" in fields and fields.get("error") is not None:
        return "error"
    return "response" if "id" in fields and "result" in fields else "noise"


def session_of(message: Any) -> str | None:
    """The session that a message names, if it names one."""
    for part in ("params", "result"):
        session = as_dict(as_dict(message).get(part)).get("sessionId")
        if isinstance(session, str):
            return session
    return None


def update_kind(message: Any) -> str:
    """The `sessionUpdate` of a notification; empty if it has none."""
    kind = as_dict(as_dict(as_dict(message).get("params")).get("update")).get("sessionUpdate")
    return kind if isinstance(kind, str) else ""


def without_volatile(value: Any) -> Any:
    """The same JSON without what differs from run to run; secrets and media are replaced by placeholders."""
    return _strip(Redactor().message(cut_media(value)[0]))


def _strip(value: Any) -> Any:
    if isinstance(value, str):
        return _SECRET.sub("<secret>", value)
    if isinstance(value, list):
        return [_strip(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _strip(item) for name, item in fields.items() if name not in VOLATILE}
    return value


def shape(value: Any) -> bytes:
    """Bytes that are equal for messages with the same meaning."""
    return msgspec.json.encode(without_volatile(value), order="deterministic")


def differences(left: Any, right: Any) -> list[Difference]:
    """The fields that differ, by their path."""
    return list(_compare("", left, right))


def _compare(path: str, left: Any, right: Any) -> Iterator[Difference]:
    if isinstance(left, dict) and isinstance(right, dict):
        one, other = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        for name in [*one, *(name for name in other if name not in one)]:
            yield from _compare(
                f"{path}.{name}" if path else name, one.get(name, _ABSENT), other.get(name, _ABSENT)
            )
    elif isinstance(left, list) and isinstance(right, list):
        ones, others = cast("list[Any]", left), cast("list[Any]", right)
        for place in range(max(len(ones), len(others))):
            yield from _compare(
                f"{path}[{place}]",
                ones[place] if place < len(ones) else _ABSENT,
                others[place] if place < len(others) else _ABSENT,
            )
    elif left is not right and left != right:
        yield Difference(path or "all of it", _shown(left), _shown(right))


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"

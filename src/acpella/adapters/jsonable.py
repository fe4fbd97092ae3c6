"""Any value of a framework as JSON: for raw inputs and outputs of tool calls."""

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, cast

__all__ = ["as_text", "plain", "shortened", "to_json"]

DEEPEST = 20
"""Levels of nesting; deeper values become text. Without a limit, a value that contains itself never ends."""

LONGEST = 64 * 1024
"""The most characters of one string; more would slow down every load of the session."""


def to_json(value: Any, *, depth: int = 0) -> Any:
    """The value as plain JSON data; what has no form in JSON becomes its text."""
    if value is None or isinstance(value, bool | int | float):
        return value if value == value and value not in (float("inf"), float("-inf")) else str(value)
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return shortened(base64.b64encode(bytes(cast("bytes", value))).decode())
    if depth >= DEEPEST:
        return shortened(str(value))
    if isinstance(value, Mapping):
        table = cast("Mapping[Any, Any]", value)
        return {str(key): to_json(item, depth=depth + 1) for key, item in table.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item, depth=depth + 1) for item in cast("Iterable[Any]", value)]
    dump = getattr(value, "model_dump", None)  # pydantic
    if callable(dump) and not isinstance(value, type):
        try:
            return to_json(dump(mode="json"), depth=depth + 1)
        except Exception:  # a model class of the user may raise anything
            return shortened(str(value))
    if dataclasses.is_dataclass(cast("object", value)) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: to_json(getattr(value, name), depth=depth + 1) for name in names}
    return shortened(str(value))


def as_text(value: Any) -> str:
    """The value for people: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return shortened(value)
    if value is None:
        return ""
    import msgspec

    return msgspec.json.encode(to_json(value)).decode()


def plain(text: str) -> str:
    """The text as a plain `str`: frameworks have subclasses, which cannot be put on the wire."""
    return text if type(text) is str else str.__str__(text)


def shortened(text: str, limit: int = LONGEST) -> str:
    """The beginning of a text that is too long, and how much is missing."""
    if len(text) <= limit:
        return plain(text)
    return f"{text[:limit]}\n[cut off: {len(text) - limit} more characters]"

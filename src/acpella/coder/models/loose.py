"""JSON as servers of many makers send it and take it."""

import json
from typing import Any, cast

import msgspec

__all__ = ["encode", "read_arguments"]


def encode(value: Any) -> bytes:
    """JSON; half characters (from files in no known encoding) become question marks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def read_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments of a tool use, and why they cannot be read if they cannot."""
    if not text.strip():
        return {}, ""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        try:
            value = json.loads(text, strict=False)  # small models write bare line breaks into strings
            msgspec.json.encode(value)
        except (ValueError, RecursionError):
            return {}, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"the arguments must be a JSON object, not {type(value).__name__}"
    return cast("dict[str, Any]", value), ""

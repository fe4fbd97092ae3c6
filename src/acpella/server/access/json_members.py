"""Reads the members of JSON objects without changing a byte, and refuses keys that occur twice."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from acpella.rpc.message import UNREADABLE

__all__ = ["MAX_MEMBERS", "Doubtful", "items", "members", "near", "value"]

MAX_MEMBERS = 1000
"""Members of an object, or items of a list, that are looked at. Without it, one message could keep the server
busy for seconds."""

_KEY = re.compile(rb'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_NEXT = re.compile(rb"[ \t\r\n]*([,}])")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])
_key = msgspec.json.Decoder(str)


class Doubtful(Exception):
    """Another reader might find something else in it."""


def members(data: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object, whose values are left as they are.

    Of two equal keys some readers take the first and others the last, so a key that occurs twice is refused:
    the decoder keeps only the last one, and the walk over the bytes finds the difference.

    Raises:
        Doubtful: it is not an object, or not the same one for every reader.
    """
    try:
        by_name = _members.decode(data)
    except UNREADABLE:
        raise Doubtful("this is not an object") from None
    if not by_name:
        return by_name
    if len(by_name) > MAX_MEMBERS:
        raise Doubtful(f"an object has more than {MAX_MEMBERS} members")
    seen = 0
    at = data.index(b"{") + 1
    while True:
        name = _KEY.match(data, at)
        if name is None:
            raise Doubtful("a key cannot be read")
        try:
            raw = bytes(by_name[_key.decode(name[1])])
        except (*UNREADABLE, KeyError):
            raise Doubtful("a key cannot be read") from None
        seen += 1
        end = _NEXT.match(data, name.end() + len(raw))
        # the end of a JSON value follows from its bytes, so equal bytes are the same value
        if not data.startswith(raw, name.end()) or end is None or seen > len(by_name):
            raise Doubtful("a key stands twice")
        if end[1] == b"}":
            break
        at = end.end()
    if seen != len(by_name):
        raise Doubtful("a key stands twice")
    return by_name


def items(data: bytes | msgspec.Raw) -> list[bytes]:
    """What a list has in it. Raises `Doubtful`."""
    try:
        raw_items = _items.decode(data)
    except UNREADABLE:
        raise Doubtful("this is not a list") from None
    return [bytes(item) for item in raw_items]


def value(raw: bytes | msgspec.Raw) -> Any:
    """The decoded JSON; for what cannot be read, an object that passes no check of its type."""
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        return Doubtful()


def near(keys: Iterable[str], names: tuple[str, ...]) -> str | None:
    """A key that lenient readers take for one of these names, although it is spelt otherwise."""
    canonical = _by_fold(names)
    return next((key for key in keys if canonical.get(_folded(key), key) != key), None)


@cache
def _by_fold(names: tuple[str, ...]) -> dict[str, str]:
    return {_folded(name): name for name in names}


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").casefold()

"""Looks for what still seems to be a secret, or tells who somebody is, before a recording is shared."""

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from acpella._plain_json import as_dict
from acpella._redact import redact

from .format import Damaged, Frame
from .reader import read
from .redaction import entropy
from .shape import session_of, update_kind

__all__ = ["Finding", "scan"]

JOINED = 16 * 1024
"""Characters of a streamed answer that are looked at together: a secret may have come in pieces."""

_RANDOM = re.compile(r"[A-Za-z0-9+_=-]{20,}")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_HOME = re.compile(r"(?:/home|/Users)/[^/\s\"'<>:;,]+|[A-Za-z]:\\Users\\[^\\\s\"'<>:;,]+")
_HIDDEN = re.compile(r"<(?:secret \d+|media [^>]*|cwd[^>]*|home|user|host|session \d+)>|\*\*\*")
_IDS = re.compile(r"(?:^|[a-z])(?:[iI]d|ID)$")


class Finding(NamedTuple):
    """Something to look at."""

    line: int
    place: str
    """The path of the field."""
    why: str
    excerpt: str
    """Its beginning; a secret is not shown whole."""


def scan(path: str | os.PathLike[str]) -> Iterator[Finding]:
    """What might be secret in a recording, line by line.

    Raises:
        OSError: the file cannot be read.
    """
    streamed: dict[str | None, str] = {}
    for item in read(path):
        if isinstance(item, Damaged):
            yield Finding(item.line, "", "cannot be read, so nobody knows what it holds", item.reason[:80])
        elif isinstance(item, Frame):
            found = list(_look(item.line, item.message, ""))
            yield from found
            if item.raw is not None:
                yield from _look(item.line, item.raw, "raw")
            yield from () if found else _look_together(item, streamed)


def _look_together(frame: Frame, streamed: dict[str | None, str]) -> Iterator[Finding]:
    """The pieces of an answer, put together."""
    if not update_kind(frame.message).endswith("_chunk"):
        return
    session = session_of(frame.message)
    text = as_dict(as_dict(as_dict(frame.message["params"]).get("update")).get("content")).get("text")
    if isinstance(text, str):
        before = streamed.get(session, "")[-JOINED:]
        joined = streamed[session] = before + text
        known = set(_secrets(before))
        for why, secret in _secrets(joined):
            if (why, secret) not in known and secret not in text:
                yield Finding(frame.line, "several chunks", why, _excerpt(secret))
                streamed[session] = ""


def _look(line: int, value: Any, path: str) -> Iterator[Finding]:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        for why, secret in _secrets(value):
            yield Finding(line, path, why, _excerpt(secret))
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            yield from _look(line, item, f"{path}[{place}]")
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        for name, item in fields.items():
            if name in ("data", "blob") and "mimeType" in fields:
                continue  # bytes, which look random to everybody
            if isinstance(item, str) and _IDS.search(name):
                continue  # made to be unlike any other
            yield from _look(line, item, f"{path}.{name}" if path else name)


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    found: list[str] = []
    redact(text, lambda secret: found.append(secret) or secret)
    for secret in found:
        if not _HIDDEN.search(secret):
            yield "looks like a secret", secret
    rest = _HIDDEN.sub(" ", text)
    for match in _RANDOM.finditer(rest):
        word = match[0]
        mixed = re.search(r"\d", word) and re.search(r"[a-z]", word) and re.search(r"[A-Z]", word)
        if mixed and entropy(word) >= 4.0 and word not in found:
            yield "looks random", word
    yield from (("an address of a person", match[0]) for match in _EMAIL.finditer(rest))
    yield from (("a home directory", match[0]) for match in _HOME.finditer(rest))


def _excerpt(secret: str) -> str:
    return secret if len(secret) < 8 and "@" in secret else f"{secret[:4]}… ({len(secret)} characters)"

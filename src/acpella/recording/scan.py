"""Looks for what still seems to be a secret, or reveals who somebody is, before a recording is shared."""

import os
import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from acpella._plain_json import as_dict
from acpella._redact import redact

from .format import Damaged, RecordedFrame
from .reader import read_any
from .redaction import entropy
from .shape import session_of, update_kind

__all__ = ["SecretFinding", "scan"]

JOINED = 16 * 1024
"""Characters of a streamed answer that are looked at together: a secret may have come in pieces."""

LOOKED_AT = 4 * 1024
"""New characters after which the search is repeated. After every piece, a long recording would take hours."""

_RANDOM = re.compile(r"[A-Za-z0-9+_=-]{20,}")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_HOME = re.compile(r"(?:/home|/Users)/[^/\s\"'<>:;,]+|[A-Za-z]:\\Users\\[^\\\s\"'<>:;,]+")
_HOMES = ("/home/", "/Users/", ":\\Users\\")
_HIDDEN = re.compile(r"<(?:secret \d+|media [^>]*|cwd[^>]*|home|user|host|session \d+)>|\*\*\*")
_IDS = re.compile(r"(?:^|[a-z])(?:[iI]d|ID)$")


class SecretFinding(NamedTuple):
    """Something that may be a secret."""

    line: int
    place: str
    """The path of the field."""
    why: str
    excerpt: str
    """The beginning of the value; a secret is not shown whole."""


def scan(path: str | os.PathLike[str]) -> Iterator[SecretFinding]:
    """What might be secret in a recording, line by line.

    Raises:
        ValueError: no line of it can be read.
        OSError: the file cannot be read.
    """
    streams: dict[str | None, _Stream] = {}
    for item in read_any(path):
        if isinstance(item, Damaged):
            yield SecretFinding(
                item.line, "", "cannot be read, so nobody knows what it holds", item.reason[:80]
            )
        elif isinstance(item, RecordedFrame):
            findings = list(_look(item.line, item.message, ""))
            yield from findings
            if item.raw is not None:
                yield from _look(item.line, item.raw, "raw")
            if not findings and update_kind(item.message).endswith("_chunk"):
                content = as_dict(as_dict(as_dict(item.message["params"]).get("update")).get("content"))
                if isinstance(text := content.get("text"), str):
                    stream = streams.setdefault(session_of(item.message), _Stream())
                    yield from stream.add(text, item.line)
    for stream in streams.values():
        yield from stream.look()


class _Stream:
    """The last pieces of a streamed answer, put together."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[str, int]] = deque()  # with their lines
        self._size = 0
        self._new = 0
        self._seen: set[tuple[str, str]] = set()

    def add(self, text: str, line: int) -> Iterator[SecretFinding]:
        """Take a piece."""
        self._pieces.append((text, line))
        self._size += len(text)
        self._new += len(text)
        if self._new >= LOOKED_AT:
            yield from self.look()
            while self._size > JOINED:
                self._size -= len(self._pieces.popleft()[0])

    def look(self) -> Iterator[SecretFinding]:
        """Secrets that are spread over several pieces, and whole in none of them."""
        self._new = 0
        joined = "".join(text for text, _ in self._pieces)
        before, self._seen = self._seen, set(_secrets(joined))
        for why, secret in sorted(self._seen - before):
            if not any(secret in text for text, _ in self._pieces):
                yield SecretFinding(self._line_of(joined, secret), "several chunks", why, _excerpt(secret))

    def _line_of(self, joined: str, secret: str) -> int:
        """The line of the piece in which the secret ends."""
        end = joined.find(secret) + len(secret)
        for text, line in self._pieces:
            end -= len(text)
            if end <= 0:
                return line
        return self._pieces[-1][1]


def _look(line: int, value: Any, path: str) -> Iterator[SecretFinding]:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        for why, secret in _secrets(value):
            yield SecretFinding(line, path, why, _excerpt(secret))
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            yield from _look(line, item, f"{path}[{place}]")
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        for name, item in fields.items():
            if name in ("data", "blob") and "mimeType" in fields:
                continue  # binary data, which always look random
            if isinstance(item, str) and _IDS.search(name):
                continue  # ids are meant to look random
            yield from _look(line, item, f"{path}.{name}" if path else name)


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    secrets: list[str] = []
    redact(text, lambda secret: secrets.append(secret) or secret)
    for secret in secrets:
        if not _HIDDEN.search(secret):
            yield "looks like a secret", secret
    rest = _HIDDEN.sub(" ", text)
    for match in _RANDOM.finditer(rest):
        word = match[0]
        mixed = re.search(r"\d", word) and re.search(r"[a-z]", word) and re.search(r"[A-Z]", word)
        if mixed and entropy(word) >= 4.0 and word not in secrets:
            yield "looks random", word
    if "@" in rest:
        yield from (("an address of a person", match[0]) for match in _EMAIL.finditer(rest))
    if any(folder in rest for folder in _HOMES):
        yield from (("a home directory", match[0]) for match in _HOME.finditer(rest))


def _excerpt(secret: str) -> str:
    return secret if len(secret) < 8 and "@" in secret else f"{secret[:4]}… ({len(secret)} characters)"

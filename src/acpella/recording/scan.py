"""Looks for what still seems to be a secret, or reveals who somebody is, before a recording is shared."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from .anonymizing import HOMES, own_homes, spellings
from .format import Damaged, RecordedFrame
from .long_texts import redact_long
from .reader import read_any
from .redaction import entropy
from .streamed_secrets import OPEN_STREAMS, piece_of

__all__ = ["SecretFinding", "scan"]

JOINED = 16 * 1024
"""Characters of a streamed answer that are looked at together: a secret may have come in pieces."""

LOOKED_AT = 4 * 1024
"""New characters after which the search is repeated. After every piece, a long recording would take hours."""

_RANDOM = re.compile(r"[A-Za-z0-9+_=-]{20,}")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_HOMES = ("/home/", "/Users/", ":\\Users\\", "%2Fhome", "%2fhome", "%2FUsers", "%2fUsers")
_REST = re.compile(r"<secret \d+>(?P<rest>(?=[A-Za-z_-]*\d)[\w-]{4,})")
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
    looking = _Looking()
    for item in read_any(path):
        if isinstance(item, Damaged):
            yield SecretFinding(
                item.line, "", "cannot be read, so nobody knows what it holds", item.reason[:80]
            )
        elif isinstance(item, RecordedFrame):
            yield from looking.at(item)
    yield from looking.end()


class _Looking:
    """Looks at each frame, and at streamed texts as a whole."""

    def __init__(self) -> None:
        homes = sorted({each for home in own_homes() for each in spellings(home)}, key=len, reverse=True)
        self._home = re.compile("|".join(rf"{re.escape(home)}(?![\w.-])" for home in homes) or r"(?!)")
        self._streams: dict[tuple[str, ...], _Stream] = {}

    def at(self, frame: RecordedFrame) -> Iterator[SecretFinding]:
        """What is in a frame, and what it completes."""
        is_line = isinstance(frame.message, str | bytes)
        place = "" if not is_line else "stderr" if frame.direction == "err" else "not a message"
        findings = list(self._look(frame.line, frame.message, place))
        yield from (finding for finding, _ in findings)
        if frame.raw is not None:
            yield from (finding for finding, _ in self._look(frame.line, frame.raw, "raw"))
        if isinstance(frame.message, str):
            key, text = (frame.direction,), f"{frame.message}\n"
        elif (piece := piece_of(frame.message)) is not None:
            key, text = (frame.direction, *piece.stream), piece.text
        else:
            return
        if key not in self._streams:
            if len(self._streams) >= OPEN_STREAMS:  # a recording of many sessions would fill the memory
                yield from self._streams.pop(next(iter(self._streams))).look()
            self._streams[key] = _Stream(self._secrets, "several lines" if is_line else "several chunks")
        yield from self._streams[key].add(text, frame.line, {secret for _, secret in findings})

    def end(self) -> Iterator[SecretFinding]:
        """What is left of the streams."""
        for stream in self._streams.values():
            yield from stream.look()

    def _look(self, line: int, value: Any, path: str) -> Iterator[tuple[SecretFinding, str]]:
        """Each with the value that is not shown whole."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str):
            for why, secret in self._secrets(value):
                yield SecretFinding(line, path, why, _excerpt(secret)), secret
        elif isinstance(value, list):
            for place, item in enumerate(cast("list[Any]", value)):
                yield from self._look(line, item, f"{path}[{place}]")
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            for name, item in fields.items():
                if name in ("data", "blob") and "mimeType" in fields:
                    continue  # binary data, which always look random
                if isinstance(item, str) and _IDS.search(name):
                    continue  # ids are meant to look random
                yield from self._look(line, item, f"{path}.{name}" if path else name)

    def _secrets(self, text: str) -> Iterator[tuple[str, str]]:
        secrets: list[str] = []
        without_names = _HIDDEN.sub("***", text)  # of one of our names, a rule may take a part
        redact_long(without_names, lambda secret: secrets.append(secret) or secret)
        for secret in secrets:
            if secret.strip() and not _HIDDEN.search(secret):
                yield "looks like a secret", secret
        yield from (("may be the rest of a secret", match["rest"]) for match in _REST.finditer(text))
        rest = _HIDDEN.sub(" ", text)
        for match in _RANDOM.finditer(rest):
            word = match[0]
            mixed = re.search(r"\d", word) and re.search(r"[a-z]", word) and re.search(r"[A-Z]", word)
            if mixed and entropy(word) >= 4.0 and word not in secrets:
                yield "looks random", word
        if "@" in rest:
            yield from (("an address of a person", match[0]) for match in _EMAIL.finditer(rest))
        if any(folder in rest for folder in _HOMES):
            yield from (("a home directory", match[0]) for match in HOMES.finditer(rest))
        for match in self._home.finditer(rest):
            if not HOMES.match(match[0]):
                yield "a home directory", match[0]


class _Stream:
    """The last pieces of a streamed text, put together."""

    def __init__(self, find: Callable[[str], Iterator[tuple[str, str]]], place: str) -> None:
        self._find = find
        self._place = place
        self._pieces: deque[tuple[str, int, set[str]]] = deque()  # with lines and findings
        self._size = 0
        self._new = 0
        self._seen: set[tuple[str, str]] = set()

    def add(self, text: str, line: int, secrets: set[str]) -> Iterator[SecretFinding]:
        """Take a piece, and what was found in it alone."""
        self._pieces.append((text, line, secrets))
        self._size += len(text)
        self._new += len(text)
        if self._new >= LOOKED_AT:
            yield from self.look()
            while self._size > JOINED:
                self._size -= len(self._pieces.popleft()[0])

    def look(self) -> Iterator[SecretFinding]:
        """Secrets that are spread over several pieces, or seen to be one by the piece before."""
        self._new = 0
        joined = "".join(text for text, _, _ in self._pieces)
        before, self._seen = self._seen, set(self._find(joined))
        for why, secret in sorted(self._seen - before):
            if not any(part in secret for _, _, parts in self._pieces for part in parts):
                yield SecretFinding(self._line_of(joined, secret), self._place, why, _excerpt(secret))

    def _line_of(self, joined: str, secret: str) -> int:
        """The line of the piece in which the secret ends."""
        end = joined.find(secret) + len(secret)
        for text, line, _ in self._pieces:
            end -= len(text)
            if end <= 0:
                return line
        return self._pieces[-1][1]


def _excerpt(secret: str) -> str:
    secret = secret.strip()
    return secret if len(secret) < 8 and "@" in secret else f"{secret[:4]}… ({len(secret)} characters)"

"""Finds text in the lines of a recording, quickly: most lines are never decoded.

What counts is the text of a message as a person sees it, in lower case (`searchable`). A word of plain
characters looks the same in the file, so the file is searched in large blocks. Only where that is not certain
is a line decoded.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from acpella._plain_json import as_dict

__all__ = ["has_words", "rows_with", "searchable"]

BLOCK = 4 * 1024 * 1024
"""Bytes that are looked at together."""

_PLAIN = re.compile(r"[a-z0-9_./-]+(?: [a-z0-9_./-]+)*")
"""Words that JSON writes in one way only, escapes aside."""

_ODD = (b"\\u002", b"\\u003", b"\\u004", b"\\u005", b"\\u006", b"\\u007", b"\\/", b"\\u212a", b"\\u0130")
_ODD_LETTERS = ("\u212a".encode(), "\u0130".encode())
"""Escapes of plain characters, and letters whose lower case is a plain character."""

_BEGIN = b'{"n":'
_MESSAGE = b'"msg":'
_ENVELOPE = 120
"""Bytes before the message of a line."""

_MORE = (b'"raw":', b'"cut":')
"""What may stand behind the message."""


def searchable(line: bytes) -> str:
    """The text of a line as a person would search in it: characters, not their escapes."""
    try:
        entry = as_dict(msgspec.json.decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return line.decode("utf-8", "replace").lower()
    body = entry.get("msg", entry.get("text", entry))
    text = body if isinstance(body, str) else msgspec.json.encode(body).decode()
    return text.lower()


def rows_with(file: BinaryIO, offsets: Sequence[int], end: int, word: str, *, after: int = 0) -> set[int]:
    """The numbers of the rows after one whose text holds a word, which is in lower case.

    `offsets` are where the lines of the rows begin, `end` is where the last line ends.
    """
    needle = max(_PLAIN.findall(word), key=len, default="").encode()
    bounds = [*offsets, end]
    numbers: set[int] = set()
    row, count = after, len(offsets)
    while row < count:
        start = bounds[row]
        last = max(row + 1, bisect_right(bounds, start + BLOCK, row, count))
        file.seek(start)
        numbers |= _Block(file.read(bounds[last] - start), bounds, row, last, needle).rows_with(word)
        row = last
    return numbers


def has_words(line: bytes, words: Sequence[tuple[bool, str]]) -> bool:
    """Whether a line has those words that are wanted, and none of the others."""
    text = searchable(line)
    return all((word in text) == positive for positive, word in words)


class _Block:
    """The lines of some rows. `bounds` are where all lines of the file begin, and where the last one ends."""

    def __init__(self, data: bytes, bounds: list[int], first: int, last: int, needle: bytes) -> None:
        self._data = data
        self._lower = data.lower()
        self._bounds = bounds
        self._first = first
        self._last = last
        self._start = bounds[first]
        self._needle = needle
        self._has_escapes = b"\\" in data
        self._has_more: bool | None = None

    def rows_with(self, word: str) -> set[int]:
        """The numbers of the rows, which are counted from 1."""
        if not self._needle:
            every = range(self._first, self._last)
            return {index + 1 for index in every if word in searchable(self._line(index))}
        doubtful = self._odd_lines()
        is_plain = self._needle == word.encode()
        sure: set[int] = set()
        find, needle, bounds, start = self._lower.find, self._needle, self._bounds, self._start
        at = find(needle)
        while at >= 0:
            after = bisect_right(bounds, start + at, self._first, self._last)  # the number of the row
            certain = self._is_in_message(after - 1, at) if is_plain else None
            if certain is None:
                doubtful.add(after - 1)
            elif certain:
                sure.add(after)
            at = find(needle, bounds[after] - start)
        return sure | {
            index + 1 for index in doubtful if index + 1 not in sure and word in searchable(self._line(index))
        }

    def _odd_lines(self) -> set[int]:
        """Lines in which plain characters may be written differently."""
        odd = () if self._data.isascii() else _ODD_LETTERS
        if self._has_escapes:
            odd = (*odd, *_ODD)
        lines: set[int] = set()
        for needle in odd:
            at = self._lower.find(needle)
            while at >= 0:
                after = bisect_right(self._bounds, self._start + at, self._first, self._last)
                lines.add(after - 1)
                at = self._lower.find(needle, self._bounds[after] - self._start)
        return lines

    def _is_in_message(self, index: int, at: int) -> bool | None:
        """Whether the needle, which is in the line, is in its message; None if that is not certain."""
        lower = self._lower
        begin, end = self._bounds[index] - self._start, self._bounds[index + 1] - self._start
        message = lower.find(_MESSAGE, begin, begin + _ENVELOPE)
        if message < 0 or message > end or not lower.startswith(_BEGIN, begin):
            return None
        if self._has_more is None:
            self._has_more = any(name in self._data for name in _MORE)
        if self._has_more and any(lower.find(name, message, end) >= 0 for name in _MORE):
            return None
        if at < message + len(_MESSAGE):
            at = lower.find(self._needle, message + len(_MESSAGE), end)
            if at < 0:
                return False
        # it may be a piece of an escape
        return None if self._has_escapes and b"\\" in lower[at - 5 : at] else True

    def _line(self, index: int) -> bytes:
        return self._data[self._bounds[index] - self._start : self._bounds[index + 1] - self._start]

"""Looks for secrets in texts of many megabytes, for which the rules take seconds, only where some can be.

Long runs of base64, which hold no words, are shortened for the search, and what is far from every hint of a
secret is left out.
"""

import os
import re
import string
from collections.abc import Callable, Iterator

from acpella._redact import HINTS, redact

__all__ = ["LONG", "redact_long"]

LONG = 256 * 1024
"""Characters from which on a text is not searched whole."""

NEAR = 64 * 1024
"""How far from a hint a secret can be. Far more than the longest keys, and quick to search."""

LONGEST_HINT = max(map(len, HINTS))

KEPT = 1024
"""Characters that stay of both ends of a run: the rules look at the beginning of a secret and around it."""

_RUN = re.compile(rf"(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{{{KEPT}}})([A-Za-z0-9+/]{{2048,}}+)")
_WORD = re.compile(r"[\w+/=.-]*", re.ASCII)
_WORD_CHARACTERS = frozenset("+/=.-_" + string.ascii_letters + string.digits)
_LIKE_ASCII = re.compile("[\u0130\u0131\u017f\u212a]")
"""Letters that equal ASCII ones where case is ignored, and are in no hint."""


def redact_long(text: str, hide: Callable[[str], str]) -> str:
    """As `redact`, for texts of any length."""
    if len(text) < LONG:
        return redact(text, hide)
    mark = os.urandom(12).hex()
    middles: list[str] = []

    def shorten(run: re.Match[str]) -> str:
        middles.append(run[2][:-KEPT])
        return f"{run[1]}{mark}{len(middles) - 1}z{run[2][-KEPT:]}"

    def whole(part: str) -> str:
        return re.sub(rf"{mark}(\d+)z", lambda place: middles[int(place[1])], part) if middles else part

    short = _RUN.sub(shorten, text)
    parts: list[str] = []
    at = 0
    for start, end in _near_hints(short):
        parts += short[at:start], redact(short[start:end], lambda secret: hide(whole(secret)))
        at = end
    if not parts:
        return text
    return whole("".join([*parts, short[at:]]))


def _near_hints(text: str) -> Iterator[tuple[int, int]]:
    """Where secrets can be: from word to word, in order."""
    start = end = 0
    for at in range(0, len(text), NEAR):
        block = text[at : at + NEAR + LONGEST_HINT]
        if not _is_hinted(block):
            continue
        first = max(at - NEAR, 0)
        if first > end:
            if end:
                yield start, end
            start = first
            while start > end and text[start - 1] in _WORD_CHARACTERS:
                start -= 1
        whole_word = _WORD.match(text, min(at + 2 * NEAR, len(text)))
        end = len(text) if whole_word is None else whole_word.end()
    if end:
        yield start, end


def _is_hinted(block: str) -> bool:
    lower = block.lower()
    return any(hint in lower for hint in HINTS) or (not block.isascii() and bool(_LIKE_ASCII.search(block)))

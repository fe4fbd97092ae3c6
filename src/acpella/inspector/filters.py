"""The words to filter rows with: `method:fs/* -kind:ntf ms>500 "disk full"`.

The page reads the same words (web/src/inspect/filter.ts); tests/inspector/filters.json holds both to that.
"""

import re
from collections.abc import Callable
from fnmatch import translate

from .rows import Row

__all__ = ["KEYS", "Filter", "FilterError"]

KEYS = {
    "method": "the method, of responses that which they answer; * stands for anything",
    "update": "the kind of a session/update",
    "kind": "req, ntf, res, err, text, stderr or event",
    "dir": "in (from the agent) or out (to it)",
    "session": "the session, or how its id begins or ends",
    "id": "the id of a request and its response",
    "c": "the connection, counted from 1",
    "bad": "a rule that is broken, or * for any",
}
"""What can stand before a colon."""

_WORD = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_NUMBER = re.compile(r"(ms|size)([<>])(\d+(?:\.\d+)?)([kKM]?)$")
_NO_NUMBER = re.compile(r"(ms|size)[<>]")
_SCALE = {"": 1, "k": 1000, "K": 1000, "M": 1_000_000}


BADGES = {"std": "text", "log": "stderr", "sys": "event"}
"""Kinds as the list of rows abbreviates them; a filter takes either word."""


VALUES: dict[str, tuple[str, ...]] = {
    "kind": ("req", "ntf", "res", "err", "text", "stderr", "event"),
    "dir": ("in", "out"),
}
"""All values of the keys that take only certain ones."""


class FilterError(ValueError):
    """A word that means nothing here."""


class Filter:
    """Which rows are wanted. Every word must hold."""

    def __init__(self, text: str) -> None:
        """Raises FilterError: a word cannot be understood."""
        self.text_words: list[tuple[bool, str]] = []
        """What to look for in the whole message, in lower case, and whether it must be there."""
        self.keys: set[str] = set()
        """What stands before colons in it."""
        self._tests: list[Callable[[Row, list[str]], bool]] = []
        for sign, quoted, word in _WORD.findall(text):
            self._add(word, quoted, positive=not sign)

    def _add(self, word: str, quoted: str, *, positive: bool) -> None:
        if quoted or not word:
            if quoted:
                self.text_words.append((positive, quoted.lower()))
            return
        if number := _NUMBER.match(word):
            self._tests.append(_number_test(*number.groups(), positive=positive))
            return
        if wrong := _NO_NUMBER.match(word):
            raise FilterError(f"{wrong[0]} wants a number after it, such as {wrong[0]}500")
        key, colon, value = word.partition(":")
        if not colon or key not in KEYS:
            if colon and re.fullmatch(r"[a-z]+", key) and not value.startswith("//"):
                raise FilterError(
                    f"{key}: is not a filter; there are {', '.join(KEYS)}, ms>N, size>N, and text"
                )
            self.text_words.append((positive, word.lower()))
            return
        self.keys.add(key)
        value = value.lower()
        if key == "kind":
            value = BADGES.get(value, value)
        known = VALUES.get(key, ())
        if known and value and value not in known and not re.search(r"[*?]", value):
            raise FilterError(f"there is no {key}:{value}; use {', '.join(known)}")
        self._tests.append(_key_test(key, value, re.compile(translate(value)), positive=positive))

    def matches(self, row: Row, rules: list[str], body: Callable[[], str]) -> bool:
        """Whether a row is wanted. `rules` are those that it breaks; `body` gives its text in lower case."""
        if not self.fits(row, rules):
            return False
        if not self.text_words:
            return True
        text = body()
        return all((word in text) is positive for positive, word in self.text_words)

    @property
    def looks_at_rows(self) -> bool:
        """Whether it asks for more than text."""
        return bool(self._tests)

    def fits(self, row: Row, rules: list[str]) -> bool:
        """Whether a row is wanted, whatever its text is."""
        return all(test(row, rules) for test in self._tests)


def _number_test(
    name: str, sign: str, digits: str, scale: str, *, positive: bool
) -> Callable[[Row, list[str]], bool]:
    limit = float(digits) * _SCALE[scale]

    def test(row: Row, rules: list[str]) -> bool:
        value = row.took * 1000 if name == "ms" else row.size
        holds = value >= 0 and (value > limit if sign == ">" else value < limit)
        return holds is positive

    return test


def _key_test(
    key: str, value: str, pattern: "re.Pattern[str]", *, positive: bool
) -> Callable[[Row, list[str]], bool]:
    def test(row: Row, rules: list[str]) -> bool:
        if key == "bad":
            holds = any(pattern.match(rule.lower()) for rule in rules) if value else bool(rules)
        else:
            actual = str(getattr(row, key)).lower()
            holds = pattern.match(actual) is not None
            if key == "session" and value and actual:
                holds = holds or actual.startswith(value) or actual.endswith(value)
        return holds is positive

    return test

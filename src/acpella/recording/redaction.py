"""Replaces secrets in messages before they are written: the same secret always by the same name."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from math import log2
from typing import Any, TypeGuard, cast

import msgspec

from acpella._redact import COMMAND_RULES, HINTS, SECRET_KEY, VERSION, rules

from .long_texts import LONG, redact_long
from .streamed_secrets import StreamedSecrets

__all__ = ["RULES_NAME", "Redactor", "entropy", "looks_random"]

RULES_NAME = f"rules-{VERSION}"

REMEMBERED = 256
"""How many secrets are searched for in all later texts. Without a limit, a peer could make each line slow."""

KEY_LINES = 16 * 1024
"""How many lines of private keys are looked for in later texts. Without a limit, a peer fills the memory."""

_HIDDEN = re.compile(r"<secret \d+>")
_BYTES = ("data", "blob")
_HINTS = tuple(hint.encode() for hint in HINTS)


def _any_of(words: Iterable[bytes]) -> bytes:
    """A pattern for any of the words. Common beginnings are shared, so that each letter is looked at once."""
    rests: dict[bytes, set[bytes]] = {}
    for word in words:
        rests.setdefault(word[:1], set()).add(word[1:])
    parts = [re.escape(c) + (b"" if b"" in rest else _any_of(rest)) for c, rest in sorted(rests.items())]
    return b"(?:" + b"|".join(parts) + b")"


_KEY_LINE = re.compile(r"(?:\\[nrt])*(?P<line>[A-Za-z0-9+/]{16,}={0,2})")
"""A line of base64; before it the end of another one, in JSON inside a string."""

_KEY_LINE_BYTES = re.compile(_KEY_LINE.pattern.encode())

_OPTION = re.compile(r"-(?:[aup]|-user|-proxy-user|\S*pass)", re.IGNORECASE)
"""How the words begin that the rules for commands look for."""

_NUMBERS = re.compile(
    r"[\w.-]*?(?:passw(?:or)?d|passphrase|secret|(?<![a-z])(?:otp|totp|pin))", re.IGNORECASE
)
"""Names of secrets that may be numbers; a number of tokens is none."""

_LOGIN = re.compile(r"[A-Za-z0-9+/=_-]{8,}")
"""How docker keeps the login for a registry, in a field `auth`."""

LEAST_NUMBER = 1000
"""What is smaller counts something."""

_ANY_HINT = re.compile(_any_of(_HINTS))

PLAIN_SIZE = 64
"""The most characters of a text that is cached as harmless: names of fields, ids, methods."""

PLAIN_TEXTS = 4096
"""How many harmless texts are cached. Without a limit, a peer could fill the memory."""


class Redactor:
    """Replaces each secret by `<secret 1>`, `<secret 2>`, …: the same secret by the same name.

    The table is only in memory. A secret that was recognised once is found wherever it occurs later.
    """

    def __init__(self) -> None:
        self.hidden: int = 0
        """How many values were replaced."""
        self._names: dict[str, str] = {}
        self._remembered: list[tuple[str, bytes]] = []
        self._key_lines: set[str] = set()  # of private keys, which may occur alone
        self._plain: set[str] = set()  # texts without secrets, mostly names of fields
        self._streams = StreamedSecrets()

    def may_hold_secrets(self, line: bytes) -> bool:
        """Whether a line must be decoded to be checked. Most lines are harmless at first sight."""
        return (
            self._streams.any_open
            or b"-----" in line  # may become the first line of a key
            or _is_hinted(line)
            or any(each in line for _, each in self._remembered)
            or self._holds_key_line(line)
        )

    def _holds_key_line(self, line: bytes) -> bool:
        if not self._key_lines:
            return False
        plain = line.replace(b"\\/", b"/")  # as some programs write it in JSON
        return any(match["line"].decode() in self._key_lines for match in _KEY_LINE_BYTES.finditer(plain))

    def passed(self, direction: str, message: Any) -> Any:
        """Redact a message that went this way. What it streams may be the rest of an earlier secret."""
        return self._streams.message(direction, message, self.message(message), self._hide_piece)

    def line(self, direction: str, line: str) -> str:
        """Redact a line that went this way and is not a message: a private key has many."""
        return self._streams.line(direction, line, self.text(line), self._hide_piece)

    def text(self, text: str) -> str:
        """Redact a string inside a message."""
        if text in self._plain:
            return text
        # a long text is searched only around its hints anyway
        if len(text) < LONG and not _is_hinted(text.encode("utf-8", "surrogatepass")):
            safe = self._hide_known(text)
        else:
            safe = self._search(text)
        if safe == text and len(text) <= PLAIN_SIZE:
            if len(self._plain) >= PLAIN_TEXTS:
                self._plain.clear()
            self._plain.add(text)
        return safe

    def _search(self, text: str) -> str:
        if text[:1] in ("{", "[", '"') and len(text) > 1:  # JSON in a string, or what an agent logs
            text = self._json(text)
        return self._hide_known(redact_long(text, self._hide))

    def message(self, value: Any, key: str = "") -> Any:
        """The same JSON without secrets."""
        secret = bool(key) and SECRET_KEY.search(key) is not None
        if isinstance(value, str):
            is_login = key == "auth" and _LOGIN.fullmatch(value)
            return self._hide(value) if secret or is_login else self.text(value)
        if type(value) is int and value >= LEAST_NUMBER and secret and _NUMBERS.fullmatch(key):
            return self._hide(str(value))
        if isinstance(value, list):
            items = cast("list[Any]", value)
            if not secret and all(isinstance(item, str) for item in items):
                return self.words(items)  # arguments of a command, perhaps
            return [
                self._pair(item[0], item[1], key) if _is_pair(item) else self.message(item, key)
                for item in items
            ]
        if not isinstance(value, dict):
            return value
        table = cast("dict[str, Any]", value)
        if key in ("env", "headers"):  # a map, or one of a list of names and values
            return self._variables(table)
        if isinstance(option := table.get("configId"), str) and isinstance(choice := table.get("value"), str):
            table = {**table, "value": self.message(choice, option)}
        args = self.words([table["command"], *table["args"]])[1:] if _is_command(table) else None
        is_media = "mimeType" in table  # its bytes are long and hold no words
        return {
            self.text(name): item
            if is_media and name in _BYTES
            else args  # what they mean depends on the program
            if args is not None and name == "args"
            else self.message(item, key if secret else name)
            for name, item in table.items()
        }

    def words(self, words: Iterable[str]) -> list[str]:
        """Redact a command line, in which the word after `--token` is also a secret."""
        safe: list[str] = []
        before = ""
        for word in self._of_commands(list(words)):
            option = before.startswith("-") and "=" not in before and SECRET_KEY.search(before)
            safe.append(self._hide(word) if option and not word.startswith("-") else self.text(word))
            before = word
        return safe

    def _of_commands(self, words: list[str]) -> list[str]:
        """Redact the words that are a secret because of others before them."""
        if any(_OPTION.match(word) for word in words):
            line = " ".join(words)
            ends = list(accumulate(len(word) + 1 for word in words))
            for rule in COMMAND_RULES:
                for match in rules()[rule].finditer(line):
                    start = match.start("secret")
                    at = bisect_right(ends, start)
                    secret = line[start : ends[at] - 1]  # the rest of the word, blanks included
                    if at != bisect_right(ends, match.start()) and words[at].endswith(secret):
                        words[at] = words[at].removesuffix(secret) + self._hide(secret)
        return words

    def _pair(self, name: str, value: str, key: str) -> list[str]:
        """Redact one of a list of names and values, such as headers."""
        if key in ("env", "headers"):
            return [name, self._variable(name, value)]
        if name.startswith("-") or " " in name:
            return self.words([name, value])
        return [name, self.message(value, name)]

    def _json(self, text: str) -> str:
        """Redact JSON text by the rules for messages; unchanged if they find nothing."""
        try:
            value = msgspec.json.decode(text)
            redacted = self.message(value)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return text
        return text if redacted == value else msgspec.json.encode(redacted).decode()

    def _variables(self, table: dict[str, Any]) -> dict[str, Any]:
        if table.keys() >= {"name", "value"}:
            return {**table, "value": self._variable(str(table["name"]), table["value"])}
        return {name: self._variable(name, item) for name, item in table.items()}

    def _variable(self, name: str, value: Any) -> Any:
        """Hide the value of a variable or header. A value such as `true` is not searched for elsewhere."""
        if not isinstance(value, str):
            return self.message(value, name)
        return self._hide(value, remember=SECRET_KEY.search(name) is not None or looks_random(value))

    def _hide(self, secret: str, *, remember: bool = True) -> str:
        if not secret.strip() or _HIDDEN.fullmatch(secret) or secret == "<secret":  # up to its blank
            return secret
        if (remember or "PRIVATE KEY" in secret) and ("\n" in secret or "\\n" in secret):
            self._remember_lines(secret)
        self.hidden += 1
        name = self._names.get(secret)
        if name is None:
            name = self._names[secret] = f"<secret {len(self._names) + 1}>"
            if remember and len(self._remembered) < REMEMBERED and len(secret) >= 8 and not secret.isalpha():
                self._plain.clear()
                self._remembered.append((secret, msgspec.json.encode(secret)[1:-1]))
        return name

    def _hide_piece(self, secret: str) -> str:
        """Hide a part of a secret; a whole line of a key is also hidden where it occurs alone."""
        self._remember_lines(secret)
        return self._hide(secret, remember=False)

    def _remember_lines(self, secret: str) -> None:
        for match in _KEY_LINE.finditer(secret):
            if len(self._key_lines) < KEY_LINES and match["line"] not in self._key_lines:
                self._plain.clear()
                self._key_lines.add(match["line"])

    def _hide_known(self, text: str) -> str:
        for secret, _ in self._remembered:
            if secret in text:
                self.hidden += text.count(secret)
                text = text.replace(secret, self._names[secret])
        return _KEY_LINE.sub(self._hide_key_line, text) if self._key_lines else text

    def _hide_key_line(self, match: re.Match[str]) -> str:
        if (line := match["line"]) not in self._key_lines:
            return match[0]
        return match[0].removesuffix(line) + self._hide(line, remember=False)


def _is_pair(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and [type(item) for item in cast("list[object]", value)] == [str, str]


def _is_command(table: dict[str, Any]) -> bool:
    args = table.get("args")
    return (
        isinstance(args, list)
        and isinstance(table.get("command"), str)
        and all(isinstance(arg, str) for arg in cast("list[object]", args))
    )


def _is_hinted(text: bytes) -> bool:
    return _ANY_HINT.search(text.lower()) is not None  # quicker than a search for each of a hundred hints


def looks_random(text: str) -> bool:
    """Whether a text looks random: long, without spaces and slashes, letters and digits mixed."""
    return (
        len(text) >= 12
        and not re.search(r"[\s/\\]", text)
        and re.search(r"\d", text) is not None
        and re.search(r"[A-Za-z]", text) is not None
        and entropy(text) >= 3.0
    )


def entropy(text: str) -> float:
    """Bits per character, from how often each character occurs."""
    counts = [text.count(char) for char in set(text)]
    return -sum(count / len(text) * log2(count / len(text)) for count in counts)

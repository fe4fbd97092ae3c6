"""Secrets that come in pieces: a private key line by line, a token in two chunks of an answer.

A recorder writes each piece before it knows the next, so it remembers of each stream what the last one began.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from acpella._plain_json import as_dict
from acpella._redact import rules

__all__ = ["OPEN_STREAMS", "Piece", "StreamedSecrets", "piece_of"]

OPEN_STREAMS = 256
"""How many streams are remembered as being inside of a secret. Without a limit, a peer fills the memory."""

LONGEST_KEY = 32 * 1024
"""Characters after which a private key counts as over; one of 16384 bits has 13 thousand."""

LONGEST_TOKEN = 4096
"""Characters after which the rest of a token counts as over."""

STRANGE_LINES = 3
"""Lines within a private key that do not look like one before it counts as over: another thread may log."""

LONGEST_BEGIN = 128
"""Characters in which the first line of a key begins, if a piece ends with a part of it."""

LONGEST_LINE = 1024
"""Characters of a line that are looked at when the line goes on."""

SURE = 16
"""The fewest characters that are taken for a line of a key after a strange line; fewer may be a word."""

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_HALF_BEGIN = re.compile(r"-----[A-Z0-9 ]{0,64}-{0,4}\Z")
_DASHES = "-----"
_LINE_END = re.compile(r"\r\n?|\n|\\r\\n|\\n")  # the last two: JSON inside a string
_BODY = re.compile(r"[^A-Za-z0-9+/=]*(?:\d+[^A-Za-z0-9+/=]+)?(?P<body>[A-Za-z0-9+/=]+)[^A-Za-z0-9+/=]*")
_HEADER = re.compile(r"\W*(?:Version|Comment|Hash|Charset|[A-Z]\w*-[\w-]*|=+-Type)(?::.*)?")
_RUN = re.compile(r"<secret \d+>|[A-Za-z0-9+/=]+")
_LONG_RUN = re.compile(r"<secret \d+>|[A-Za-z0-9+/]{40,}={0,2}|(?<=\s)[A-Za-z0-9+/]{4,}={1,2}(?=\W*\Z)")
_HIDDEN = re.compile(r"<secret \d+>")
_HIDDEN_END = re.compile(r"<secret \d+>\Z")
_REST = re.compile(r"[\w-]+", re.ASCII)
_LIKELY_REST = re.compile(r"(?=[A-Za-z_-]*\d)[\w-]{4,}", re.ASCII)
_DOTTED_REST = re.compile(r"(?:\.?[\w-])+", re.ASCII)

Hide = Callable[[str], str]


class Piece(NamedTuple):
    """Text in a message that goes on with what came before it."""

    stream: tuple[str, ...]
    """Its session and what is streamed."""
    path: tuple[str, ...]
    text: str


def piece_of(message: Any) -> Piece | None:
    """What a message streams: a part of an answer, a thought or a prompt, or what a command wrote."""
    params = as_dict(as_dict(message).get("params"))
    update = as_dict(params.get("update"))
    session, kind = str(params.get("sessionId")), str(update.get("sessionUpdate"))
    if kind.endswith("_chunk") and isinstance(text := as_dict(update.get("content")).get("text"), str):
        return Piece((session, kind), ("params", "update", "content", "text"), text)
    output = as_dict(as_dict(update.get("_meta")).get("terminal_output"))
    if isinstance(text := output.get("data"), str):
        path = ("params", "update", "_meta", "terminal_output", "data")
        return Piece((session, "terminal", str(output.get("terminal_id"))), path, text)
    return None


class StreamedSecrets:
    """What the streams of one connection have begun and not ended."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], _Stream] = {}

    @property
    def any_open(self) -> bool:
        """Whether a stream may be inside of a secret, so that each line must be looked at."""
        return bool(self._open)

    def message(self, direction: str, message: Any, safe: Any, hide: Hide) -> Any:
        """Hide in a message, of which `safe` is what the rules left, what goes on with earlier ones."""
        fields = as_dict(message)
        if fields.get("method") == "session/prompt":  # whatever came before is over
            session = str(as_dict(fields.get("params")).get("sessionId"))
            for key in [key for key in self._open if key[1] == session]:
                del self._open[key]
        if (piece := piece_of(message)) is None:
            return safe
        text = _value_at(safe, piece.path)
        if not isinstance(text, str):
            return safe
        hidden = self._take((direction, *piece.stream), piece.text, text, hide)
        return safe if hidden == text else _replaced(safe, piece.path, hidden)

    def line(self, direction: str, line: str, safe: str, hide: Hide) -> str:
        """The same for a line that is not a message."""
        return self._take((direction, "", "lines"), line, safe, hide, is_line=True)

    def _take(self, key: tuple[str, ...], text: str, safe: str, hide: Hide, *, is_line: bool = False) -> str:
        stream = self._open.pop(key, None)
        if stream is None:
            if _DASHES not in text and not _HIDDEN_END.search(safe):
                return safe
            stream = _Stream()
        hidden = stream.take(text, safe, hide)
        if is_line:
            stream.end_line()
        if stream.is_open:
            if len(self._open) >= OPEN_STREAMS:
                del self._open[next(iter(self._open))]
            self._open[key] = stream
        return hidden


class _Stream:
    """One text in pieces."""

    def __init__(self) -> None:
        self._begun = ""  # what may become the first line of a key
        self._in_key = False
        self._size = 0
        self._line = ""  # of the key, as far as it came
        self._strange = 0
        self._rest: re.Pattern[str] | None = None  # what may be the rest of a token

    @property
    def is_open(self) -> bool:
        return self._in_key or bool(self._begun) or self._rest is not None

    def end_line(self) -> None:
        """The piece was a whole line."""
        self._begun = self._line = ""
        self._rest = None

    def take(self, text: str, safe: str, hide: Hide) -> str:
        """Hide what goes on from earlier pieces; `safe` is what the rules left of the text."""
        if not text:
            return safe
        safe = self._go_on(self._rest_of_token(safe, hide), hide)
        if self._rest is None and not self._in_key and _HIDDEN_END.search(safe):
            self._size = 0
            if _HIDDEN_END.search(text):  # hidden by an older acpella, in a recording that is cleaned
                self._rest = _LIKELY_REST
            for match in rules()["shapes"].finditer(text):
                if match.end("secret") == len(text):
                    dotted = "." in match["secret"] or match["secret"].startswith("eyJ")
                    self._rest = _DOTTED_REST if dotted else _REST
        return safe

    def _rest_of_token(self, text: str, hide: Hide) -> str:
        match = self._rest.match(text) if self._rest is not None else None
        if match is None:
            self._rest = None
            return text
        self._size += match.end()
        if match.end() < len(text) or self._size > LONGEST_TOKEN:
            self._rest = None
        return hide(match[0]) + text[match.end() :]

    def _go_on(self, text: str, hide: Hide) -> str:
        """Hide what is inside of private keys."""
        passed = len(self._begun)  # and was written with the piece before
        text, self._begun = self._begun + text, ""
        parts: list[str] = []
        at = 0
        while at < len(text):
            if self._in_key:
                end = _LINE_END.search(text, at)
                stop = len(text) if end is None else end.start()
                if (dashes := text.find(_DASHES, at, stop)) >= 0:
                    stop = dashes
                parts.append(self._part_of_key(text[at:stop], hide))
                at = stop
                if dashes >= 0:
                    self._in_key = False
                elif end is not None:
                    self._line = ""
                    parts.append(end[0])
                    at = end.end()
            else:
                begin = _BEGIN.search(text, at)
                stop = len(text) if begin is None else begin.end()
                parts.append(text[at:stop])
                at = stop
                if begin is None:
                    half = _HALF_BEGIN.search(text[-LONGEST_BEGIN:])
                    self._begun = "" if half is None else half[0]
                else:
                    self._in_key = True
                    self._line = ""
                    self._size = self._strange = 0
        return "".join(parts)[passed:]

    def _part_of_key(self, text: str, hide: Hide) -> str:
        """Hide a line of a private key, or a part of one."""
        self._size += len(text)
        if self._size > LONGEST_KEY:
            self._in_key = False
            return text
        was_strange = not _is_of_key(self._line)
        self._line = self._line[-LONGEST_LINE:] + text
        line = _filled(self._line)
        if not line.strip() or _HEADER.fullmatch(line):
            return text
        if body := _BODY.fullmatch(line):
            if self._strange and len(body["body"]) < SURE:
                return text
            start = max(0, body.start("body") - len(line) + len(text))
            return text[:start] + _hidden(_RUN, text[start:], hide)
        hidden = _hidden(_LONG_RUN, text, hide)
        if hidden == text and not was_strange:
            self._strange += 1
            self._in_key = self._strange <= STRANGE_LINES
        return hidden


def _is_of_key(line: str) -> bool:
    line = _filled(line)
    return not line.strip() or bool(_HEADER.fullmatch(line) or _BODY.fullmatch(line))


def _filled(line: str) -> str:
    """The line with what is hidden already as if it were a part of the key."""
    return _HIDDEN.sub(lambda match: "=" * len(match[0]), line)


def _hidden(runs: re.Pattern[str], text: str, hide: Hide) -> str:
    return runs.sub(lambda run: run[0] if run[0].startswith("<") else hide(run[0]), text)


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = as_dict(value).get(name)
    return value


def _replaced(value: Any, path: tuple[str, ...], text: str) -> Any:
    if not path:
        return text
    fields = cast("dict[str, Any]", value)
    return {**fields, path[0]: _replaced(fields[path[0]], path[1:], text)}

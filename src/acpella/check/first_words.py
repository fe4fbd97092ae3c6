"""What an agent writes before it has answered `initialize`, and whether an answer can still be expected."""

import json
from typing import Any

from acpella._redact import redact

from .conversation import CheckedFrame, as_object

__all__ = ["FirstWords"]

MAX_LINES = 1000
"""Lines that are no messages after which no answer is expected. Some agents print a page of text first."""

MAX_JSON = 64 * 1024
"""Bytes of JSON over several lines that are put together to see what they are."""

SHOWN = 160
"""Characters of a line that are shown."""

SHOWN_LINES = 2

FRAMED = b"content-length:"


class FirstWords:
    """Collects what an agent writes instead of its answer to the first request."""

    def __init__(self, request: CheckedFrame) -> None:
        self._request = request
        self._heard: list[CheckedFrame] = []
        self._count = 0
        self._pretty = b""
        """Lines that may be one JSON object, which begins in the first of them."""
        self.mistake: str = ""
        """Why no answer is to be expected, with the requirement that it breaks; empty as long as one is."""

    def hear(self, frame: CheckedFrame) -> bool:
        """Take a frame; returns whether no answer is to be expected any more."""
        self._count += 1
        if len(self._heard) < SHOWN_LINES:
            self._heard.append(frame)
        self.mistake = self.mistake or self._mistake(frame)
        return bool(self.mistake)

    def _mistake(self, frame: CheckedFrame) -> str:
        id = self._request.id
        if frame.kind == "response" and frame.request is None and frame.id is not None:
            which = f"a response with the id {_json(frame.id)}, and the request has {_json(id)}"
            if str(frame.id) == str(id):
                which += ": the id must come back in its type"
            return f"{which} (messages.known-id, R-014). It wrote {_line(frame)}"
        if frame.lacks_id:
            return f"a response without an id (messages.known-id, R-014). It wrote {_line(frame)}"
        if frame.kind == "request" and frame.method == self._request.method and frame.id == id:
            return "it sends back the request that it was sent (messages.method-known, R-026)"
        raw = frame.raw or b""
        if frame.kind == "noise" and raw.lower().startswith(FRAMED):
            return (
                "it writes a Content-Length header before its message, and a message is a line "
                f"(messages.json, R-003). It wrote {_line(frame)}"
            )
        if frame.kind == "noise" and (lines := self._lines_of_json(raw)):
            return (
                f"it writes one message over {lines} lines (messages.json, R-003). It wrote {self._words()}"
            )
        if self._count >= MAX_LINES:
            return f"it wrote {self._count} lines without an answer among them. It wrote {self._words()}"
        return ""

    def _lines_of_json(self, raw: bytes) -> int:
        """Over how many lines a JSON object was written that ends here; 0 if none does."""
        if not self._pretty and not raw.lstrip().startswith(b"{") or len(self._pretty) > MAX_JSON:
            return 0
        self._pretty += raw + b"\n"
        if not raw.rstrip().endswith(b"}"):
            return 0
        try:
            whole = json.loads(self._pretty)
        except (ValueError, RecursionError):
            return 0
        is_message = {"jsonrpc", "id", "result", "error"} & as_object(whole).keys()
        return self._pretty.count(b"\n") if is_message else 0

    def told(self, unfinished: bytes) -> str:
        """What an agent wrote that did not answer. `unfinished`: what came without an end of line."""
        if self._heard:
            return f"it wrote {self._words()}"
        if unfinished.strip():
            return (
                f"it wrote a line without an end, {_quoted(unfinished)} "
                "(messages.json, R-003: a message ends with a newline)"
            )
        return "it wrote nothing to its stdout"

    def _words(self) -> str:
        return " and ".join(map(_line, self._heard)) + (" and more" if self._count > SHOWN_LINES else "")


def _line(frame: CheckedFrame) -> str:
    return _quoted(frame.raw or b"")


def _quoted(data: bytes) -> str:
    """A line as it is shown: without secrets, and without what a terminal obeys."""
    text = redact(data[: 4 * SHOWN].decode("utf-8", "replace")).strip()
    text = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return f"{text[:SHOWN]} …" if len(text) > SHOWN else text


def _json(value: Any) -> str:
    return _quoted(json.dumps(value).encode())

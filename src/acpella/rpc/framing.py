"""Cuts a byte stream into messages, and puts messages into frames.

There are two framings: one message per line, and `Content-Length` headers as language servers use them. The
peer's first bytes show which one it uses (R-002, R-016); answers use the same.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Block", "Broken", "Framer", "Framing"]

Framing: TypeAlias = Literal["lines", "headers"]

MAX_HEADER = 16 * 1024
"""Bytes of a header block. Without it, headers that never end fill the memory."""

EXCERPT = 1024
"""Bytes kept from both ends of a frame that cannot be read, to find its id and to tell about it."""

_BOM = b"\xef\xbb\xbf"
_BEFORE_FIRST = re.compile(rb"(?:[ \t\r\n]|\xef\xbb\xbf)*")
_HEADER_START = b"content-"
_NO_HEADER = "expected a Content-Length header"
_LENGTH = re.compile(rb"content-length[ \t]*:(.*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Broken:
    """A frame that was skipped, with the reason, its beginning and its end."""

    reason: str
    head: bytes
    tail: bytes = b""


Block: TypeAlias = bytes | Broken
"""One or more whole messages, separated by newlines; or a frame that was skipped."""


class Framer:
    """Bytes in, blocks of whole messages out. Keeps at most one unfinished message."""

    def __init__(self, *, max_frame: int | None = None, framing: Framing | None = None) -> None:
        self.framing: Framing | None = framing
        """None until the first bytes of the peer have shown which."""
        self._max = max_frame
        self._parts: list[bytes] = []  # of the unfinished message
        self._size = 0
        self._skipping = False
        self._headers = b""  # unfinished header block
        self._need: int | None = None  # bytes of the body that the headers announced

    def feed(self, data: bytes) -> list[Block]:
        """Take what was read; give what is complete."""
        if self.framing == "lines":
            return self._feed_lines(data)
        if self.framing == "headers":
            return self._feed_headers(data)
        return self._feed_first(data)

    def finish(self) -> list[Block]:
        """No more bytes will come. Gives what is left, including a last line without an end."""
        if self.framing is None and self._headers:
            self.framing = "lines"
            data, self._headers = self._headers, b""
            self._keep(data)
        if self.framing == "headers" and (self._headers.strip() or self._need is not None):
            broken = Broken("the stream ended inside a frame", self._headers or self._head())
            self._headers, self._need = b"", None
            self._reset()
            return [broken]
        return [self._take()] if self._size else []

    def wrap(self, message: bytes) -> bytes:
        """The message in a frame of the peer's kind."""
        if self.framing == "headers":
            return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)
        return message + b"\n"

    # -- which framing -----------------------------------------------------------------

    def _feed_first(self, data: bytes) -> list[Block]:
        data = _BEFORE_FIRST.sub(b"", self._headers + data, count=1)
        start = data[: len(_HEADER_START)].lower()
        if len(start) < len(_HEADER_START) and (_HEADER_START.startswith(start) or _BOM.startswith(start)):
            self._headers = data  # too short to tell
            return []
        self._headers = b""
        self.framing = "headers" if start == _HEADER_START else "lines"
        return self.feed(data)

    # -- lines -------------------------------------------------------------------------

    def _feed_lines(self, data: bytes) -> list[Block]:
        end = data.rfind(b"\n")
        if end < 0:
            self._keep(data)
            return []
        blocks: list[Block] = []
        start = 0
        if self._size:
            start = data.find(b"\n") + 1
            self._keep(data[: start - 1])
            blocks.append(self._take())
        if start < end:
            block = data[start:end]
            if self._max is not None and len(block) > self._max:
                blocks += [self._checked(line) for line in block.split(b"\n")]
            else:
                blocks.append(block)
        if end + 1 < len(data):
            self._keep(data[end + 1 :])
        return blocks

    def _checked(self, line: bytes) -> Block:
        if self._max is not None and len(line) > self._max:
            return Broken(self._too_long(), line[:EXCERPT], line[-EXCERPT:])
        return line

    # -- headers -----------------------------------------------------------------------

    def _feed_headers(self, data: bytes) -> list[Block]:
        blocks: list[Block] = []
        while data:
            if self._need is None:
                data = self._read_headers(data, blocks)
            if self._need is not None:
                body, data = data[: self._need], data[self._need :]
                self._need -= len(body)
                self._keep(body)
                if self._need == 0:
                    self._need = None
                    blocks.append(self._take())
        return blocks

    def _read_headers(self, data: bytes, blocks: list[Block]) -> bytes:
        """Take header lines up to the blank one; what follows it is given back."""
        data = self._headers + data
        self._headers = b""
        length: int | None = None
        at = start = 0  # start: of the header block, after what was of no use
        while (end := data.find(b"\n", at)) >= 0:
            line = data[at:end].rstrip()
            if not line:
                if length is not None:
                    self._need = length or None
                    return data[end + 1 :]
                start = end + 1
            elif header := _LENGTH.search(line):
                if garbage := line[: header.start()].strip():  # such as a body longer than announced
                    blocks.append(Broken(_NO_HEADER, garbage[:EXCERPT]))
                    start = at + header.start()
                digits = header[1].strip()
                length = int(digits) if digits.isdigit() and len(digits) < 19 else None
                if length is None:
                    blocks.append(Broken("Content-Length is not a number", line[:EXCERPT]))
                    start = end + 1
            elif b":" not in line:
                blocks.append(Broken(_NO_HEADER, line[:EXCERPT]))
                length, start = None, end + 1
            at = end + 1
        if len(data) - start > MAX_HEADER:
            blocks.append(Broken("a header block that does not end", data[start : start + EXCERPT]))
        else:
            self._headers = data[start:]
        return b""

    # -- the unfinished message ----------------------------------------------------------

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            self._parts[1] = (self._parts[1] + part)[-EXCERPT:]
            return
        self._parts.append(part)
        if self._max is not None and self._size > self._max:
            self._skipping = True  # from here on only the two ends are kept
            whole = b"".join(self._parts)
            self._parts = [whole[:EXCERPT], whole[-EXCERPT:]]

    def _head(self) -> bytes:
        return b"".join(self._parts)[:EXCERPT]

    def _take(self) -> Block:
        if self._skipping:
            block: Block = Broken(self._too_long(), self._parts[0], self._parts[1])
        else:
            block = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._reset()
        return block

    def _reset(self) -> None:
        self._parts = []
        self._size = 0
        self._skipping = False

    def _too_long(self) -> str:
        return f"a message may have at most {self._max} bytes"

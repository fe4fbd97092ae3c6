"""Writes a recording: bytes of both sides in, redacted lines out."""

import base64
import logging
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from acpella._processes.locks import lock_file
from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import read_json

from .anonymizing import Anonymizer
from .format import Direction
from .media import cut_media
from .queue import Chunk, Lost, Note
from .redaction import RULES_NAME, Redactor

__all__ = ["Filters", "Writer", "open_private"]

log: logging.Logger = logging.getLogger(__name__)

MAX_FRAME = 256 * 1024 * 1024
"""The most bytes of a frame that is kept whole. Without a limit, an endless line fills the memory."""

COMPARED = 1024 * 1024
"""The most bytes of a frame for which it is checked whether the parsed JSON says the same as the line."""

_HEADER = re.compile(rb'\s*\{\s*"acpella"\s*:')
"""How the first line of a recording begins. The rest of it may be missing: a recorder can be killed."""

_HEAD_SIZE = 64 * 1024

_REDIRECTED = ("/dev/std", "/dev/fd/", "/proc/self/fd/")
"""Files that somebody else has opened: what they already hold is for whoever did."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^\s"{}\[\]:,]+|[{}\[\]:,]')
_UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)


def open_private(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a recording to begin or to continue, private to the user. A device, such as /dev/stderr, keeps its
    mode. While the file is open, `is_written` tells so.

    Raises:
        OSError: its directory is not there, or it holds something else, or it cannot be opened, or others can
            read it and its mode cannot be changed.
    """
    if not (place := Path(path).absolute().parent).exists():
        raise FileNotFoundError(f"there is no directory {place} for the recording {Path(path).name}")
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
    try:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            if status.st_size and not _can_continue(path):
                # after half a line of a recorder that was killed, or of a full disk; past the buffer, which
                # a fork would double; a disk that is still full is told by who writes next
                with suppress(OSError):
                    os.write(file.fileno(), b"\n")
            if os.name == "posix" and status.st_mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
            if sys.platform != "win32":  # where a lock would keep readers out
                with suppress(OSError):  # not all file systems have locks
                    lock_file(file.fileno(), shared=True)
    except BaseException:
        file.close()
        raise
    return file


def _can_continue(path: str | os.PathLike[str]) -> bool:
    """Whether the last line of a recording is whole.

    Raises:
        FileExistsError: it is no recording.
    """
    with Path(path).open("rb") as file:
        if not os.fspath(path).startswith(_REDIRECTED):
            while (line := file.readline(_HEAD_SIZE)) and not line.strip():
                pass
            if line and not _HEADER.match(line):
                raise FileExistsError(f"{path} is not a recording, and stays as it is; name another file")
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


class Filters:
    """What happens to a message before it is written."""

    def __init__(
        self, *, raw: bool = False, media: bool = True, anonymizer: Anonymizer | None = None
    ) -> None:
        self._redactor = None if raw else Redactor()
        self._media = media
        self._anonymizer = anonymizer

    @property
    def name(self) -> str:
        """The name of the redaction rules, for the header."""
        return "nothing" if self._redactor is None else RULES_NAME

    @property
    def hidden(self) -> int:
        return 0 if self._redactor is None else self._redactor.hidden

    def pass_line(self, line: bytes) -> bool:
        """Whether a line certainly needs no change; found out without parsing it."""
        if self._anonymizer is not None or (not self._media and b'"mimeType"' in line):
            return False
        return self._redactor is None or not self._redactor.may_hold_secrets(line)

    def message(self, value: Any, direction: str = "") -> tuple[Any, int]:
        """Filter a message that went this way; returns it, and how many characters of media were left out."""
        cut = 0
        if not self._media:
            value, cut = cut_media(value)
        if self._redactor is not None:
            value = self._redactor.passed(direction, value)
        if self._anonymizer is not None:
            self._anonymizer.learn(value)
            value = self._anonymizer.value(value)
        return value, cut

    def text(self, text: str) -> str:
        text = text if self._redactor is None else self._redactor.text(text)
        return text if self._anonymizer is None else self._anonymizer.text(text)

    def line(self, line: str, direction: str) -> str:
        """Filter a line that went this way and is not a message."""
        line = line if self._redactor is None else self._redactor.line(direction, line)
        return line if self._anonymizer is None else self._anonymizer.text(line)

    def words(self, words: list[str]) -> list[str]:
        """Filter a command line."""
        words = words if self._redactor is None else self._redactor.words(words)
        return words if self._anonymizer is None else self._anonymizer.words(words)


class Writer:
    """One connection in a file. Each line is whole when it reaches the file; a full disk ends the recording,
    never the conversation."""

    def __init__(self, file: BinaryIO, header: dict[str, Any], filters: Filters, *, began: float) -> None:
        """`began` is when the connection was opened, by the same clock as the `at` of `feed`."""
        self._file: BinaryIO | None = file
        self._filters = filters
        self._began = began
        self._framers: dict[Direction, Framer] = {
            "out": Framer(max_frame=MAX_FRAME),
            "in": Framer(max_frame=MAX_FRAME, framing="lines"),
            "err": Framer(max_frame=MAX_FRAME, framing="lines"),
        }
        self._resync: set[Direction] = set()
        self.number: int = 0
        self.frames: int = 0
        self.dropped: int = 0
        self.error: OSError | None = None
        """Why nothing more is written."""
        agent = dict(header.get("agent") or {})
        if "command" in agent:
            agent["command"] = filters.words(agent["command"])
        for name in ("name", "cwd", "url"):
            if name in agent:
                agent[name] = filters.text(agent[name])
        self._write(msgspec.json.encode({**header, "agent": agent}))
        self.flush()

    def put(self, item: Chunk | Lost | Note) -> None:
        """Record what was queued."""
        if isinstance(item, Lost):
            self.lose(item.direction, item.frames, item.at)
        elif isinstance(item, Note):
            self.note_change(item.direction, item.how, item.line, item.at, **item.info)
        else:
            self.feed(item.direction, item.data, item.at)

    def feed(self, direction: Direction, data: bytes, at: float) -> None:
        """Record bytes that passed, in any pieces."""
        if direction in self._resync:  # data were lost, so skip to the next line
            _, newline, data = data.partition(b"\n")
            if not newline:
                return
            self._resync.remove(direction)
        self._take(direction, self._framers[direction].feed(data), at)

    def lose(self, direction: Direction, frames: int, at: float) -> None:
        """Note that bytes with this many lines passed and could not be kept."""
        framing = self._framers[direction].framing
        self._framers[direction] = Framer(max_frame=MAX_FRAME, framing=framing)
        self._resync.add(direction)
        self.dropped += frames
        self.event("gap", at, dir=direction, dropped=frames)

    def event(self, name: str, at: float, **fields: Any) -> None:
        """Record something that was not on the wire."""
        self.number += 1
        self._write(msgspec.json.encode({"n": self.number, "t": self._passed(at), "ev": name, **fields}))

    def note_change(self, direction: Direction, how: str, line: bytes, at: float, **fields: Any) -> None:
        """Record that somebody held or changed a message on its way; `line` is what its sender wrote."""
        try:
            was: Any = self._filters.message(msgspec.json.decode(line), f"{direction} before")[0]
        except _UNREADABLE:
            was = self._filters.text(_decoded(line))
        self.event("changed", at, how=how, dir=direction, **fields, was=was)

    def end(self, at: float, **fields: Any) -> None:
        """Write the last line and close the file."""
        for direction in ("out", "in", "err"):
            if direction not in self._resync:
                self._take(direction, self._framers[direction].finish(), at)
        counts = {"frames": self.frames, "dropped": self.dropped, "hidden": self._filters.hidden}
        self._write(msgspec.json.encode({"ev": "end", "t": self._passed(at), **counts, **fields}))
        self.flush()
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self._stop(error)

    def flush(self) -> None:
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            self._stop(error)

    # -- one line ----------------------------------------------------------------------------

    def _take(self, direction: Direction, blocks: list[bytes | Broken], at: float) -> None:
        headers = self._framers[direction].framing == "headers"
        for block in blocks:
            if isinstance(block, Broken):
                self._line(
                    direction, at, "text", self._filters.text(_decoded(block.head)), reason=block.reason
                )
            elif headers:
                self._frame(direction, block.replace(b"\n", b" ").strip(), at)
            else:
                # it is faster to look through many lines at once than one by one
                harmless = self._filters.pass_line(block) or (None if b"\n" in block else False)
                for line in block.split(b"\n"):
                    self._frame(direction, line.strip(), at, harmless=harmless)

    def _frame(self, direction: Direction, line: bytes, at: float, *, harmless: bool | None = None) -> None:
        """Write a line; `harmless` says what the filters said of it, if they were asked."""
        if not line:
            return
        if direction == "err" or line[:1] not in b"{[":
            self._text(direction, line, at)
            return
        try:
            value = read_json(line)
            encoded = msgspec.json.encode(value)
        except _UNREADABLE:
            self._text(direction, line, at)
            return
        more: dict[str, Any] = {}
        body: Any = msgspec.Raw(encoded)
        if not (self._filters.pass_line(line) if harmless is None else harmless):
            try:
                body, cut = self._filters.message(value, direction)
            except RecursionError:
                self._text(direction, line, at)
                return
            more = {"cut": cut} if cut else {}
        if encoded != line and len(line) <= COMPARED and not _says_the_same(line, encoded):
            # after the message, of which the rest of an earlier secret is known
            more = {"raw": self._filters.text(_decoded(line)), **more}
        self._line(direction, at, "msg", body, **more)

    def _text(self, direction: Direction, line: bytes, at: float) -> None:
        filtered = self._filters.line(text := _decoded(line), direction)
        if "\ufffd" in text and filtered == text:  # the bytes are not text, and hold no secret
            self._line(direction, at, "b64", base64.b64encode(line).decode())
        else:
            self._line(direction, at, "text", filtered)

    def _line(self, direction: Direction, at: float, kind: str, body: Any, **more: Any) -> None:
        self.number += 1
        self.frames += 1
        entry = {"n": self.number, "t": self._passed(at), "dir": direction, kind: body, **more}
        self._write(msgspec.json.encode(entry))

    def _passed(self, at: float) -> float:
        return round(max(0.0, at - self._began), 6)

    def _write(self, line: bytes) -> None:
        try:
            if self._file is not None:
                self._file.write(line + b"\n")
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        if self.error is None:
            self.error = error
            log.warning("the recording stops: %s", error)
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError:
            pass  # reported already


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _says_the_same(line: bytes, encoded: bytes) -> bool:
    """Whether only spaces and the spelling of strings differ."""
    if _without_usual_spaces(line) == _without_usual_spaces(encoded):
        return True
    return list(map(_spelled, _TOKEN.findall(line))) == list(map(_spelled, _TOKEN.findall(encoded)))


def _without_usual_spaces(line: bytes) -> bytes:
    """Without the spaces that many programs write. Strings are changed too, but alike in both lines, as one
    was made from the other."""
    return line.replace(b": ", b":").replace(b", ", b",")


def _spelled(token: bytes) -> bytes:
    if token[:1] != b'"':
        return token
    if b"\\" not in token:
        return token
    try:
        return msgspec.json.encode(msgspec.json.decode(token))
    except _UNREADABLE:
        return token

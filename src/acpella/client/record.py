"""Keeps a conversation in a file: every frame both ways, with its time and without secrets."""

import logging
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import msgspec

from acpella._redact import redact
from acpella.rpc import Channel, ChannelInfo, Receiver

__all__ = ["Frame", "Recorder", "read_recording"]

log = logging.getLogger(__name__)

FORMAT = 1
"""The version in the first line of each recording."""

_HIDDEN = "***"
_BYTES = ("data", "blob")
_SECRET_KEY = re.compile(
    r"api[_-]?key|token|secret|passw(?:or)?d|authorization|cookie|credential|private[_-]?key", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a recording."""

    time: float
    """Seconds since the connection was opened."""
    direction: Literal["in", "out"]
    """`in` came from the agent, `out` went to it."""
    message: Any
    """The message as JSON values; a str for a line that was no message."""


class Recorder:
    """A channel that writes down what passes through another one.

    The file gets one JSON object a line. A connection begins with `{"acpella": 1, "agent": …, "started": …}`;
    then each frame is `{"t": seconds, "dir": "in" | "out", "msg": {…}}`, or `"text"` instead of `"msg"` for a
    line that is no JSON. A file that exists is continued: it can hold the restarts of an agent.
    """

    def __init__(self, channel: Channel, path: str | os.PathLike[str], *, agent: str) -> None:
        self._channel = channel
        self._path = Path(path)
        self._agent = agent
        self._file: BinaryIO | None = None
        self._began = 0.0
        self._unfinished: list[bytes] = []  # the pieces of a line that the agent has not ended yet

    @property
    def about(self) -> ChannelInfo:
        return self._channel.about

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Open the file (for the user alone), then the channel.

        Raises:
            OSError: that is not possible, or others can read the file and its mode cannot be changed.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
        try:
            _keep_private(self._file.fileno())
        except BaseException:
            self._file.close()
            raise
        self._began = time.monotonic()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._line({"acpella": FORMAT, "agent": self._agent, "started": started})
        try:
            await self._channel.open(_Tap(self, receiver), write_high=write_high)
        except BaseException:
            self._end()
            raise

    def write(self, data: bytes | bytearray) -> None:
        for line in bytes(data).split(b"\n"):
            self._frame("out", line)
        self._flush()
        self._channel.write(data)

    def received(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._unfinished.append(first)
        for piece in rest:
            self._frame("in", b"".join(self._unfinished))
            self._unfinished = [piece]
        self._flush()

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    async def close(self) -> None:
        try:
            await self._channel.close()
        finally:
            self._end()

    def _end(self) -> None:
        if self._file is not None:
            self._frame("in", b"".join(self._unfinished))
            self._unfinished = []
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                log.warning("the recording %s may be incomplete: %s", self._path, error)

    def _frame(self, direction: str, line: bytes) -> None:
        if not line.strip() or self._file is None:
            return
        passed = round(time.monotonic() - self._began, 6)
        try:
            message = hide_secrets(msgspec.json.decode(line))
            self._line({"t": passed, "dir": direction, "msg": message})
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            shown = redact(line.decode("utf-8", "replace").rstrip("\r\n"))
            self._line({"t": passed, "dir": direction, "text": shown})

    def _line(self, value: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(msgspec.json.encode(value) + b"\n")
        except OSError as error:  # a full disk must not end the conversation
            self._give_up(error)

    def _flush(self) -> None:
        try:
            if self._file is not None:
                self._file.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        log.warning("recording to %s stops: %s", self._path, error)
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError:
            pass  # told already


def _keep_private(fd: int) -> None:
    """A file that was there may be open to others. A device, such as /dev/stderr, is left alone."""
    mode = os.fstat(fd).st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
        os.fchmod(fd, 0o600)


class _Tap:
    """Between the channel and its receiver."""

    def __init__(self, recorder: Recorder, receiver: Receiver) -> None:
        self._recorder = recorder
        self._receiver = receiver
        self.pause_writing = receiver.pause_writing
        self.resume_writing = receiver.resume_writing
        self.ended = receiver.ended

    def received(self, data: bytes) -> None:
        self._recorder.received(data)
        self._receiver.received(data)


def hide_secrets(value: Any, key: str = "") -> Any:
    """The same JSON with the values of tokens, keys, headers and environment variables replaced by `***`."""
    secret = _SECRET_KEY.search(key) is not None
    if isinstance(value, str):
        return _HIDDEN if secret else redact(value)
    if isinstance(value, list):
        return [hide_secrets(item, key) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    if key in ("env", "headers"):  # a map, or one of a list of names and values
        return (
            {**table, "value": _HIDDEN}
            if table.keys() >= {"name", "value"}
            else dict.fromkeys(table, _HIDDEN)
        )
    is_media = "mimeType" in table  # its bytes are long and hold no words
    return {
        name: item if is_media and name in _BYTES else hide_secrets(item, key if secret else name)
        for name, item in table.items()
    }


def read_recording(path: str | os.PathLike[str]) -> list[list[Frame]]:
    """The conversations of a file, one for each time the agent was connected to.

    Raises:
        ValueError: a line is not what a recording has; the message names it.
    """
    conversations: list[list[Frame]] = []
    for number, entry in _lines(Path(path)):
        if "acpella" in entry:
            conversations.append([])
            continue
        if not conversations:
            conversations.append([])  # other tools write the frames alone
        body = entry.get("msg", entry.get("text"))
        if entry.get("dir") not in ("in", "out") or body is None:
            raise ValueError(f"{path}, line {number}: not a frame of a recording")
        conversations[-1].append(Frame(float(entry.get("t", 0.0)), entry["dir"], body))
    return conversations


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    entry = msgspec.json.decode(line)
                except msgspec.MsgspecError as error:
                    raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
                if not isinstance(entry, dict):
                    raise ValueError(f"{path}, line {number}: not an object")
                yield number, cast("dict[str, Any]", entry)

"""What a recorder was handed and has not yet written.

The pipe is read at once, so that a slow disk does not hold up the conversation, and the file is written when
there is little traffic: a machine that is busy with the conversation has no time for its recording. Nothing
waits longer than `LONGEST`.
"""

import json
import os
import struct
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, cast

from .format import Direction
from .queue import Chunk, Lost, Note

assert sys.platform != "win32"  # like the tap, whose recorder uses this

__all__ = ["Backlog", "Ending", "packed"]

BURST = 32 * 1024
"""Bytes in one read that count as a burst: about what `Queue` collects when there is a lot of traffic."""

QUIET = 0.05
"""Seconds after a burst until it counts as over."""

LONGEST = 1.0
"""Seconds that an item waits at most for the end of a burst. Without a limit, a steady stream would delay
everything."""

ROOM = 256 * 1024 * 1024
"""Bytes that may wait. Beyond that, they are written whatever the traffic, and nothing is read meanwhile."""

READ_SIZE = 1024 * 1024

_HEAD = struct.Struct("<BdI")  # kind, time, and how many bytes follow or how many frames were lost
_DIRECTIONS: tuple[Direction, ...] = ("out", "in", "err")
_LOST = 8  # added to a direction: frames were lost
_NOTE = 16  # added to a direction: a message was changed; data is the size of the JSON, the JSON, the message
_END = 32


@dataclass(frozen=True, slots=True)
class Ending:
    """The last item: everything was handed over."""

    info: dict[str, Any]
    at: float


def packed(item: Chunk | Lost | Note | Ending) -> tuple[bytes, bytes]:
    """An item in the form in which it is handed over: a head, and the data that follow it."""
    if isinstance(item, Ending):
        data = json.dumps(item.info).encode()
        return _HEAD.pack(_END, item.at, len(data)), data
    kind = _DIRECTIONS.index(item.direction)
    if isinstance(item, Lost):
        return _HEAD.pack(kind + _LOST, item.at, item.frames), b""
    if isinstance(item, Note):
        about = json.dumps({**item.info, "how": item.how}).encode()
        data = len(about).to_bytes(4, "little") + about + item.line
        return _HEAD.pack(kind + _NOTE, item.at, len(data)), data
    return _HEAD.pack(kind, item.at, len(item.data)), item.data


class Backlog:
    """One thread fills it from a pipe, another takes items from it when they are due."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._burst_at = float("-inf")
        self._ended = False
        self._changed = threading.Condition()

    def fill(self, source: int) -> None:
        """Read until the other side closes its end."""
        try:
            buffer = memoryview(bytearray(READ_SIZE))
            while size := os.readv(source, [buffer]):
                self.add(buffer[:size], time.monotonic())
                with self._changed:
                    self._changed.wait_for(lambda: len(self._data) < ROOM or not self._has_item())
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def add(self, data: bytes | memoryview, now: float) -> None:
        """Add bytes that arrived at this time."""
        with self._changed:
            if len(data) >= BURST:
                self._burst_at = now
            self._data += data
            self._changed.notify_all()

    def pause(self, now: float) -> float | None:
        """Seconds until the next item is due; None while there is no item."""
        if not self._has_item():
            return None
        waited = now - cast("float", _HEAD.unpack_from(self._data)[1])
        if self._ended or len(self._data) >= ROOM or waited >= LONGEST:
            return 0.0
        return max(0.0, min(self._burst_at + QUIET - now, LONGEST - waited))

    def take(self) -> Chunk | Lost | Note | Ending | None:
        """Wait until there is an item and it is due; None when there will be no more."""
        with self._changed:
            while pause := self._pause_now():
                self._changed.wait(pause if pause != float("inf") else None)
            return self._cut() if self._has_item() else None

    @property
    def empty(self) -> bool:
        """Whether nothing is waiting at the moment."""
        return not self._data

    def _pause_now(self) -> float:
        pause = self.pause(time.monotonic())
        if pause is None:
            return 0.0 if self._ended else float("inf")
        return pause

    def _has_item(self) -> bool:
        """Whether there is a complete item: if the tap is killed, the last one may be cut off."""
        return len(self._data) >= _HEAD.size and len(self._data) >= _HEAD.size + self._size()

    def _size(self) -> int:
        kind, _, size = cast("tuple[int, float, int]", _HEAD.unpack_from(self._data))
        return 0 if _LOST <= kind < _NOTE else size

    def _cut(self) -> Chunk | Lost | Note | Ending:
        kind, at, number = cast("tuple[int, float, int]", _HEAD.unpack_from(self._data))
        end = _HEAD.size + self._size()
        data = bytes(memoryview(self._data)[_HEAD.size : end])
        del self._data[:end]
        self._changed.notify_all()
        if kind == _END:
            return Ending(json.loads(data), at)
        direction = _DIRECTIONS[kind % _LOST]
        if kind >= _NOTE:
            cut = 4 + int.from_bytes(data[:4], "little")
            about: dict[str, Any] = json.loads(data[4:cut])
            return Note(direction, about.pop("how"), data[cut:], about, at)
        return Lost(direction, number, at) if kind >= _LOST else Chunk(direction, data, at)

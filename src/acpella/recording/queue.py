"""A bounded queue of what is to be written. What does not fit is counted and dropped; `put` never waits."""

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from .format import Direction

__all__ = ["Chunk", "Lost", "Note", "Queue"]

ROOM = 256 * 1024 * 1024
"""Bytes that may wait. Without a limit, a slow disk fills the memory; with less, large images are lost."""

BATCH = 0.005
"""Seconds to collect chunks before they are taken: waking a thread for each chunk would slow the stream."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that passed."""

    direction: Direction
    data: bytes
    at: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Lines that passed and were not kept."""

    direction: Direction
    frames: int
    at: float


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was done to a message on its way."""

    direction: Direction
    how: str
    line: bytes
    """The message as its sender wrote it."""
    info: dict[str, Any]
    at: float


class Queue:
    """Carries bytes from the threads that pass them on to the thread that records them."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._items: deque[Chunk | Lost | Note] = deque()
        self._size = 0
        self._lost: dict[Direction, int] = {}
        self._filled = threading.Event()
        self._closed = threading.Event()

    def put(self, direction: Direction, data: bytes, at: float | None = None) -> None:
        """Queue bytes without waiting. `at` is the time at which they arrived, by default now."""
        now = time.monotonic() if at is None else at
        with self._lock:
            if self._size + len(data) > self._room:
                self._lost[direction] = self._lost.get(direction, 0) + max(1, data.count(b"\n"))
                return
            if frames := self._lost.pop(direction, 0):
                self._items.append(Lost(direction, frames, now))
            self._items.append(Chunk(direction, data, now))
            self._size += len(data)
        if not self._filled.is_set():
            self._filled.set()

    def note(self, note: Note) -> None:
        """Queue a note without waiting. If there is no room, it is lost."""
        with self._lock:
            if self._size + len(note.line) > self._room:
                return
            self._items.append(note)
            self._size += len(note.line)
        self._filled.set()

    def close(self) -> None:
        """Announce that nothing more will be put; what is queued can still be taken."""
        self._closed.set()
        self._filled.set()

    def take(self) -> list[Chunk | Lost | Note] | None:
        """Wait for items; None when there will be no more."""
        self._filled.wait()
        self._closed.wait(BATCH)
        with self._lock:
            self._filled.clear()
            # threads that read at the same time put their items in any order
            items = sorted(self._items, key=lambda item: item.at)
            self._items.clear()
            self._size = 0
            if self._closed.is_set():
                self._filled.set()
                now = time.monotonic()
                items += [Lost(direction, frames, now) for direction, frames in self._lost.items()]
                self._lost.clear()
                return items or None
        return items

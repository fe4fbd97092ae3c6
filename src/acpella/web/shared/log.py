"""The log of one session: everything that a page has to know of it, numbered, so that it can come back."""

import secrets
from typing import Any

import msgspec

from .clock import now

__all__ = ["SessionLog"]

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of events that a log keeps. Without it, a session that never ends fills the memory."""


class SessionLog:
    """Events in order, numbered from 1. What does not fit any more leaves at the front."""

    def __init__(self, *, most: int = MAX_BYTES) -> None:
        self.epoch: str = secrets.token_hex(6)
        """Tells this log from one of an earlier server, whose numbers mean other events."""
        self._events: list[bytes] = []
        self._most = most
        self._size = 0
        self._dropped = 0

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._dropped + len(self._events)

    @property
    def first(self) -> int:
        """The number of the oldest event that is kept, or of the next one."""
        return self._dropped + 1

    def begin_with(self, other: "SessionLog") -> None:
        """Hold first what another log holds: a fork begins with the conversation so far."""
        self._events, self._size, self._dropped = list(other._events), other._size, other._dropped

    def add_raw(self, kind: bytes, name: bytes, value: bytes) -> int:
        """An event with one value that is JSON already; returns its number."""
        number = self.last + 1
        event = b'{"n":%d,"t":%d,"k":"%b","%b":%b}' % (number, now() * 1000, kind, name, value)
        return self._keep(event)

    def add(self, kind: str, **values: Any) -> int:
        """An event; returns its number."""
        number = self.last + 1
        return self._keep(msgspec.json.encode({"n": number, "t": int(now() * 1000), "k": kind, **values}))

    def _keep(self, event: bytes) -> int:
        self._events.append(event)
        self._size += len(event)
        if self._size > self._most and len(self._events) > 1:
            self._drop_oldest()
        return self.last

    def _drop_oldest(self) -> None:
        """Make room for a while, so that it is not done for each event."""
        count, size = 0, self._size
        while size > self._most * 3 // 4 and count < len(self._events) - 1:
            size -= len(self._events[count])
            count += 1
        del self._events[:count]
        self._size = size
        self._dropped += count

    def after(self, number: int, limit: int) -> tuple[int, list[bytes]]:
        """Events after that number with about `limit` bytes, and the number of the last of them."""
        start = max(number, self._dropped)
        begin = end = start - self._dropped
        size = 0
        while end < len(self._events) and size < limit:
            size += len(self._events[end])
            end += 1
        return self._dropped + end, self._events[begin:end]

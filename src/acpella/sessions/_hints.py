"""Hints that something may have changed. They may be lost, late or doubled: whoever waits looks anyway."""

import asyncio
import zlib
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["Hints", "topic_of"]


def topic_of(stream: str) -> str:
    """How a hint names a stream: short, and shared with another now and then, which does no harm."""
    return f"{zlib.crc32(stream.encode(errors='replace')):x}"


class Hints:
    """Who waits for which stream."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def watch(self, stream: str) -> Generator[asyncio.Event]:
        """An event that is set whenever the stream may have something new; to be cleared before looking."""
        topic, event = topic_of(stream), asyncio.Event()
        watchers = self._waiting.setdefault(topic, set())
        watchers.add(event)
        try:
            yield event
        finally:
            watchers.discard(event)
            if not watchers and self._waiting.get(topic) is watchers:
                del self._waiting[topic]

    def wake(self, stream: str) -> None:
        """Wake those who wait for this stream."""
        if self._waiting:
            self._set(topic_of(stream))

    def heard(self, topics: str) -> None:
        """Something happened elsewhere; without topics, perhaps anything."""
        for topic in topics.split() or list(self._waiting):
            self._set(topic)

    def _set(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()

"""A writer with a thread of its own, so that the conversation never waits for the disk."""

import asyncio
import logging
import os
import threading
import time
from typing import Any

from .format import Direction, Point, new_header
from .queue import Queue
from .writer import Filters, Writer, open_private

__all__ = ["BackgroundWriter"]

log: logging.Logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds for the disk to take what is still queued when the connection is over."""


class BackgroundWriter:
    """Records one connection of this process."""

    def __init__(
        self, path: str | os.PathLike[str], *, point: Point, agent: dict[str, Any], filters: Filters
    ) -> None:
        """Open the file.

        Raises:
            OSError: it cannot be opened, or others can read it and its mode cannot be changed.
        """
        self._path = path
        self._queue = Queue()
        file = open_private(path)
        header = new_header(point, agent, redacted=filters.name)
        self._writer = Writer(file, header, filters, began=time.monotonic())
        self._end: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="acpella recording", daemon=True)
        self._thread.start()

    def put(self, direction: Direction, data: bytes) -> None:
        """Queue bytes that passed. Never waits."""
        self._queue.put(direction, data)

    async def close(self, **end: Any) -> None:
        """Write what is queued, and the last line with these fields. Safe to call twice."""
        self._end = self._end or end
        self._queue.close()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, PATIENCE)
        if self._thread.is_alive():
            log.warning(
                "the recording %s is still being written; what is left is lost when this program ends",
                os.fspath(self._path),
            )

    def _run(self) -> None:
        writer = self._writer
        try:
            while (items := self._queue.take()) is not None:
                for item in items:
                    writer.put(item)
                writer.flush()
            writer.end(time.monotonic(), **self._end)
        except Exception:  # a bug of ours must not go unnoticed, nor stop the conversation
            log.exception("recording to %s failed", os.fspath(self._path))
        if writer.error is not None:
            log.warning("recording to %s stopped: %s", os.fspath(self._path), writer.error)

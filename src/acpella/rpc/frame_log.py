"""Remembers the last frames of a conversation, for the error message on the day something goes wrong."""

from collections import deque
from typing import Literal, TypeAlias

from acpella._redact import redact

__all__ = ["FrameLog"]

Direction: TypeAlias = Literal["<-", "->"]

KEPT_CHUNKS = 32
"""Reads and writes that are remembered; their ends hold the last frames."""

KEPT_BYTES = 4096
"""Bytes remembered of each, so that a conversation full of images stays small in memory."""

SHOWN_FRAME = 400
"""Characters of one frame that are shown."""


class FrameLog:
    """A short memory of what was read (`<-`) and written (`->`). Cheap to fill, redacted when it is read."""

    def __init__(self) -> None:
        self._chunks: deque[tuple[Direction, bytes]] = deque(maxlen=KEPT_CHUNKS)

    def received(self, data: bytes) -> None:
        self._chunks.append(("<-", bytes(data[-KEPT_BYTES:])))

    def sent(self, data: bytes | bytearray) -> None:
        self._chunks.append(("->", bytes(data[-KEPT_BYTES:])))

    def frames(self, count: int = 20) -> tuple[str, ...]:
        """The last frames, oldest first, shortened and without secrets."""
        lines: list[str] = []
        for direction, chunk in self._chunks:
            for line in chunk.decode("utf-8", "replace").splitlines():
                if line.strip():
                    shown = redact(line)
                    shown = shown if len(shown) <= SHOWN_FRAME else shown[:SHOWN_FRAME] + "..."
                    lines.append(f"{direction} {shown}")
        return tuple(lines[-count:])

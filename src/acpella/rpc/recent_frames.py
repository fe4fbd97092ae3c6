"""Remembers the last frames of a conversation, for the error message on the day something goes wrong."""

from collections import deque
from typing import Literal, TypeAlias

from acpella._redact import redact

__all__ = ["RecentFrames"]

Direction: TypeAlias = Literal["<-", "->"]

KEPT_CHUNKS = 32
"""Reads and writes that are remembered; their ends hold the last frames."""

KEPT_BYTES = 4096
"""Bytes remembered of each, so that a conversation full of images stays small in memory."""

SHOWN_FRAME = 400
"""Characters of one frame that are shown."""


class RecentFrames:
    """A short memory of what was read (`<-`) and written (`->`). Cheap to fill, redacted when it is read."""

    def __init__(self) -> None:
        self._chunks: deque[tuple[Direction, bytes, bool]] = deque(maxlen=KEPT_CHUNKS)
        self._ends: dict[Direction, bytes] = {"<-": b"\n", "->": b"\n"}  # how the last chunk ended

    def received(self, data: bytes) -> None:
        self._keep("<-", data)

    def sent(self, data: bytes | bytearray) -> None:
        self._keep("->", data)

    def _keep(self, direction: Direction, data: bytes | bytearray) -> None:
        end = self._ends[direction]
        whole = len(data) <= KEPT_BYTES and (end == b"\n" or (end == b"}" and data[:1] in b"{Cc"))
        self._ends[direction] = bytes(data[-1:])
        self._chunks.append((direction, bytes(data[-KEPT_BYTES:]), whole))

    def frames(self, count: int = 20) -> tuple[str, ...]:
        """The last frames, oldest first, shortened and without secrets."""
        lines: list[str] = []
        for direction, chunk, whole in self._chunks:
            for n, line in enumerate(chunk.decode("utf-8", "replace").split("\n")):
                if n == 0 and not whole:
                    lines.append(f"{direction} ...")  # it may begin inside a secret, which nothing would tell
                elif line.strip():
                    excerpt = redact(line.strip())
                    excerpt = excerpt if len(excerpt) <= SHOWN_FRAME else excerpt[:SHOWN_FRAME] + "..."
                    lines.append(f"{direction} {excerpt}")
        return tuple(lines[-count:])

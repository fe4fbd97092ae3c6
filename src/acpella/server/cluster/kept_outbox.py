"""Outboxes whose messages are in the connection's stream before any reader sees them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from acpella.server.connection.memory_outbox import Ledger, MemoryOutbox

__all__ = ["Keeper", "KeptOutbox"]


class Keeper(Protocol):
    """Writes messages."""

    def keep(self, outbox: "KeptOutbox", messages: Sequence[bytes]) -> None:
        """Write messages, then give them to `deliver`."""
        ...

    def afterwards(self, then: Callable[[], None]) -> None:
        """Call this when everything that is to be written now was delivered."""
        ...


class KeptOutbox(MemoryOutbox):
    """An outbox in memory that is filled by way of the stream."""

    __slots__ = ("_keeper", "_size", "numbered", "session")

    def __init__(
        self,
        keeper: Keeper,
        session: str | None,
        ledger: Ledger,
        *,
        high: int,
        window_frames: int,
        window_bytes: int,
        lossless: bool,
    ) -> None:
        super().__init__(
            ledger, high=high, window_frames=window_frames, window_bytes=window_bytes, lossless=lossless
        )
        self._keeper = keeper
        self._size = 0  # bytes that are being written
        self.session: str | None = session
        self.numbered: int = 0
        """The number of the newest message, written or not."""

    def put(self, messages: Sequence[bytes]) -> None:
        if self.discards or self.closed or not messages:
            return
        self.numbered += len(messages)
        self._size += (size := sum(map(len, messages)))
        self._ledger.buffered += size
        self._keeper.keep(self, messages)

    def deliver(self, messages: Sequence[bytes]) -> None:
        """They are written, so readers may have them."""
        size = sum(map(len, messages))
        self._size -= size
        self._ledger.buffered -= size
        super().put(messages)

    def restore(self, base: int, frames: Sequence[bytes], *, taken: int | None = None) -> None:
        super().restore(base, frames, taken=taken)
        self.numbered = self.last

    def close(self) -> None:
        if self._size:
            self._keeper.afterwards(super().close)
        else:
            super().close()

    def when_drained(self, then: Callable[[], None]) -> None:
        if self._size:
            self._keeper.afterwards(lambda: super(KeptOutbox, self).when_drained(then))
        else:
            super().when_drained(then)

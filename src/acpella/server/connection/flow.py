"""How much waits for a client in all: its agent is not read while that is too much."""

from collections.abc import Callable

from .memory_outbox import MemoryOutbox

__all__ = ["MAX_OWN_ANSWERS", "Flow"]

MAX_OWN_ANSWERS = 1024 * 1024
"""Bytes of the server's own answers that wait for a client. Without it, one that sends nonsense and reads
nothing fills the memory."""


class Flow:
    """Adds up what waits in the outboxes of one connection (their `Ledger`)."""

    def __init__(self, *, most: int, changed: Callable[[], None]) -> None:
        """`most` bytes may wait; `changed` hears when something was taken, or a reader came or went."""
        self._most = most
        self._changed = changed
        self._own_answers = 0  # bytes, since the client had read everything
        self.buffered = 0
        """Bytes that no reader has taken."""
        self.behind: set[MemoryOutbox] = set()
        """Outboxes whose reader is too far behind."""

    @property
    def is_full(self) -> bool:
        """Whether the agent has to wait for the client."""
        return bool(self.behind) or self.buffered >= self._most

    def moved(self) -> None:
        """Something was taken, or a reader came or went."""
        self._changed()

    def count_own_answer(self, size: int) -> bool:
        """The server itself answered something; False if too much of that is not read."""
        self._own_answers = size + (self._own_answers if self.buffered > size else 0)
        return self._own_answers <= MAX_OWN_ANSWERS

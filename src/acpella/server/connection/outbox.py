"""Outboxes, the numbered streams on which a client hears its agent: what any implementation promises."""

from collections.abc import Callable, Sequence
from typing import Protocol

__all__ = ["OutOfWindow", "Outbox", "OutboxReader", "Taken"]


class OutOfWindow(Exception):
    """What the reader missed is not kept any more, or was never sent."""


class Taken(Exception):
    """The outbox has a reader already."""


class OutboxReader(Protocol):
    """The reading end of an outbox. There is one at a time; a new one may take over from it.

    A reader sees every message once, in order, numbered without gaps from where it began.
    """

    @property
    def over(self) -> bool:
        """Whether nothing more is to be read here: it was ended, or the outbox is closed and empty."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it was ended, though the outbox may go on."""
        ...

    @property
    def taken_over(self) -> bool:
        """Whether it was ended by another reader, of a client that came back."""
        ...

    @property
    def why(self) -> str:
        """Why its client is not to read any more, although it would; else empty."""
        ...

    def take(self, limit: int) -> tuple[int, list[bytes]]:
        """The number of the first of the next messages, and those: about `limit` bytes, never waiting."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait for something to take, or for the end; False if nothing came in that time."""
        ...

    def end(self, *, taken_over: bool = False, why: str = "") -> None:
        """Stop reading. Safe to call twice; the first call counts."""
        ...

    def abort(self, *, why: str = "") -> None:
        """Stop reading and drop the client, which may not even read that it is over."""
        ...

    def release(self) -> None:
        """Let the outbox go; another may read it now."""
        ...


class Outbox(Protocol):
    """Messages in order, numbered from 1 without gaps.

    A reader that confirms what it got (`lossless`) finds everything that it did not confirm when it comes
    back. For any other, the last messages are kept as well as the window allows. Numbers are never used
    twice, so a client that comes back can drop what it has seen.
    """

    @property
    def last(self) -> int:
        """The number of the newest message."""
        ...

    @property
    def acked(self) -> int:
        """The number of the last message that the reader confirmed."""
        ...

    @property
    def attached(self) -> bool:
        """Whether somebody reads it."""
        ...

    @property
    def unread(self) -> int:
        """Bytes that no reader has taken."""
        ...

    @property
    def lossless(self) -> bool:
        """Whether its reader confirms what it gets."""
        ...

    def be_lossless(self) -> None:
        """From now on the reader confirms what it got."""
        ...

    def put(self, messages: Sequence[bytes]) -> None:
        """Add messages. Nothing is added to a stream that is closed or that nobody can read any more."""
        ...

    def close(self) -> None:
        """No more messages; the reader ends when it has taken the rest."""
        ...

    def discard(self) -> None:
        """Nobody will read this any more."""
        ...

    def abort(self, *, why: str = "") -> None:
        """Cut the reader off."""
        ...

    def when_drained(self, then: Callable[[], None]) -> None:
        """Call this when everything that is in now was taken, or the reader has gone."""
        ...

    def window(self) -> tuple[int, list[bytes]]:
        """The number before the first message that is kept, and all that are, taken or not."""
        ...

    def take(self, limit: int) -> list[bytes]:
        """The next messages that no reader has taken, with about that many bytes."""
        ...

    def ack(self, number: int) -> None:
        """The reader has everything up to that number."""
        ...

    def attach(
        self, *, after: int | None = None, take_over: bool = False, abort: Callable[[], None] | None = None
    ) -> OutboxReader:
        """Start to read at the first unread message, or at the one after that number.

        Raises:
            Taken: there is a reader, and it shall not be replaced.
            OutOfWindow: what comes after that number is not kept.
        """
        ...

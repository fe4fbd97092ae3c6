"""What a connection needs from a transport: a way to move bytes, and somebody to give them to."""

from typing import Protocol

from acpella.errors import ConnectionClosed

__all__ = ["Channel", "Receiver"]


class Receiver(Protocol):
    """Gets what a channel reads. Every method returns at once and never raises."""

    def received(self, data: bytes) -> None:
        """Bytes arrived, in any pieces."""
        ...

    def pause_writing(self) -> None:
        """More is waiting to be written than the high-water mark allows."""
        ...

    def resume_writing(self) -> None:
        """The buffer has drained."""
        ...

    def ended(self, reason: ConnectionClosed) -> None:
        """Nothing more will arrive. Called once; what was received before has been given."""
        ...


class Channel(Protocol):
    """A two-way stream of bytes to one peer, over whatever carries it.

    Opened once and closed once. After `close` the receiver gets no more calls, except `ended` if it had
    not been called yet.
    """

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Start reading into the receiver.

        Raises:
            TransportError: the peer cannot be started or reached.
        """
        ...

    def write(self, data: bytes | bytearray) -> None:
        """Send bytes without waiting; the buffer is the caller's no more. Ignored when the peer is gone."""
        ...

    def pause_reading(self) -> None:
        """Take no more bytes from the peer for now, so that it has to wait."""
        ...

    def resume_reading(self) -> None:
        """Go on after `pause_reading`."""
        ...

    async def close(self) -> None:
        """Send what is buffered, then let go of the peer. Safe to call twice."""
        ...

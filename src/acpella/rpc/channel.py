"""The interface between a connection and a transport: a channel moves bytes, a receiver takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from acpella.errors import ConnectionClosed, TransportError

__all__ = ["Channel", "ChannelInfo", "PeerProcess", "Receiver"]


class Receiver(Protocol):
    """Takes what a channel reads. Every method returns at once and never raises."""

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
        """Nothing more will arrive. The channel calls this once, after it has delivered all bytes."""
        ...


class PeerProcess(Protocol):
    """The program at the other end of a channel, when it is a child of this process."""

    @property
    def command(self) -> Sequence[str]:
        """The program and its arguments."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """The variables that were added to this process's environment."""
        ...

    @property
    def cwd(self) -> str | None:
        """Its working directory; None for this process's."""
        ...

    @property
    def pid(self) -> int | None:
        """Its process id; None before it was started."""
        ...

    @property
    def stderr_tail(self) -> str:
        """The last lines of its stderr, without secrets."""
        ...

    def kill(self) -> None:
        """Kill the program and everything it started, at once. This needs no event loop."""
        ...

    def note_descendants(self) -> None:
        """Remember which processes the program has started, so that they end with it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelInfo:
    """What a channel can tell about its other end. A channel that wraps another passes its info on."""

    identity: str = ""
    """What tells the peer from all others: a name, a path, a command or a URL. Empty if that is not known."""
    process: PeerProcess | None = None
    """The program at the other end; None unless this process started it."""
    failure: TransportError | None = None
    """Why no connection came about."""

    @property
    def stderr_tail(self) -> str:
        """The last lines of the program's stderr; empty for a peer that is not a child."""
        return "" if self.process is None else self.process.stderr_tail


@runtime_checkable
class Channel(Protocol):
    """A two-way stream of bytes to one peer, over whatever carries it.

    Opened once and closed once. After `close` the receiver gets no more calls, except `ended` if it had
    not been called yet.
    """

    @property
    def about(self) -> ChannelInfo:
        """What the channel knows about its other end. Use `ChannelInfo()` if it knows nothing."""
        ...

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Start reading into the receiver.

        Raises:
            TransportError: the peer cannot be started or reached.
        """
        ...

    def write(self, data: bytes | bytearray) -> None:
        """Send bytes without waiting. The caller must not change them. Ignored when the peer is gone."""
        ...

    def pause_reading(self) -> None:
        """Take no more bytes from the peer for now, so that it has to wait."""
        ...

    def resume_reading(self) -> None:
        """Go on after `pause_reading`."""
        ...

    async def close(self) -> None:
        """Send what is buffered, then disconnect from the peer. Safe to call twice."""
        ...

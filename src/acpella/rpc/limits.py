"""Every bound of a connection, by name."""

from dataclasses import dataclass

__all__ = ["Limits"]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one peer may ask of this process. The defaults fit every conversation that we have seen."""

    max_frame: int | None = 256 * MIB
    """Longest message in bytes; None lifts the bound. Longer ones are skipped and answered with an error.
    Without it, a peer that never ends its line fills the memory."""

    max_calls: int = 65_536
    """Calls of ours that may wait for an answer. Without it, a loop that never awaits fills the memory."""

    max_requests: int = 32_768
    """Requests of the peer that may run at once; more are answered with `Overloaded`.
    Without it, a flood of requests starts tasks without end."""

    max_request_bytes: int = 128 * MIB
    """Bytes of such requests, if there is more than one. Without it, large requests that wait for an answer
    fill the memory."""

    queue_low: int = 1 * MIB
    """Bytes of notifications that may wait for their handler before reading pauses.
    Without it, a slow consumer makes a fast peer fill the memory."""

    queue_high: int = 64 * MIB
    """The same while reading must go on because somebody here waits for the peer (see `Connection`)."""

    write_high: int = 128 * 1024
    """Bytes that may wait to be written before `notify` and `call` wait.
    Without it, a peer that does not read makes a fast sender fill the memory; much higher, many senders at
    once write it full before any of it leaves, and the peer has to wait for them."""

    write_max: int = 64 * MIB
    """Bytes of error answers, which do not wait, that may pile up besides before the connection is ended.
    Without it, a peer that sends nonsense and does not read the answers fills the memory."""

    close_grace: float = 1.0
    """Seconds that running handlers get to finish when the connection ends, before they are cancelled."""

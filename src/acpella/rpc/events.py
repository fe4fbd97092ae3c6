"""What a `Peer` makes of the bytes that it was given."""

from typing import Any

import msgspec

from acpella.errors import RemoteProtocolError, RpcError

from .message import RequestId

__all__ = [
    "CancelRequested",
    "Crash",
    "Failure",
    "Noise",
    "Notification",
    "PeerEvent",
    "Reply",
    "Request",
]


class Request(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The peer sent a request. Call `answer` or `refuse` with its id, once."""

    id: RequestId
    method: str
    params: Any
    size: int = 0
    """Bytes of the params. Ignored when two requests are compared."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        return (self.id, self.method, self.params) == (other.id, other.method, other.params)

    __hash__: None = None  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride] - as for anything that is compared and may hold lists


class Notification(msgspec.Struct, frozen=True, gc=False):
    """The peer sent a notification. Those of the stream are other objects of the same shape."""

    method: str
    params: Any


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The peer answered one of our calls."""

    id: RequestId
    result: Any


class Failure(msgspec.Struct, frozen=True, gc=False):
    """A call of ours was answered with an error, or with something that cannot be used."""

    id: RequestId
    error: RpcError | RemoteProtocolError


class CancelRequested(msgspec.Struct, frozen=True, gc=False):
    """The peer no longer wants the answer to its request."""

    id: RequestId


class Noise(msgspec.Struct, frozen=True, gc=False):
    """Something arrived that is not a message; the conversation goes on."""

    reason: str
    excerpt: str


class Crash(msgspec.Struct, frozen=True, gc=False):
    """Reading failed through a fault of our own; nothing after it can be read."""

    error: Exception


PeerEvent = Request | Notification | Reply | Failure | CancelRequested | Noise | Crash

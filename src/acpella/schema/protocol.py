"""What belongs to JSON-RPC itself: ids, errors, cancelling a request."""

from enum import IntEnum
from typing import Any, TypeAlias

from msgspec import UNSET

from ._wire import I32, I64, U16, Meta, Wire, field

__all__ = [
    "CancelRequestNotification",
    "Error",
    "ErrorCode",
    "ExtNotification",
    "ExtRequest",
    "ExtResponse",
    "MessageId",
    "ProtocolVersion",
    "RequestId",
    "SessionId",
]

ProtocolVersion: TypeAlias = U16
RequestId: TypeAlias = I64 | str | None
SessionId: TypeAlias = str
MessageId: TypeAlias = str

ExtRequest: TypeAlias = Any
ExtResponse: TypeAlias = Any
ExtNotification: TypeAlias = Any


class ErrorCode(IntEnum):
    """The codes that JSON-RPC and ACP define; peers may send any other."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    REQUEST_CANCELLED = -32800
    AUTH_REQUIRED = -32000
    RESOURCE_NOT_FOUND = -32002


class Error(Wire, frozen=True, kw_only=True):
    """Why a request failed."""

    code: I32
    """The kind of failure as a number, such as -32601 for a method that the peer does not have."""
    message: str
    """What went wrong, in one short sentence."""
    data: Any = UNSET
    """More about the failure, in whatever form the sender likes."""


class CancelRequestNotification(Wire, frozen=True, kw_only=True):
    """The sender no longer needs the answer to one of its requests."""

    request_id: RequestId
    """The request to give up, by the id that its sender gave it."""
    meta: Meta | None = field(default=None, name="_meta")

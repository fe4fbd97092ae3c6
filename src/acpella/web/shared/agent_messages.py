"""What is read of an agent's messages on their way to the pages."""

import msgspec
from msgspec import Raw

from acpella.errors import RpcError
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame

__all__ = ["AgentUpdate", "InfoUpdate", "error_of", "read_cancelled", "read_info", "read_update"]


class AgentUpdate(msgspec.Struct):
    """The parameters of `session/update`."""

    session_id: str = msgspec.field(name="sessionId")
    update: Raw


class _TurnNote(msgspec.Struct):
    running: bool | None = msgspec.field(name="turnRunning", default=None)
    stop_reason: str = msgspec.field(name="stopReason", default="end_turn")


class _InfoMeta(msgspec.Struct):
    acpella: _TurnNote = msgspec.field(default_factory=_TurnNote)


class InfoUpdate(msgspec.Struct):
    """An update that may name the session, and say whether a turn runs at another node."""

    kind: str = msgspec.field(name="sessionUpdate", default="")
    title: str | None = None
    meta: _InfoMeta = msgspec.field(name="_meta", default_factory=_InfoMeta)


class _Cancel(msgspec.Struct):
    request_id: Raw = msgspec.field(name="requestId")


_update_decoder = msgspec.json.Decoder(AgentUpdate)
_info_decoder = msgspec.json.Decoder(InfoUpdate)
_cancel_decoder = msgspec.json.Decoder(_Cancel)


def read_update(frame: Frame) -> AgentUpdate | None:
    """A `session/update`; None if it cannot be read."""
    try:
        return _update_decoder.decode(frame.envelope.params)
    except UNREADABLE:
        return None


def read_info(update: Raw) -> InfoUpdate | None:
    """An update, if it is a `session_info_update`."""
    if b'"session_info_update"' not in bytes(update):
        return None
    try:
        info = _info_decoder.decode(update)
    except UNREADABLE:
        return None
    return info if info.kind == "session_info_update" else None


def read_cancelled(frame: Frame) -> bytes | None:
    """The id of the request that a `$/cancel_request` is about; None if it cannot be read."""
    try:
        return bytes(_cancel_decoder.decode(frame.envelope.params).request_id)
    except UNREADABLE:
        return None


def error_of(response: Frame) -> RpcError:
    """The error that the agent answered with."""
    try:
        error = msgspec.json.decode(response.envelope.error)
        return RpcError(
            str(error.get("message", "")), code=int(error.get("code", -32603)), data=error.get("data")
        )
    except (*UNREADABLE, AttributeError, TypeError, ValueError):
        return RpcError("the agent answered with an error that cannot be read", code=-32603)

"""Errors on the way from a daemon to its clients: what crosses the socket, and what it was before."""

from typing import Any

from acpella._plain_json import as_dict
from acpella.errors import AcpellaError, ConnectionClosed, RpcError, TransportError, Unsupported

__all__ = ["from_wire", "to_wire"]


def to_wire(error: BaseException) -> RpcError:
    """An error as a waiting client gets it; `from_wire` makes the same error of it again."""
    if isinstance(error, RpcError):
        return error
    told: dict[str, Any] = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ConnectionClosed):
        told = {
            "kind": "ConnectionClosed",
            "text": error.reason,
            "exitCode": error.exit_code,
            "signal": error.signal,
            "stderr": error.stderr_tail,
        }
    elif getattr(error, "stderr_tail", ""):
        told |= {"text": str(error.args[0]), "stderr": getattr(error, "stderr_tail", "")}
    return RpcError(told["text"], data={"acpella": told})


def from_wire(error: RpcError) -> AcpellaError | TimeoutError:
    """The error that a daemon told of, as if it had happened here."""
    told = as_dict(as_dict(error.data).get("acpella"))
    if not told:
        return error
    text, tail = str(told.get("text", "")), str(told.get("stderr") or "")
    kind = told.get("kind")
    if kind == "ConnectionClosed":
        return ConnectionClosed(
            text, exit_code=told.get("exitCode"), signal=told.get("signal"), stderr_tail=tail
        )
    if kind == "Unsupported":
        return Unsupported(text)
    if kind == "TimeoutError":
        return TimeoutError(text)
    if kind == "SettingsError":
        from acpella.client import SettingsError

        return SettingsError(text)
    return TransportError(text, stderr_tail=tail)

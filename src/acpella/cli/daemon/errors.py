"""Errors on the way from a daemon to its clients: what crosses the socket, and what it was before."""

from typing import Any

from acpella._plain_json import as_dict
from acpella.errors import AcpellaError, ConnectionClosed, RpcError, TransportError, Unsupported

__all__ = ["from_wire", "to_wire"]


def to_wire(error: BaseException) -> RpcError:
    """An error as a waiting client gets it; `from_wire` makes the same error of it again."""
    if isinstance(error, RpcError):
        return error
    data: dict[str, Any] = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ConnectionClosed):
        data = {
            "kind": "ConnectionClosed",
            "text": error.reason,
            "exitCode": error.exit_code,
            "signal": error.signal,
            "stderr": error.stderr_tail,
            "answered": error.answered,
        }
    elif getattr(error, "stderr_tail", ""):
        data |= {"text": str(error.args[0]), "stderr": getattr(error, "stderr_tail", "")}
    return RpcError(data["text"], data={"acpella": data})


def from_wire(error: RpcError) -> AcpellaError | TimeoutError:
    """The error that a daemon told of, as if it had happened here."""
    data = as_dict(as_dict(error.data).get("acpella"))
    if not data:
        return error
    text, tail = str(data.get("text", "")), str(data.get("stderr") or "")
    kind = data.get("kind")
    if kind == "ConnectionClosed":
        return ConnectionClosed(
            text,
            exit_code=data.get("exitCode"),
            signal=data.get("signal"),
            stderr_tail=tail,
            answered=bool(data.get("answered", True)),
        )
    if kind == "Unsupported":
        return Unsupported(text)
    if kind == "TimeoutError":
        return TimeoutError(text)
    if kind == "SettingsError":
        from acpella.client import SettingsError

        return SettingsError(text)
    return TransportError(text, stderr_tail=tail)

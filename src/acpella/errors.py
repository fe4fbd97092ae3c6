"""Everything acpella raises, in one tree; each class answers "who must act?".

    AcpellaError
    ├── RpcError                  the peer answered with an error, or a handler wants to answer with one
    │   ├── ParseError            -32700  what was sent is not JSON
    │   ├── InvalidRequest        -32600  not a request, or not now
    │   ├── MethodNotFound        -32601  the peer has no such method
    │   ├── InvalidParams         -32602  the parameters break the schema
    │   ├── InternalError         -32603  the peer failed; its log says why
    │   ├── AuthRequired          -32000  log in first
    │   ├── Overloaded            -32001  too much at once; try again later
    │   ├── ResourceNotFound      -32002  no such file or session
    │   └── RequestCancelled      -32800  somebody cancelled the request
    ├── ProtocolError
    │   ├── LocalProtocolError    this program used the protocol wrongly
    │   └── RemoteProtocolError   the peer did
    ├── ConnectionClosed          the conversation is over; says why, with the child's exit and stderr
    ├── TransportError            the peer could not be started or reached
    ├── Unsupported               the peer does not offer this
    └── StoreError                a session could not be read or kept (in `acpella.sessions`)

Time limits raise the builtin `TimeoutError`.
"""

from typing import Any, ClassVar

__all__ = [
    "AcpellaError",
    "AuthRequired",
    "ConnectionClosed",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "LocalProtocolError",
    "MethodNotFound",
    "Overloaded",
    "ParseError",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestCancelled",
    "ResourceNotFound",
    "RpcError",
    "TransportError",
    "Unsupported",
    "stderr_note",
]


LONGEST_DETAIL = 500
"""Characters of an error's data that its message shows."""


class AcpellaError(Exception):
    """Base of all errors of this package."""


class RpcError(AcpellaError):
    """An error answer. Raise it in a handler to send it; only this kind crosses the wire as written."""

    code: int = -32603
    default_message: ClassVar[str] = "Internal error"

    def __init__(self, message: str | None = None, *, data: Any = None, code: int | None = None) -> None:
        self.message: str = message or self.default_message
        self.data: Any = data
        if code is not None:
            self.code = code
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.reason} ({self.code})"

    @property
    def reason(self) -> str:
        """The message, with what the data adds to it."""
        detail = self._detail()
        return f"{self.message}: {detail}" if detail else self.message

    def _detail(self) -> str:
        """What the data adds for a reader; many agents put the reason there and call all else internal."""
        data: Any = self.data
        if isinstance(data, dict):
            table: dict[str, Any] = data  # pyright: ignore[reportUnknownVariableType] - any JSON
            data = next(
                (table[key] for key in ("details", "detail", "reason", "message", "error") if table.get(key)),
                "",
            )
        if not isinstance(data, str) or data in self.message:
            return ""
        return data if len(data) <= LONGEST_DETAIL else data[:LONGEST_DETAIL] + "..."

    @staticmethod
    def from_wire(code: int, message: str, data: Any = None) -> "RpcError":
        """The error of the class that stands for this code."""
        return _BY_CODE.get(code, RpcError)(message, data=data, code=code)


class ParseError(RpcError):
    """What was sent is not JSON."""

    code = -32700
    default_message = "Parse error"


class InvalidRequest(RpcError):
    """It is not a request, or it came at the wrong time."""

    code = -32600
    default_message = "Invalid request"


class MethodNotFound(RpcError):
    """The peer does not have this method."""

    code = -32601
    default_message = "Method not found"


class InvalidParams(RpcError):
    """The parameters do not fit the method."""

    code = -32602
    default_message = "Invalid params"


class InternalError(RpcError):
    """The peer failed while it worked on the request; its log says why."""

    code = -32603
    default_message = "Internal error"


class AuthRequired(RpcError):
    """The agent wants a login first."""

    code = -32000
    default_message = "Authentication required"


class Overloaded(RpcError):
    """The peer has too much to do; try again later."""

    code = -32001
    default_message = "Too many requests at once"


class ResourceNotFound(RpcError):
    """There is no such file or session."""

    code = -32002
    default_message = "Resource not found"


class RequestCancelled(RpcError):
    """Somebody cancelled the request."""

    code = -32800
    default_message = "Request cancelled"


_BY_CODE: dict[int, type[RpcError]] = {
    kind.code: kind
    for kind in (
        ParseError,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
        InternalError,
        AuthRequired,
        Overloaded,
        ResourceNotFound,
        RequestCancelled,
    )
}


class ProtocolError(AcpellaError):
    """The rules of the protocol were broken."""


class LocalProtocolError(ProtocolError):
    """This program asked for something that the protocol does not allow."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that cannot be used."""


class ConnectionClosed(AcpellaError):
    """The conversation is over. Every pending call gets one, and so does every later call."""

    def __init__(
        self,
        reason: str,
        *,
        clean: bool = False,
        exit_code: int | None = None,
        signal: str | None = None,
        stderr_tail: str = "",
        frames: tuple[str, ...] = (),
        answered: bool = True,
    ) -> None:
        self.reason = reason
        self.clean = clean
        """True when one side closed on purpose."""
        self.exit_code = exit_code
        self.signal = signal
        self.stderr_tail = stderr_tail
        """The last lines that the peer's process wrote to stderr."""
        self.frames = frames
        """The last frames in both directions, shortened and without secrets."""
        self.answered = answered
        """False when the peer ended before it answered `initialize`: it never really started."""
        super().__init__(reason)

    def __str__(self) -> str:
        return self.reason + stderr_note(self.stderr_tail)

    def again(self) -> "ConnectionClosed":
        """The same news for one more listener, with a traceback of its own."""
        return ConnectionClosed(
            self.reason,
            clean=self.clean,
            exit_code=self.exit_code,
            signal=self.signal,
            stderr_tail=self.stderr_tail,
            frames=self.frames,
            answered=self.answered,
        )


class Unsupported(AcpellaError):
    """The peer does not offer what was asked for."""


class TransportError(AcpellaError):
    """The peer could not be started or reached."""

    def __init__(self, message: str, *, stderr_tail: str = "") -> None:
        self.stderr_tail = stderr_tail
        super().__init__(message)

    def __str__(self) -> str:
        return str(self.args[0]) + stderr_note(self.stderr_tail)


def stderr_note(tail: str, *, lines: int = 10) -> str:
    """The end of a peer's stderr as a paragraph of an error message."""
    last = [line for line in tail.splitlines() if line.strip()][-lines:]
    if not last:
        return ""
    return "\nThe last lines it wrote to stderr:\n" + "\n".join(f"  {line}" for line in last)

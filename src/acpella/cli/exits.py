"""What the exit code says."""

from acpella.errors import (
    AuthRequired,
    ConnectionClosed,
    Overloaded,
    ProtocolError,
    RpcError,
    TransportError,
    Unsupported,
)

__all__ = ["CODES", "code_for"]

DONE = 0
USAGE = 2
NOT_FOUND = 3
CRASHED = 4
AUTH = 5
REFUSED = 6
TIMEOUT = 7
PROTOCOL = 8
BUSY = 9
DENIED = 10
CANCELLED = 130

CODES = {
    DONE: "the turn ended",
    USAGE: "the command line or the settings are wrong",
    NOT_FOUND: "the agent did not start, cannot be reached, or its server refuses the token",
    CRASHED: "the agent died",
    AUTH: "the agent wants a login",
    REFUSED: "the agent refused, or does not offer what was asked for",
    TIMEOUT: "the time limit was reached",
    PROTOCOL: "the agent answered with an error or with nonsense",
    BUSY: "too many prompts wait in the session",
    DENIED: "the turn ended, but something that the agent asked for was refused",
    CANCELLED: "cancelled by Ctrl-C or `acpella cancel`",
}


def code_for(error: BaseException) -> int:
    """The exit code for what went wrong."""
    if isinstance(error, ConnectionClosed) and not error.answered:
        return NOT_FOUND
    for kind, code in (
        (AuthRequired, AUTH),
        (Overloaded, BUSY),
        (Unsupported, REFUSED),
        (TransportError, NOT_FOUND),
        (ConnectionClosed, CRASHED),
        (TimeoutError, TIMEOUT),
        (RpcError, PROTOCOL),
        (ProtocolError, PROTOCOL),
    ):
        if isinstance(error, kind):
            return code
    return USAGE

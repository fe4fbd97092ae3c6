"""Why a connection was closed, as the codes that WebSockets have for it; the metrics use words."""

from enum import IntEnum

__all__ = ["CloseCode"]


class CloseCode(IntEnum):
    """What a WebSocket is closed with. `docs/how-to/operate.md` says them to users."""

    ENDED = 1000
    STOPPING = 1001
    NOT_INITIALIZED = 1002
    VANISHED = 1005
    """Never sent: the client closed it, or is gone without a word."""
    LIMIT = 1008
    TOO_LONG = 1009
    AGENT = 1011
    """The agent has ended, or could not be started."""
    MOVED = 1012
    """Another node goes on with the connection."""
    DATABASE = 1013
    TAKEN_OVER = 4001
    """The client came back with another socket."""

"""Profiles: the ways to speak ACP over the network, as far as a connection has to know them."""

from dataclasses import dataclass

__all__ = ["CLIENT_ID", "HTTP", "SESSION_HEADER", "WEBSOCKET", "Profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """How a client reaches its connection."""

    name: str
    """In logs and metrics."""

    one_stream: bool = False
    """One stream carries everything. Otherwise sessions may have streams of their own."""

    session_streams: bool = False
    """The client opens a stream for each session that it makes, so what is for the session waits there."""

    answer_streams: bool = False
    """Each request is answered by a stream of its own, which ends with the answer."""

    comes_back: bool = True
    """A client that does not confirm what it gets can still come back for its last messages."""


HTTP = Profile("http", session_streams=True)
"""The official Streamable HTTP transport."""

WEBSOCKET = Profile("websocket", one_stream=True, comes_back=False)
"""The official WebSocket transport."""

CLIENT_ID = Profile("client_id", one_stream=True)
"""`POST /acp/rpc?client_id=…`; everything comes on `GET /acp/sse?client_id=…`."""

SESSION_HEADER = Profile("stream", answer_streams=True)
"""`POST /acp` is answered by an event stream; `Acp-Session-Id` names the connection."""

"""JSON-RPC 2.0 without ACP: a sans-IO `Peer`, and a `Connection` that drives it over a `Channel`."""

from .channel import Channel, ChannelInfo, PeerProcess, Receiver
from .connection import Connection, Handler, current_request
from .framing import Framing
from .limits import Limits
from .message import RequestId
from .peer import (
    CancelRequested,
    Event,
    Failure,
    Method,
    Noise,
    Notification,
    Peer,
    Reply,
    Request,
    Vocabulary,
)

__all__ = [
    "CancelRequested",
    "Channel",
    "ChannelInfo",
    "Connection",
    "Event",
    "Failure",
    "Framing",
    "Handler",
    "Limits",
    "Method",
    "Noise",
    "Notification",
    "Peer",
    "PeerProcess",
    "Receiver",
    "Reply",
    "Request",
    "RequestId",
    "Vocabulary",
    "current_request",
]

"""JSON-RPC 2.0 without ACP: a sans-IO `Peer`, and a `Connection` that drives it over a `Channel`."""

from .channel import Channel, ChannelInfo, PeerProcess, Receiver
from .connection import Connection, Handler, current_request
from .framing import Framing
from .limits import Limits
from .message import RequestId
from .peer import (
    CancelRequested,
    Failure,
    Method,
    Noise,
    Notification,
    Peer,
    PeerEvent,
    Reply,
    Request,
    Vocabulary,
)

__all__ = [
    "CancelRequested",
    "Channel",
    "ChannelInfo",
    "Connection",
    "Failure",
    "Framing",
    "Handler",
    "Limits",
    "Method",
    "Noise",
    "Notification",
    "Peer",
    "PeerEvent",
    "PeerProcess",
    "Receiver",
    "Reply",
    "Request",
    "RequestId",
    "Vocabulary",
    "current_request",
]

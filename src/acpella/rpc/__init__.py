"""JSON-RPC 2.0 without ACP: a sans-IO `Peer`, and a `Connection` that drives it over a `Channel`."""

from .channel import Channel, ChannelInfo, PeerProcess, Receiver
from .connection import Connection
from .events import CancelRequested, Failure, Noise, Notification, PeerEvent, Reply, Request
from .framing import Framing
from .handlers import Handler
from .limits import Limits
from .message import RequestId
from .peer import Peer
from .requests import current_request
from .vocabulary import Method, Vocabulary

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

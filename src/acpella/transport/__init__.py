"""Bytes to and from peers: channels over stdio, child processes, Unix sockets and memory; HTTP and WebSocket
on demand."""

from typing import TYPE_CHECKING

from .memory import MemoryChannel, memory_pair
from .process import ProcessChannel
from .process_limits import ProcessLimits
from .stdio import StdioChannel
from .unix import UnixChannel

if TYPE_CHECKING:
    from .endpoint import Endpoint as Endpoint
    from .http import HttpChannel as HttpChannel
    from .websocket import WebSocketChannel as WebSocketChannel

__all__ = [
    "Endpoint",
    "HttpChannel",
    "MemoryChannel",
    "ProcessChannel",
    "ProcessLimits",
    "StdioChannel",
    "UnixChannel",
    "WebSocketChannel",
    "memory_pair",
]

_REMOTE = {"Endpoint": "endpoint", "HttpChannel": "http", "WebSocketChannel": "websocket"}
"""Few programs need these, so they are imported when they are used."""


def __getattr__(name: str) -> object:
    if name not in _REMOTE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_REMOTE[name]}"), name)

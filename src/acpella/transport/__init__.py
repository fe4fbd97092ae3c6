"""Bytes to and from peers: channels over stdio, child processes, Unix sockets and memory."""

from .memory import MemoryChannel, memory_pair
from .process import ProcessChannel
from .stdio import StdioChannel
from .unix import UnixChannel

__all__ = ["MemoryChannel", "ProcessChannel", "StdioChannel", "UnixChannel", "memory_pair"]

"""Bytes to and from peers: channels over stdio, child processes and memory."""

from .memory import MemoryChannel, memory_pair
from .process import ProcessChannel
from .stdio import StdioChannel

__all__ = ["MemoryChannel", "ProcessChannel", "StdioChannel", "memory_pair"]

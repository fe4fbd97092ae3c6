"""Conversations in files: written while they happen, read as a stream, played again."""

from .format import Begin, Damaged, Item, RecordedEvent, RecordedFrame
from .reader import NewerFormat, read, read_recording

__all__ = [
    "Begin",
    "Damaged",
    "Item",
    "NewerFormat",
    "RecordedEvent",
    "RecordedFrame",
    "read",
    "read_recording",
]

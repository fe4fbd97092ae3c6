"""Conversations in files: written while they happen, read as a stream, played again."""

from .format import Begin, Damaged, Event, Frame, Item
from .reader import NewerFormat, read, read_recording

__all__ = ["Begin", "Damaged", "Event", "Frame", "Item", "NewerFormat", "read", "read_recording"]

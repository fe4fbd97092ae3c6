"""The interface for code that may hold back and change messages while they are recorded."""

from collections.abc import Callable, Mapping
from typing import Protocol

from acpella.transport.pipe import PipeGate, Stream

from .queue import Note

__all__ = ["Interceptor"]


class Interceptor(Protocol):
    """Decides which messages get to and from a program that is being recorded."""

    @property
    def gates(self) -> Mapping[Stream, PipeGate]:
        """The gates that can hold back bytes, by stream."""
        ...

    def begin(self, note: Callable[[Note], None]) -> None:
        """Called when the program has started. `note` records what is done to a message."""
        ...

    def end(self) -> None:
        """Called when the program has ended."""
        ...

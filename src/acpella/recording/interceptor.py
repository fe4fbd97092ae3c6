"""Somebody who may hold and change messages while they are recorded."""

from collections.abc import Callable, Mapping
from typing import Protocol

from acpella.transport.pipe import PipeGate, Stream

from .queue import Note

__all__ = ["Interceptor"]


class Interceptor(Protocol):
    """Decides what passes a program that is recorded."""

    @property
    def gates(self) -> Mapping[Stream, PipeGate]:
        """Where bytes are kept back."""
        ...

    def begin(self, note: Callable[[Note], None]) -> None:
        """The program starts; `note` takes what is done to messages, for the recording."""
        ...

    def end(self) -> None:
        """The program has ended."""
        ...

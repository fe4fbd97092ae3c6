"""The target of a stream whose bytes are passed on, and a gate in front of it."""

import os
import select
import threading
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

__all__ = ["Pipe", "PipeGate", "Seen", "Stream", "close_descriptor"]

Stream: TypeAlias = Literal["out", "in", "err"]
"""`out` is what the program reads, `in` what it answers, `err` its stderr."""

Seen: TypeAlias = Callable[[Stream, bytes, float], None]
"""Gets each piece before it is passed on, and when it arrived. Called by several threads; must not wait."""


class Pipe:
    """Where the bytes of one stream go. Several threads may write, one after the other."""

    def __init__(self, stream: Stream, target: int, seen: Seen) -> None:
        self.stream: Stream = stream
        self._target = target
        self._seen = seen
        self._lock = threading.Lock()
        self._mid_line = False

    @property
    def mid_line(self) -> bool:
        """Whether what was written last had no end."""
        return self._mid_line

    def write(self, data: bytes | memoryview, at: float) -> None:
        """Pass bytes on. Raises OSError: the reader is gone."""
        with self._lock:
            # before anybody can answer: what is recorded keeps that order
            self._seen(self.stream, bytes(data), at)
            _write(self._target, data)
            self._mid_line = data[-1:] != b"\n"

    def close(self) -> None:
        """Nothing more is passed on."""
        close_descriptor(self._target)


class PipeGate(Protocol):
    """May keep the bytes of one stream back. While it is not `closed`, it is not asked."""

    closed: bool

    def attach(self, pipe: Pipe) -> None:
        """What the gate lets pass goes there."""
        ...

    def feed(self, data: bytes, at: float) -> None:
        """Bytes came while the gate was closed. May wait. Raises OSError: the reader is gone."""
        ...

    def finish(self) -> None:
        """No more bytes will come: what is kept back passes now. Raises OSError, as `feed`."""
        ...


def _write(target: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select([], [target], [])


def close_descriptor(descriptor: int) -> None:
    """Close what is behind a descriptor. The number stays taken, so that it means nothing else."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)

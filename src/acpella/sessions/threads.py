"""How often the interpreter changes between threads, for programs that are busy beside a SQLite store."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["quick_thread_switches"]

SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy thread gives way to another. With Python's own 5 ms, an event loop that never
rests but often releases the interpreter for a moment starves the threads of the store for seconds."""


@contextmanager
def quick_thread_switches() -> Generator[None]:
    """Give a store's threads their turn sooner when the event loop is always busy.

    This holds for the whole interpreter, so it is for programs to decide, not for libraries: `Agent.run` and
    `acpella serve` do.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(SWITCH_INTERVAL, before))
    try:
        yield
    finally:
        sys.setswitchinterval(before)

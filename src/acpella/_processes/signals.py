"""Signals that end a program in order, as far as the system has them."""

import asyncio
import signal
import sys
from collections.abc import Callable

__all__ = ["HANGUP", "on_signals", "signal_name"]

HANGUP: "tuple[signal.Signals, ...]" = () if sys.platform == "win32" else (signal.SIGHUP,)
"""The terminal was closed; Windows has no such signal."""


def on_signals(numbers: "tuple[signal.Signals, ...]", callback: Callable[[], object]) -> bool:
    """Call something in the event loop for each signal; False where loops cannot (Windows)."""
    loop = asyncio.get_running_loop()
    try:
        for number in numbers:
            loop.add_signal_handler(number, callback)
    except NotImplementedError:
        return False
    return True


def signal_name(number: int) -> str:
    """The name of a signal, for people."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

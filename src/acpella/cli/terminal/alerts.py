"""What the library warns of while a command talks to an agent, in lines of their own beside the answer."""

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["alerts_to"]

LONGEST = 1000
"""Characters of one warning. An agent's garbage may be megabytes."""

AT_ONCE = 10
EVERY = 5.0
"""Warnings that are told at once, and the seconds between further ones. An agent may print nothing else."""


@contextmanager
def alerts_to(tell: Callable[[str], None], *, verbose: bool) -> Generator[None]:
    """Let `tell` show warnings, in the event loop's thread.

    Warnings about slightly malformed messages of the agent, and tracebacks of errors, are shown only with
    `verbose`.
    """
    handler = _Alerts(tell, verbose=verbose)
    logger = logging.getLogger("acpella")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.tell_rest()


class _Alerts(logging.Handler):
    def __init__(self, tell: Callable[[str], None], *, verbose: bool) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell
        self._verbose = verbose
        self._loop = asyncio.get_running_loop()
        self._left, self._refilled = float(AT_ONCE), self._loop.time()
        self._untold = 0
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if self._verbose:
            text = self.format(record)[:LONGEST]
        else:
            if record.name.startswith("acpella.schema") or not self._has_room():
                return
            error = record.exc_info[1] if record.exc_info else None
            text = (record.getMessage() + (f": {error!r}" if error is not None else ""))[:LONGEST]
            if self._untold:
                text += f" (and {self._untold} more)"
                self._untold = 0
        if threading.get_ident() == self._thread:
            self._tell(text)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, text)

    def _has_room(self) -> bool:
        """Whether another warning may be told now; if not, it is counted."""
        now = self._loop.time()
        self._left = min(self._left + (now - self._refilled) / EVERY, AT_ONCE)
        self._refilled = now
        if self._left < 1:
            self._untold += 1
            return False
        self._left -= 1
        return True

    def tell_rest(self) -> None:
        """Say how many warnings were not told."""
        if self._untold:
            self._tell(f"{self._untold} more warnings; -v shows all")
            self._untold = 0

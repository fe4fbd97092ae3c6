"""What a hosted command writes to stderr, as lines of the log: few, short, and without secrets."""

import logging
import time
from collections.abc import Callable

from acpella._redact import redact

from .logs import MAX_LINE, one_line

__all__ = ["CommandLog"]

log: logging.Logger = logging.getLogger("acpella.command")

AT_ONCE = 100
PER_SECOND = 10.0
"""Lines of one connection that are logged. Without it, one prompt could fill the disk."""

READ = 4 * MAX_LINE
"""Bytes of a line that are looked at: more than are shown, so that no secret is cut in two unseen."""


class CommandLog:
    """Gets the bytes of one command. What it prints may look like anything, our own lines included."""

    def __init__(self, label: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts = {"facts": {"connection": label}}
        self._clock = clock
        self._level = float(AT_ONCE)
        self._then = clock()
        self._rest = b""
        self._left_out = 0

    def __call__(self, data: bytes) -> None:
        """More of its output."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:READ]
        for line in lines:
            self._tell(line)

    def end(self) -> None:
        """The command has ended: log its last line, even without a line break."""
        if self._rest:
            self._tell(self._rest)
            self._rest = b""
        self._tell_left_out()

    def _tell(self, line: bytes) -> None:
        now = self._clock()
        self._level = min(float(AT_ONCE), self._level + (now - self._then) * PER_SECOND)
        self._then = now
        if self._level < 1:
            self._left_out += 1
            return
        self._level -= 1
        self._tell_left_out()
        text = redact(line[:READ].decode("utf-8", "replace").rstrip("\r"))
        if text.strip():
            log.info("%s", one_line(text), extra=self._facts)

    def _tell_left_out(self) -> None:
        if self._left_out:
            log.info("… %d lines left out", self._left_out, extra=self._facts)
            self._left_out = 0

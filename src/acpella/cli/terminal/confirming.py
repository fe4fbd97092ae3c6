"""Questions that are answered with yes or no, before a program has anything else to do."""

import sys

from .reveal import reveal

__all__ = ["can_ask", "confirm"]


def can_ask() -> bool:
    """Whether somebody is there to decide."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str) -> bool:
    """Ask on stderr. Enter is no, and so is what was typed before the question could be read.

    What others put into the question cannot move the cursor.
    """
    if sys.platform != "win32" and sys.stdin.isatty():
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stdout.flush()
    sys.stderr.write(f"{reveal(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

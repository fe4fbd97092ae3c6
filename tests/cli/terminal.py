"""A program on a real pseudo-terminal, with its screen as a person sees it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte

PATIENCE = 60.0
"""Seconds until something must have appeared; only a failing test waits so long."""


class Terminal:
    """Starts a command on a pseudo-terminal. `see` waits until the screen shows something."""

    def __init__(
        self, command: list[str], *, cwd: Path, columns: int = 80, rows: int = 24, **env: str
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=20_000, ratio=0.001)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        self.code: int | None = None
        own = {name: str(cwd) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
        full = {**os.environ, **own, "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1", **env}
        for name in ("NO_COLOR", "COLORTERM", "COLUMNS", "LINES"):
            if name not in env:
                full.pop(name, None)
        self.fd, child = pty.openpty()
        self._set_size(columns, rows)
        self.modes = termios.tcgetattr(child)
        self._child = child  # kept open, so that what was written last can be read
        self.process = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=cwd,
            env=full,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    # -- using it ----------------------------------------------------------------------------

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)
        os.kill(self.process.pid, signal.SIGWINCH)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def all(self) -> str:
        """What is on the screen and what has scrolled away."""
        top = [
            "".join(row[x].data for x in range(self.screen.columns)).rstrip()
            for row in self.screen.history.top
        ]
        return "\n".join([*top, self.text()])

    def see(self, pattern: str, *, gone: bool = False, patience: float = PATIENCE) -> str:
        """Wait until the screen or its history matches, or no longer does."""
        deadline = time.monotonic() + patience
        while True:
            shown = self.all()
            if (re.search(pattern, shown) is not None) != gone:
                return shown
            if time.monotonic() > deadline or (not self._read(deadline) and self.process.poll() is not None):
                raise AssertionError(f"{'still ' if gone else 'never '}seen: {pattern}\n{shown}")

    def wait(self) -> int:
        """Read until the program has ended; returns its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end\n{self.all()}"
            self._read(time.monotonic() + 0.05)
        while self._read(time.monotonic() + 0.05):
            pass
        return self.process.returncode

    def is_cooked(self) -> bool:
        """Whether the terminal is in the same mode as before the program started."""
        return termios.tcgetattr(self._child)[:4] == self.modes[:4]

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], max(0.0, min(until - time.monotonic(), 0.2)))
        if not ready:
            return False
        data = os.read(self.fd, 65536)
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)
        os.close(self._child)


def acpella(*arguments: str, cwd: Path, columns: int = 80, rows: int = 24, **env: str) -> Terminal:
    """`acpella …` on a terminal."""
    command = [sys.executable, "-m", "acpella", *arguments]
    return Terminal(command, cwd=cwd, columns=columns, rows=rows, **env)

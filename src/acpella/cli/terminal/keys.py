"""Single keys and lines from the terminal, without a library and without a thread left behind."""

import asyncio
import atexit
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from acpella._processes import HANGUP
from acpella.errors import Unsupported

__all__ = ["HAS_KEYS", "Keys", "interrupt", "open_keys", "read_line"]

HAS_KEYS = sys.platform != "win32"
"""Whether single keys can be read here."""

NO_KEYS = "acpella asks nothing in a Windows console; decide beforehand with --write or --yolo, or use WSL"

ESCAPE_WAIT = 0.05
"""Seconds after which an escape character was the Esc key, and not the begin of an arrow key or the like."""

_saved: list[Any] = []
_reading: list[Callable[[bytes], Any]] = []  # whoever reads now


def interrupt() -> bool:
    """Ctrl-C was pressed: whoever reads gets no answer. False if nobody does."""
    for take in _reading:
        take(b"\x03")
    return bool(_reading)


class Keys:
    """Keys as they are pressed, one string each: a character, or the sequence of a special key."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._news = asyncio.Event()
        self._ended = False

    def received(self, data: bytes) -> None:
        self._bytes += data
        self._ended = self._ended or not data
        self._news.set()

    async def read(self) -> str:
        """The next key; empty when the terminal is gone."""
        while not self._bytes:
            if self._ended:
                return ""
            self._news.clear()
            await self._news.wait()
        first = self._bytes[0]
        if first == 0x1B and len(self._bytes) == 1:
            await asyncio.sleep(ESCAPE_WAIT)  # the rest of a sequence follows at once
        if first == 0x1B and len(self._bytes) > 1:
            return self._take(self._sequence())
        size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        while len(self._bytes) < size and not self._ended:
            self._news.clear()
            await self._news.wait()
        return self._take(size)

    def _sequence(self) -> int:
        if self._bytes[1] not in b"[O":
            return 2
        for index in range(2, len(self._bytes)):
            if 0x40 <= self._bytes[index] <= 0x7E:
                return index + 1
        return len(self._bytes)

    def _take(self, size: int) -> str:
        key = self._bytes[:size].decode("utf-8", "replace")
        del self._bytes[:size]
        return key


@asynccontextmanager
async def open_keys() -> AsyncGenerator[Keys]:
    """Read keys one by one, unseen. What was typed before counts for nothing. Ctrl-C stays a signal."""
    fd = sys.stdin.fileno()
    keys = Keys()
    loop = asyncio.get_running_loop()
    with _terminal_mode(fd, echo=False, lines=False):
        loop.add_reader(fd, lambda: keys.received(_read(fd)))
        _reading.append(keys.received)
        try:
            yield keys
        finally:
            _reading.remove(keys.received)
            loop.remove_reader(fd)


async def read_line(show_question: Callable[[], None], *, secret: bool = False) -> str | None:
    """A line as the user typed it, with the terminal's own editing; None for Ctrl-D and Ctrl-C.

    The terminal is set before the question is shown: whoever sees it can type a secret at once.
    """
    fd = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def take(data: bytes) -> None:
        if not line.done():
            line.set_result(data)

    with _terminal_mode(fd, echo=not secret, lines=True):
        loop.add_reader(fd, lambda: take(_read(fd)))
        _reading.append(take)
        try:
            show_question()
            data = await line
        finally:
            _reading.remove(take)
            loop.remove_reader(fd)
    if secret:
        sys.stderr.write("\n")
        sys.stderr.flush()
    return data.decode("utf-8", "replace").rstrip("\r\n") if data not in (b"", b"\x03") else None


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""  # hung up


@contextmanager
def _terminal_mode(fd: int, *, echo: bool, lines: bool) -> Generator[None]:
    """Set the terminal, and set it back whatever happens. Single keys begin with those typed from now on.

    Raises:
        Unsupported: the terminals of this system are another kind.
    """
    if sys.platform == "win32":
        raise Unsupported(NO_KEYS)
    import termios

    before = termios.tcgetattr(fd)
    mode = termios.tcgetattr(fd)
    for flag, on in ((termios.ECHO, echo), (termios.ICANON, lines), (termios.ISIG, True)):
        mode[3] = mode[3] | flag if on else mode[3] & ~flag
    mode[0] |= termios.ICRNL
    if not lines:
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
    _saved.append((fd, before))
    atexit.register(_restore)
    deadly = [n for n in (signal.SIGTERM, *HANGUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in deadly:
        signal.signal(number, _die)
    termios.tcsetattr(fd, termios.TCSADRAIN, mode)
    if not lines:
        termios.tcflush(fd, termios.TCIFLUSH)
    try:
        yield
    finally:
        _restore()
        for number in deadly:
            signal.signal(number, signal.SIG_DFL)


def _die(number: int, frame: object) -> None:
    """End as the signal says, but not before the terminal is as it was."""
    _restore()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _restore() -> None:
    """Set the terminal back; also the last resort, when the program ends in the middle of a question."""
    atexit.unregister(_restore)
    if sys.platform == "win32":
        return
    import termios

    while _saved:
        fd, mode = _saved.pop()
        try:
            termios.tcsetattr(fd, termios.TCSADRAIN, mode)
        except (OSError, termios.error):
            pass

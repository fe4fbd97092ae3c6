"""Shows updates only after they are in the log, as a server must: what a client has seen cannot be lost."""

import asyncio
from collections.abc import Awaitable, Callable

from acpella.errors import AcpellaError
from acpella.schema import SessionUpdate
from acpella.sessions import StoreError

from .log_writer import LogWriter

__all__ = ["LogFirst"]

ROOM = 1024
ROOM_BYTES = 256 * 1024
"""Updates, and about how many bytes of them, that may wait for the log before their sender waits too."""


class LogFirst:
    """A queue between a session and its editor. What gathers while one write goes to disk shares the next."""

    def __init__(self, log_writer: LogWriter, send: Callable[[SessionUpdate], Awaitable[None]]) -> None:
        self._log_writer = log_writer
        self._send = send
        self._waiting: list[SessionUpdate] = []
        self._size = 0
        self._pump: asyncio.Task[None] | None = None
        self._error: AcpellaError | None = None

    async def show(self, update: SessionUpdate, size: int) -> None:
        """Send an update when it is safe.

        Raises:
            StoreError: it cannot be written, and there is no room for more that waits.
            ConnectionClosed: the editor is gone.
        """
        if isinstance(self._error, StoreError):
            self._error = None  # perhaps of an earlier turn: what could not be written is tried again
        self._raise()
        self._waiting.append(update)
        self._size += size
        self._start()
        if (len(self._waiting) >= ROOM or self._size >= ROOM_BYTES) and self._pump is not None:
            await asyncio.wait([self._pump])
            self._raise()

    async def settled(self) -> None:
        """Wait until everything was shown.

        Raises:
            StoreError: it could not be written; it is shown once it could.
            ConnectionClosed: the editor is gone.
        """
        while self._waiting or self._pump is not None:
            self._raise()
            self._start()
            if self._pump is not None:
                await asyncio.wait([self._pump])
        self._raise()

    def forget(self) -> None:
        """What waits is in the log and will be read from there."""
        self._waiting.clear()
        if self._pump is not None:
            self._pump.cancel()

    async def close(self, seconds: float) -> None:
        """Let the last ones go out."""
        if self._pump is not None:
            await asyncio.wait([self._pump], timeout=seconds)
        self.forget()

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # its traceback has this frame

    def _start(self) -> None:
        if self._pump is None and self._waiting:
            self._pump = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._waiting:
                count = len(self._waiting)
                await self._log_writer.flush()
                in_log, self._waiting = self._waiting[:count], self._waiting[count:]
                self._size = 0  # of the few that came meanwhile
                for update in in_log:
                    await self._send(update)
        except AcpellaError as error:
            self._error = error
        finally:
            self._pump = None
            if self._error is None:
                self._start()  # what came while it was cancelled

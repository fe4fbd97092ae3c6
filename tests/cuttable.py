"""A TCP proxy that a test can cut: silently, as a firewall or a pulled plug does, or for the answers only."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["CuttableProxy", "cuttable_proxy"]

Mode: TypeAlias = Literal["open", "cut", "no answers"]


class CuttableProxy:
    """Forwards a loopback port to a Unix socket.

    While it is cut, nothing is forwarded and neither side notices: connections stay up, new ones are
    accepted. One that is opened or used during a cut stays dead, as after a change of routes.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._mode: Mode = "open"
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.swallowed = asyncio.Event()
        """Set when data were held back."""

    def set(self, mode: Mode) -> None:
        self._mode = mode
        self.swallowed.clear()

    def drop_all(self) -> None:
        """Close every connection."""
        for task in self._tasks:
            task.cancel()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.drop_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._mode == "cut":
                await asyncio.Event().wait()
            far_reader, far_writer = await asyncio.open_unix_connection(self._target)
            try:
                async with asyncio.TaskGroup() as group:
                    there = group.create_task(self._forward(reader, far_writer, answers=False))
                    back = group.create_task(self._forward(far_reader, writer, answers=True))
                    await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
                    there.cancel()
                    back.cancel()
            finally:
                far_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if self._mode == "cut" or (self._mode == "no answers" and answers):
                    self.swallowed.set()
                    await asyncio.Event().wait()
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def cuttable_proxy(target: Path) -> AsyncGenerator[CuttableProxy]:
    proxy = CuttableProxy(target)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()

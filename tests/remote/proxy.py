"""A TCP proxy that cuts, freezes and counts: the bad network between a client and a server."""

import asyncio
import random
from types import TracebackType
from typing import Self


class Proxy:
    """Forwards connections to a port of this machine. Use it as an async context manager."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = {}
        self._budgets: dict[asyncio.StreamWriter, int] = {}
        self._thawed = asyncio.Event()
        self._thawed.set()
        self.random: random.Random | None = None
        self.cuts_left = 0
        self.cuts = 0
        self.passed = 0
        """Bytes that went from the server to the client."""
        self.connections = 0
        self.refusing = False
        self.span: tuple[int, int] = (200, 20_000)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._thawed.set()
        self._server.close()
        self.cut_all()
        if self._open:
            await asyncio.wait(list(self._open), timeout=5)

    def cut_randomly(self, seed: int, cuts: int) -> None:
        """From now on, cut each connection after some bytes, so many times in all."""
        self.random = random.Random(seed)
        self.cuts_left = cuts

    def freeze(self) -> None:
        """Hold everything back without closing anything: half-open connections."""
        self._thawed.clear()

    def thaw(self) -> None:
        self._thawed.set()

    def cut_all(self) -> None:
        """Reset every connection that is open."""
        for pair in list(self._open.values()):
            for writer in pair:
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        try:
            there_reader, there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open[task] = (writer, there)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, there, back=False))
                group.create_task(self._pump(there_reader, writer, back=True))
        except* OSError:
            pass
        finally:
            for one in (writer, there):
                one.transport.abort()
            del self._open[task]

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, back: bool) -> None:
        left = self._budget()
        while data := await reader.read(65536):
            await self._thawed.wait()
            if left is None and self.random is not None:
                left = self._budget()
            if left is not None and self.cuts_left > 0:
                if len(data) >= left:  # in the middle of whatever this is
                    self.cuts_left -= 1
                    self.cuts += 1
                    writer.write(data[:left])
                    await asyncio.sleep(0)
                    raise ConnectionResetError("cut")
                left -= len(data)
            if back:
                self.passed += len(data)
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    def _budget(self) -> int | None:
        return None if self.random is None else self.random.randrange(*self.span)

"""Agents in processes of their own, driven by a `FakeEditor`."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acpella.errors import ConnectionClosed
from acpella.rpc import Connection
from agent.editor import FakeEditor
from interaction.ends import FdChannel
from interaction.wire import PLAIN

PROGRAM = Path(__file__).with_name("program.py")


class ChildChannel(FdChannel):
    """Keeps reading when its writing end is closed."""

    def _end(self, reason: ConnectionClosed) -> None:
        if reason.clean:
            super()._end(reason)


class Child(FakeEditor):
    """An editor with an agent process of its own."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", stderr: Path, capabilities: dict[str, Any]
    ) -> None:
        super().__init__(capabilities)
        self.process = process
        self._stderr = stderr
        assert process.stdin and process.stdout
        self.channel = ChildChannel(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
        process.stdin.close()
        process.stdout.close()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8")

    async def close_stdin(self) -> None:
        assert self.channel._writer is not None
        await self.channel._writer.close()

    async def exit_code(self) -> int:
        return await asyncio.to_thread(self.process.wait, 20)


@asynccontextmanager
async def running(
    name: str,
    *args: str,
    env: Mapping[str, str] | None = None,
    patience: float = 20,
    initialize: bool = True,
    command: list[str] | None = None,
    **capabilities: Any,
) -> AsyncIterator[Child]:
    """An agent of `program.py` as a process. It is killed at the end if it still runs."""
    stderr = Path(os.environ["HOME"]) / f"stderr-{time.monotonic_ns()}"
    with stderr.open("wb") as file:
        process = subprocess.Popen(  # noqa: ASYNC220 - starting takes no time, and the pipes are ours
            command or [sys.executable, str(PROGRAM), name, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            env={**os.environ, **(env or {})},
        )
    child = Child(process, stderr, capabilities)
    requests = {method: child._handler(method) for method in child.on}
    child.connection = Connection(
        child.channel, PLAIN, requests=requests, notifications={"session/update": child._heard}
    )
    try:
        async with asyncio.timeout(patience):
            await child.connection.open()
            try:
                if initialize:
                    await child.initialize()
                yield child
            finally:
                process.kill()
                await child.connection.close(grace=0)
                await asyncio.to_thread(process.wait)
        assert not child.malformed
    finally:
        process.kill()
        process.wait()

"""What a browser cannot do for an agent, done here: files and commands, inside the session's directory."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from acpella.client import Terminals, Workspace
from acpella.errors import InvalidParams, MethodNotFound, RpcError
from acpella.rpc.message import UNREADABLE
from acpella.rpc.relay import Frame
from acpella.schema import (
    CreateTerminalRequest,
    KillTerminalRequest,
    ReadTextFileRequest,
    ReleaseTerminalRequest,
    TerminalOutputRequest,
    WaitForTerminalExitRequest,
    WriteTextFileRequest,
)

from .session import SharedSession

__all__ = ["LocalServices", "as_error"]

SHOW_EVERY = 0.1
"""Seconds between looks at what a command has written."""

MAX_SHOWN = 1024 * 1024
"""About how many characters of one command's output go into a log; the agent gets all that it asked for."""


class LocalServices:
    """Answers `fs/…` and `terminal/…` of one agent."""

    def __init__(self, *, writes: bool) -> None:
        """Without `writes`, files are read and nothing else is offered."""
        self._writes = writes
        self._files = Workspace(write=writes)
        self._terminals = Terminals()
        self._following: set[asyncio.Task[None]] = set()

    def capabilities(self) -> dict[str, Any]:
        return {"fs": {"readTextFile": True, "writeTextFile": self._writes}, "terminal": self._writes}

    async def close(self) -> None:
        for task in self._following:
            task.cancel()
        await self._terminals.close()

    async def serve(self, session: SharedSession, frame: Frame) -> object:
        """The result of a request. Raises `RpcError`."""
        kind, handle = self._table(session).get(frame.method, (None, None))
        if kind is None or handle is None:
            raise MethodNotFound(f"{frame.method} is not offered here")
        try:
            request = msgspec.json.decode(frame.envelope.params, type=kind)
        except UNREADABLE as error:
            raise InvalidParams(str(error)) from None
        return await handle(request)

    def _table(self, session: SharedSession) -> "dict[str, tuple[Any, Callable[[Any], Awaitable[object]]]]":
        roots = [Path(session.cwd)]
        table: dict[str, tuple[Any, Callable[[Any], Awaitable[object]]]] = {
            "fs/read_text_file": (ReadTextFileRequest, lambda request: self._files.read(roots, request)),
        }
        if self._writes:
            terminals = self._terminals
            table |= {
                "fs/write_text_file": (
                    WriteTextFileRequest,
                    lambda request: _or_empty(self._files.write(roots, request)),
                ),
                "terminal/create": (
                    CreateTerminalRequest,
                    lambda request: self._create(session, roots, request),
                ),
                "terminal/output": (TerminalOutputRequest, terminals.output),
                "terminal/wait_for_exit": (WaitForTerminalExitRequest, terminals.wait_for_exit),
                "terminal/kill": (KillTerminalRequest, lambda request: _or_empty(terminals.kill(request))),
                "terminal/release": (
                    ReleaseTerminalRequest,
                    lambda request: _or_empty(terminals.release(request)),
                ),
            }
        return table

    async def _create(
        self, session: SharedSession, roots: list[Path], request: CreateTerminalRequest
    ) -> object:
        created = await self._terminals.create(roots, request)
        task = asyncio.get_running_loop().create_task(self._follow(session, created.terminal_id, request))
        self._following.add(task)
        task.add_done_callback(self._following.discard)
        return created

    async def _follow(self, session: SharedSession, terminal_id: str, request: CreateTerminalRequest) -> None:
        """Write into the log what a command writes, for as long as it runs."""
        words = [request.command, *request.args]
        in_shell = len(words) == 3 and words[1] in ("-c", "-lc")  # a shell, for the sake of what it runs
        command = words[2] if in_shell else " ".join(words)
        session.note("terminal", id=terminal_id, command=command)
        seen = noted = 0
        while (terminal := self._terminals.find(session.id, terminal_id)) is not None:
            status, output = terminal.exit_status, terminal.output
            if terminal.characters > seen and noted < MAX_SHOWN:
                news = output[-(terminal.characters - seen) :][:MAX_SHOWN]  # what was dropped is lost
                session.note("terminal", id=terminal_id, data=news)
                seen, noted = terminal.characters, noted + len(news)
            if status is not None:
                session.note(
                    "terminal", id=terminal_id, exit={"code": status.exit_code, "signal": status.signal}
                )
                return
            await asyncio.sleep(SHOW_EVERY)


async def _or_empty(done: "Awaitable[object]") -> object:
    result = await done
    return {} if result is None else result


def as_error(error: Exception) -> RpcError:
    """What an agent may know of a failure."""
    return (
        error
        if isinstance(error, RpcError)
        else RpcError("this failed here; the server's log says why", code=-32603)
    )

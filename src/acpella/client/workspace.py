"""What a client offers to agents: files beneath the session's roots, and terminals inside them."""

import asyncio
import os
import uuid
from collections.abc import Sequence
from pathlib import Path

from acpella.errors import InvalidParams, ResourceNotFound, RpcError
from acpella.local import CommandError, Jail, JailError, Terminal
from acpella.schema import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)

__all__ = ["Terminals", "Workspace"]

MAX_TERMINALS = 64
"""Terminals of one connection at once. Without it, an agent could start processes without end."""


class Workspace:
    """Serves files to agents: reads inside the session's roots, writes only if allowed.

    With `missing_is_empty`, a file that does not exist reads as empty text, which some agents need before
    they create it; the specification's answer is an error.
    """

    def __init__(self, *, write: bool = False, secrets: bool = True, missing_is_empty: bool = False) -> None:
        self.can_write = write
        self._secrets = secrets
        self._missing_is_empty = missing_is_empty

    async def read(self, roots: Sequence[Path], request: ReadTextFileRequest) -> ReadTextFileResponse:
        jail = Jail(roots, secrets=self._secrets)
        _check_absolute(request.path)
        try:
            text = await asyncio.to_thread(
                jail.read_text, request.path, line=request.line, limit=request.limit
            )
        except FileNotFoundError:
            if self._missing_is_empty:
                return ReadTextFileResponse(content="")
            raise ResourceNotFound(f"no file {request.path}", data={"uri": request.path}) from None
        except (JailError, OSError) as error:
            raise _refusal(error) from None
        return ReadTextFileResponse(content=text)

    async def write(self, roots: Sequence[Path], request: WriteTextFileRequest) -> WriteTextFileResponse:
        if not self.can_write:
            raise RpcError("this client does not let agents write files", code=-32601)
        _check_absolute(request.path)
        try:
            await asyncio.to_thread(
                Jail(roots, secrets=self._secrets).write_text, request.path, request.content
            )
        except (JailError, OSError) as error:
            raise _refusal(error) from None
        return WriteTextFileResponse()


class Terminals:
    """Runs commands for agents: real processes in groups of their own, started inside the session's roots."""

    def __init__(self) -> None:
        self._terminals: dict[tuple[str, str], Terminal] = {}

    async def create(self, roots: Sequence[Path], request: CreateTerminalRequest) -> CreateTerminalResponse:
        if len(self._terminals) >= MAX_TERMINALS:
            raise RpcError(f"{MAX_TERMINALS} terminals are open already; release some first", code=-32001)
        cwd = request.cwd or str(roots[0])
        _check_absolute(cwd)
        try:
            await asyncio.to_thread(Jail(roots, secrets=False).list_dir, cwd)
            terminal = await Terminal.start(
                request.command,
                request.args,
                cwd=cwd,
                env={variable.name: variable.value for variable in request.env},
                output_byte_limit=request.output_byte_limit,
            )
        except (JailError, CommandError, OSError) as error:
            raise _refusal(error) from None
        terminal_id = f"term_{uuid.uuid4().hex}"
        self._terminals[request.session_id, terminal_id] = terminal
        return CreateTerminalResponse(terminal_id=terminal_id)

    async def output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        terminal = self._find(request.session_id, request.terminal_id)
        status = terminal.exit_status
        return TerminalOutputResponse(
            output=terminal.output,
            truncated=terminal.truncated,
            exit_status=None
            if status is None
            else TerminalExitStatus(exit_code=status.exit_code, signal=status.signal),
        )

    async def wait_for_exit(self, request: WaitForTerminalExitRequest) -> WaitForTerminalExitResponse:
        status = await self._find(request.session_id, request.terminal_id).wait()
        return WaitForTerminalExitResponse(exit_code=status.exit_code, signal=status.signal)

    async def kill(self, request: KillTerminalRequest) -> None:
        await self._find(request.session_id, request.terminal_id).kill()

    async def release(self, request: ReleaseTerminalRequest) -> None:
        terminal = self._find(request.session_id, request.terminal_id)
        del self._terminals[request.session_id, request.terminal_id]
        await terminal.release()

    async def close(self, session_id: str | None = None) -> None:
        """End the terminals of a session, or all."""
        gone = [key for key in self._terminals if session_id is None or key[0] == session_id]
        await asyncio.gather(*(self._terminals.pop(key).release() for key in gone), return_exceptions=True)

    def _find(self, session_id: str, terminal_id: str) -> Terminal:
        terminal = self._terminals.get((session_id, terminal_id))
        if terminal is None:
            raise ResourceNotFound(f"no terminal {terminal_id!r}", data={"terminalId": terminal_id})
        return terminal


def _check_absolute(path: str) -> None:
    if not os.path.isabs(path):
        raise InvalidParams(f"a path must be absolute, not {path!r}")


def _refusal(error: Exception) -> RpcError:
    """What the agent, and so the user, may know of it."""
    return InvalidParams(str(error))

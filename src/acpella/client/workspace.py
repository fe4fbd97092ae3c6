"""What a client offers to agents: files beneath the session's roots, and terminals inside them."""

import asyncio
import os
from collections.abc import Mapping, Sequence
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

MAX_RELEASED = 32
"""Released terminals whose output can still be shown (R-347)."""


NEED_EMPTY = ("gemini-cli",)
"""Agents, as they name themselves, that look at a file before they create it and give up at an error."""


class Workspace:
    """Serves files to agents: reads inside the session's roots, writes only if allowed.

    A file that does not exist is an error, as the specification says. With `missing_is_empty` it reads as
    empty text; by default that is so for the agents that need it (`NEED_EMPTY`), and never with False.
    """

    def __init__(
        self, *, write: bool = False, secrets: bool = True, missing_is_empty: bool | None = None
    ) -> None:
        self.can_write = write
        self._secrets = secrets
        self._missing_is_empty = missing_is_empty

    async def read(
        self, roots: Sequence[Path], request: ReadTextFileRequest, *, agent: str | None = None
    ) -> ReadTextFileResponse:
        """Serve a file; `agent` is what the agent calls itself."""
        jail = Jail(roots, secrets=self._secrets)
        _check_absolute(request.path)
        try:
            text = await asyncio.to_thread(
                jail.read_text, request.path, line=request.line, limit=request.limit
            )
        except FileNotFoundError:
            if agent in NEED_EMPTY if self._missing_is_empty is None else self._missing_is_empty:
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
    """Runs commands for agents: real processes in groups of their own, started inside the session's roots.

    A command that runs longer than `timeout` seconds is ended with all it started; 0 for no limit. `env` is
    laid over this program's environment, and what the agent asks for over that.
    """

    def __init__(self, *, timeout: float = 0.0, env: Mapping[str, str] | None = None) -> None:
        self._timeout = timeout
        self._env = dict(env or {})
        self._terminals: dict[tuple[str, str], Terminal] = {}
        self._timers: dict[Terminal, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._released: dict[tuple[str, str], Terminal] = {}

    def find(self, session_id: str, terminal_id: str) -> Terminal | None:
        """A terminal to show, also a while after its release; None if it was never here."""
        key = (session_id, terminal_id)
        return self._terminals.get(key) or self._released.get(key)

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
                env={**self._env, **{variable.name: variable.value for variable in request.env}},
                output_byte_limit=request.output_byte_limit,
            )
        except (JailError, CommandError, OSError) as error:
            raise _refusal(error) from None
        terminal_id = f"term_{os.urandom(16).hex()}"
        self._terminals[request.session_id, terminal_id] = terminal
        if self._timeout:
            loop = asyncio.get_running_loop()
            self._timers[terminal] = loop.call_later(self._timeout, self._overdue, terminal)
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
        if len(self._released) >= MAX_RELEASED:
            del self._released[next(iter(self._released))]
        self._released[request.session_id, request.terminal_id] = terminal
        await self._release(terminal)

    async def close(self, session_id: str | None = None) -> None:
        """End the terminals of a session, or all."""
        gone = [key for key in self._terminals if session_id is None or key[0] == session_id]
        ending = [self._release(self._terminals.pop(key)) for key in gone]
        await asyncio.gather(*ending, *self._ending, return_exceptions=True)

    async def _release(self, terminal: Terminal) -> None:
        if (timer := self._timers.pop(terminal, None)) is not None:
            timer.cancel()
        await terminal.release()

    def _overdue(self, terminal: Terminal) -> None:
        self._timers.pop(terminal, None)
        if terminal.exit_status is None:
            task = asyncio.get_running_loop().create_task(terminal.kill(), name="overdue command")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

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

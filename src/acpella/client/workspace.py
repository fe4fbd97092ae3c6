"""What a client offers to agents: files beneath the session's roots, and terminals inside them."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from acpella.errors import InvalidParams, ResourceNotFound, RpcError
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

if TYPE_CHECKING:
    from acpella.local import LocalTerminal

__all__ = ["Terminals", "Workspace", "check_seconds"]

MAX_TERMINALS = 64
"""Terminals of one connection at once. Without it, an agent could start processes without end."""

MAX_RELEASED = 32
"""Released terminals whose output can still be shown (R-347)."""

MAX_KEPT = 128 * 1024 * 1024
"""Bytes of output that all terminals of a connection keep; then the oldest of the longest is dropped. Without
it, an agent could have 64 MiB for each of them."""


NEED_EMPTY = ("gemini-cli",)
"""Agents, as they name themselves, that look at a file before they create it and give up at an error."""


Refuse: TypeAlias = Callable[[str], str | None]
"""Returns why a path must not be touched, as the rest of a sentence that begins with the path; else None."""


class Workspace:
    """Serves files to agents: reads inside the session's roots, writes only if allowed.

    Files that programs run by themselves (`acpella.local.ACTING_NAMES`: what is in `.git`, tasks of editors)
    are read, but not written without `hooks`: the right to write would be one to run commands.

    A file that does not exist is an error, as the specification says. With `missing_is_empty` it reads as
    empty text; by default that is so for the agents that need it (`NEED_EMPTY`), and never with False.
    """

    def __init__(
        self,
        *,
        write: bool = False,
        hooks: bool = False,
        secrets: bool = True,
        missing_is_empty: bool | None = None,
    ) -> None:
        self.can_write = write
        self._hooks = hooks
        self._secrets = secrets
        self._missing_is_empty = missing_is_empty

    async def read(
        self,
        roots: Sequence[Path],
        request: ReadTextFileRequest,
        *,
        agent: str | None = None,
        refuse: Refuse | None = None,
    ) -> ReadTextFileResponse:
        """Serve a file; `agent` is what the agent calls itself, `refuse` knows what it must not read."""
        from acpella.local import Jail, JailError

        jail = Jail(roots, secrets=self._secrets, refuse=refuse)
        _check(request.path, refuse)
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

    async def write(
        self, roots: Sequence[Path], request: WriteTextFileRequest, *, refuse: Refuse | None = None
    ) -> WriteTextFileResponse:
        """Write a file; `refuse` knows what the agent must not write."""
        if not self.can_write:
            raise RpcError("this client does not let agents write files", code=-32601)
        from acpella.local import Jail, JailError

        _check(request.path, refuse)
        jail = Jail(roots, secrets=self._secrets, refuse=self._not_written(roots, refuse))
        try:
            await asyncio.to_thread(jail.write_text, request.path, request.content)
        except (JailError, OSError) as error:
            raise _refusal(error) from None
        return WriteTextFileResponse()

    def _not_written(self, roots: Sequence[Path], refuse: Refuse | None) -> Refuse | None:
        """What must not be written, of all that is inside the roots."""
        if self._hooks:
            return refuse
        from acpella.local import acting_name
        from acpella.local.names import own_directories

        homes = [os.path.realpath(root) for root in roots]
        own = own_directories(homes)

        def forbids(path: str) -> str | None:
            if refuse is not None and (why := refuse(path)):
                return why
            if any(Path(path).is_relative_to(directory) for directory in own):
                return "is not written: it belongs to acpella, which keeps there what agents may do"
            # of roots within each other the outer one counts: `.git/modules/x` offers no way around
            around = (home for home in homes if Path(path).is_relative_to(home))
            name = acting_name(path, min(around, key=len, default=os.sep))
            return name and (
                f"is not written: programs run by themselves what is in {name}. Whoever uses this agent "
                "can do it by hand, or allow it (`acpella run --yolo`, `Workspace(write=True, hooks=True)`)"
            )

        return forbids


class Terminals:
    """Runs commands for agents: real processes in groups of their own, started inside the session's roots.

    A command that runs longer than `timeout` seconds is ended with all it started; 0 for no limit. `env` is
    laid over this program's environment, and what the agent asks for over that. Tokens for acpella's own
    servers (`ACPELLA_TOKEN…`) and of the session database stay here.
    """

    def __init__(self, *, timeout: float = 0.0, env: Mapping[str, str] | None = None) -> None:
        check_seconds("timeout", timeout)
        self._timeout = timeout
        self._env = dict(env or {})
        self._terminals: dict[tuple[str, str], LocalTerminal] = {}
        self._timers: dict[LocalTerminal, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._released: dict[tuple[str, str], LocalTerminal] = {}

    def find(self, session_id: str, terminal_id: str) -> "LocalTerminal | None":
        """A terminal to show, also for a while after its release; None if it is not known, or no longer."""
        key = (session_id, terminal_id)
        return self._terminals.get(key) or self._released.get(key)

    async def create(self, roots: Sequence[Path], request: CreateTerminalRequest) -> CreateTerminalResponse:
        if len(self._terminals) >= MAX_TERMINALS:
            raise RpcError(f"{MAX_TERMINALS} terminals are open already; release some first", code=-32001)
        from acpella.local import CommandError, Jail, JailError, LocalTerminal

        cwd = request.cwd or str(roots[0])
        _check(cwd, None)
        try:
            await asyncio.to_thread(Jail(roots, secrets=False).list_dir, cwd)
            terminal = await LocalTerminal.start(
                request.command,
                request.args,
                cwd=cwd,
                env={**self._env, **{each.name: each.value for each in request.env}},
                output_byte_limit=request.output_byte_limit,
            )
        except (JailError, CommandError, OSError) as error:
            raise _refusal(error) from None
        terminal.on_growth = self._bound_output
        terminal_id = f"term_{os.urandom(16).hex()}"
        self._terminals[request.session_id, terminal_id] = terminal
        if self._timeout:
            loop = asyncio.get_running_loop()
            self._timers[terminal] = loop.call_later(self._timeout, self._overdue, terminal)
        return CreateTerminalResponse(terminal_id=terminal_id)

    def output_size(self, request: TerminalOutputRequest) -> int:
        """Bytes that an answer to this would have."""
        return self._find(request.session_id, request.terminal_id).kept_bytes

    def _bound_output(self) -> None:
        terminals = [*self._released.values(), *self._terminals.values()]
        excess = sum(terminal.kept_bytes for terminal in terminals) - MAX_KEPT
        if excess > 0:
            longest = max(terminals, key=lambda terminal: terminal.kept_bytes)
            longest.drop_oldest(min(excess, longest.kept_bytes))

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
        keys = [key for key in self._terminals if session_id is None or key[0] == session_id]
        ending = [self._release(self._terminals.pop(key)) for key in keys]
        await asyncio.gather(*ending, *self._ending, return_exceptions=True)

    async def _release(self, terminal: "LocalTerminal") -> None:
        if (timer := self._timers.pop(terminal, None)) is not None:
            timer.cancel()
        await terminal.release()

    def _overdue(self, terminal: "LocalTerminal") -> None:
        self._timers.pop(terminal, None)
        if terminal.exit_status is None:
            task = asyncio.get_running_loop().create_task(terminal.kill(), name="overdue command")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _find(self, session_id: str, terminal_id: str) -> "LocalTerminal":
        terminal = self._terminals.get((session_id, terminal_id))
        if terminal is None:
            raise ResourceNotFound(f"no terminal {terminal_id!r}", data={"terminalId": terminal_id})
        return terminal


def check_seconds(name: str, value: object) -> None:
    """Raises unless it can be a time limit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is a number of seconds (0 for no limit), not {value!r}")
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} is a number of seconds from 0 (no limit) on, not {value!r}")


def _check(path: str, refuse: Refuse | None) -> None:
    if not os.path.isabs(path):
        raise InvalidParams(f"a path must be absolute, not {path!r}")
    if refuse is not None and (why := refuse(path)):
        raise InvalidParams(f"{path} {why}")


def _refusal(error: Exception) -> RpcError:
    """What the agent, and so the user, may know of it."""
    return InvalidParams(str(error))

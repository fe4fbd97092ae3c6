"""Commands of a session: in a terminal of the editor, or on this machine where the author allowed it."""

import asyncio
import logging
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acpella.errors import AcpellaError, LocalProtocolError, Unsupported
from acpella.schema import (
    CreateTerminalRequest,
    EnvVariable,
    KillTerminalRequest,
    ReleaseTerminalRequest,
    Terminal,
    TerminalOutputRequest,
    WaitForTerminalExitRequest,
    methods,
)

from .tool_call import ToolRun
from .turn_core import TurnCore

__all__ = ["Shell", "ShellResult"]

log: logging.Logger = logging.getLogger(__name__)

CREATE_GRACE = 1.0
"""Seconds that a terminal may still take to be created when the turn was cancelled, to be released then."""


@dataclass(frozen=True, slots=True)
class ShellResult:
    """How a command ended."""

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself, with exit code 0."""
        return self.exit_code == 0 and not self.timed_out


class Shell:
    """Commands in the session: in a terminal of the editor, or else on this machine."""

    def __init__(self, turn: TurnCore) -> None:
        self._turn = turn

    @property
    def can_run(self) -> bool:
        """Whether the editor, or this machine, lets the agent run commands."""
        return self._turn.capabilities.terminals or self._turn.definition.local

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        call: ToolRun | None = None,
        output_byte_limit: int | None = None,
        local: bool = False,
    ) -> ShellResult:
        """Run a command to its end and give its output; the user watches it live in a tool call.

        A string goes to `sh`, a list is run as it is. After `timeout` seconds (`Settings.terminal_timeout` by
        default, 0 for no limit) the command is killed and what it wrote is kept. Without `call`, a tool call
        is made for the command. With `local`, it runs on this machine even if the editor has terminals.

        Raises:
            Unsupported: the editor has no terminals and the agent may not run commands on this machine.
        """
        self._turn.check_going()
        if not (self._turn.definition.local if local else self.can_run):
            raise Unsupported(
                "this editor does not let agents run commands; Agent(..., local=True) would use this machine"
            )
        command_line = command if isinstance(command, str) else shlex.join(command)
        if call is None:
            async with ToolRun(
                self._turn, command_line, kind="execute", input={"command": command_line}
            ) as call:
                result = await self._run(call, command, timeout, cwd, env, output_byte_limit, local)
                call.output({"exitCode": result.exit_code, "signal": result.signal})
                if not result.ok:
                    call.fail()
                return result
        return await self._run(call, command, timeout, cwd, env, output_byte_limit, local)

    async def _run(
        self,
        call: ToolRun,
        command: str | Sequence[str],
        timeout: float | None,
        cwd: str | Path | None,
        env: Mapping[str, str] | None,
        limit: int | None,
        local: bool,
    ) -> ShellResult:
        if not call.is_open:
            raise LocalProtocolError(f"the tool call {call.title!r} is not open")
        seconds = self._turn.definition.settings.terminal_timeout if timeout is None else timeout
        directory = self._turn.session.full_path(cwd or ".")
        runner = _run_in_editor if self._turn.capabilities.terminals and not local else _run_locally
        return await runner(self._turn, call, command, seconds or None, directory, env or {}, limit)


async def _run_in_editor(
    turn: TurnCore,
    call: ToolRun,
    command: str | Sequence[str],
    timeout: float | None,
    cwd: str,
    env: Mapping[str, str],
    limit: int | None,
) -> ShellResult:
    argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
    session_id = turn.session.id
    terminal = await _create_terminal(
        turn,
        CreateTerminalRequest(
            session_id=session_id,
            command=argv[0],
            args=argv[1:],
            cwd=cwd,
            env=[EnvVariable(name=name, value=value) for name, value in env.items()],
            output_byte_limit=limit,
        ),
    )

    async def kill() -> None:
        request = KillTerminalRequest(session_id=session_id, terminal_id=terminal)
        try:
            await turn.call(methods.KILL_TERMINAL, request)
        except (AcpellaError, TimeoutError) as error:  # it has ended by itself, or the editor is gone
            log.info("killing %s: %s", terminal, error)

    # only after the update that shows the terminal (C6, R-343)
    call.defer(lambda: _release_terminal(turn, terminal))
    call.show(Terminal(terminal_id=terminal))
    await call.progress()
    wait = WaitForTerminalExitRequest(session_id=session_id, terminal_id=terminal)
    timed_out = False
    try:
        status: Any = await turn.call(methods.WAIT_FOR_TERMINAL_EXIT, wait, timeout=timeout or 0)
    except TimeoutError:
        timed_out, status = True, None
        await kill()
    except asyncio.CancelledError:
        await kill()
        raise
    result = await turn.call(
        methods.TERMINAL_OUTPUT, TerminalOutputRequest(session_id=session_id, terminal_id=terminal)
    )
    status = status or result.exit_status
    return ShellResult(
        output=result.output,
        exit_code=None if status is None else status.exit_code,
        signal=None if status is None else status.signal,
        timed_out=timed_out,
        truncated=result.truncated,
    )


async def _create_terminal(turn: TurnCore, request: CreateTerminalRequest) -> str:
    """Create a terminal; one that comes when the turn has just been cancelled is released (R-343)."""
    asking = asyncio.ensure_future(turn.call(methods.CREATE_TERMINAL, request))
    try:
        return (await asyncio.shield(asking)).terminal_id
    except asyncio.CancelledError:
        try:
            async with asyncio.timeout(CREATE_GRACE):
                await _release_terminal(turn, (await asking).terminal_id)
        except (AcpellaError, TimeoutError) as error:
            log.info("no terminal to release: %s", error)
        raise


async def _release_terminal(turn: TurnCore, terminal_id: str) -> None:
    request = ReleaseTerminalRequest(session_id=turn.session.id, terminal_id=terminal_id)
    await turn.call(methods.RELEASE_TERMINAL, request)


async def _run_locally(
    turn: TurnCore,
    call: ToolRun,
    command: str | Sequence[str],
    timeout: float | None,
    cwd: str,
    env: Mapping[str, str],
    limit: int | None,
) -> ShellResult:
    from acpella.local import LocalTerminal

    argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
    live = _LiveOutput(turn, call, cwd)
    options: dict[str, Any] = {} if limit is None else {"output_byte_limit": limit}
    terminal = await LocalTerminal.start(
        argv[0], argv[1:], cwd=cwd, env=dict(env), on_output=live.add, **options
    )
    timed_out = False
    try:
        await live.begin()
        async with asyncio.timeout(timeout):
            await terminal.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await terminal.release()
        await live.stop()
    code, signal = terminal.exit_status or (None, None)
    output, truncated = terminal.output, terminal.truncated
    await live.end(output, code, signal)
    return ShellResult(output, code, signal, timed_out, truncated)


class _LiveOutput:
    """Shows a local command's output while it runs, to editors that can show it (C8)."""

    def __init__(self, turn: TurnCore, call: ToolRun, cwd: str) -> None:
        self._turn = turn
        self._call = call
        self._cwd = cwd
        self._id = call.id  # such a terminal exists only in the tool call
        self._shown = turn.capabilities.terminal_output
        self._waiting: list[str] = []
        self._more = asyncio.Event()
        self._ended = False
        self._sender: asyncio.Task[None] | None = None

    def add(self, text: str) -> None:
        if self._shown:
            self._waiting.append(text)
            self._more.set()

    async def begin(self) -> None:
        if self._shown:
            self._call.show(Terminal(terminal_id=self._id))
            await self._call.progress(meta={"terminal_info": {"terminal_id": self._id, "cwd": self._cwd}})
            self._sender = asyncio.get_running_loop().create_task(self._send())

    async def stop(self) -> None:
        """Send what is left."""
        sender, self._sender = self._sender, None
        if sender is None:
            return
        self._ended = True
        self._more.set()
        try:
            await sender
        except AcpellaError as error:
            log.info("the output of %s is not shown: %s", self._call.title, error)

    async def end(self, output: str, code: int | None, signal: str | None) -> None:
        if self._shown:
            ended = {"terminal_id": self._id, "exit_code": code, "signal": signal}
            await self._call.progress(meta={"terminal_exit": ended})
        elif output:
            self._call.show(output)

    async def _send(self) -> None:
        while self._waiting or not self._ended:
            await self._more.wait()
            self._more.clear()
            if self._waiting:
                data = "".join(self._waiting)
                self._waiting.clear()
                output = {"terminal_id": self._id, "data": data}
                await self._call.progress(meta={"terminal_output": output})

"""A child process as a channel: how a client starts an agent and talks to it."""

import asyncio
import errno
import logging
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from acpella._processes import (
    ExitWatch,
    Guard,
    ProcessTree,
    end_detached,
    has_directory,
    inherited_environment,
    join_command,
    signal_name,
    start,
)
from acpella._redact import redact
from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver

from ._pipes import ReadEnd, WriteEnd, open_reader, open_writer
from .process_limits import ProcessLimits

__all__ = ["ProcessChannel", "why_not_started"]

log: logging.Logger = logging.getLogger(__name__)

STDERR_TAIL = 16 * 1024
"""Bytes of stderr that are kept for error messages."""

EOF_GRACE = 0.3
"""Seconds to exit by itself after its stdin was closed. Many agents never do, and somebody waits."""

TERMINATE_GRACE = 1.5
"""Seconds to exit after SIGTERM, before SIGKILL."""

EXIT_AFTER_EOF = 1.0
"""Seconds between the end of its output and its exit, for the exit code to make it into the error."""

OUTPUT_AFTER_EXIT = 0.5
"""Seconds of silence after its exit until its output counts as ended, should a grandchild hold it open."""

TALK_AFTER_EXIT = 3.0
"""The same if there is no silence: what comes so late is a grandchild's."""


class ProcessChannel:
    """Starts a command and speaks to its stdin and stdout.

    Its stderr is read all the time (R-005), and the last lines appear in the error when it dies. Closing
    ends it in steps: stdin is closed, then the whole group is terminated, then killed, so that nothing is
    left behind even if the command was a wrapper such as `sh -c` or `npx`. All this also ends if this process
    is killed. On Linux, commands that it runs in sessions of their own end with it, too; daemons, which have
    no parent any more, stay. On macOS, those commands stay. On Windows, what it has started ends with it only
    while it runs itself, and if this process is killed, it ends when it reads its input.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        inherit_env: bool = True,
        on_stderr: Callable[[bytes], None] | None = None,
        limits: ProcessLimits | None = None,
        eof_grace: float = EOF_GRACE,
        terminate_grace: float = TERMINATE_GRACE,
        identity: str = "",
    ) -> None:
        """Prepare a command; opening the channel starts it.

        `env` is laid over this process's environment, where None takes a variable away. Without `inherit_env`
        it is the whole environment. A child does not inherit acpella's own secrets (`ACPELLA_TOKEN`, or a
        database password in `ACPELLA_STORE`); name them in `env` if it needs them. `on_stderr` gets what the
        child writes to stderr. `limits` hold from its first moment on. `identity` names the peer.
        """
        if not command:
            raise LocalProtocolError("the command is empty")
        self._command = [os.fspath(part) for part in command]
        self._cwd = cwd
        self.env: dict[str, str] = {name: value for name, value in (env or {}).items() if value is not None}
        """What was laid over this process's environment."""
        laid_over: dict[str, str | None] = {**(inherited_environment() if inherit_env else {}), **(env or {})}
        self._env = {name: value for name, value in laid_over.items() if value is not None}
        self._on_stderr = on_stderr
        self._limits = limits
        self._eof_grace = eof_grace
        self._terminate_grace = terminate_grace
        self._about = ChannelInfo(identity=identity, process=self)

        self._process: subprocess.Popen[bytes] | None = None
        self._tree: ProcessTree | None = None
        self._guard: Guard | None = None
        self._stdin: WriteEnd | None = None
        self._stdout: ReadEnd | None = None
        self._stderr: ReadEnd | None = None
        self._stderr_tail = bytearray()
        self._stderr_done: asyncio.Future[None] | None = None
        self._exited: asyncio.Future[int] | None = None
        self._exit_watch: ExitWatch | None = None
        self._output_ended = False
        self._paused = False
        self._quiet_timer: asyncio.TimerHandle | None = None
        self._talk_until = 0.0
        self._ended = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def about(self) -> ChannelInfo:
        """Its identity, and this channel itself as its process."""
        return self._about

    @property
    def name(self) -> str:
        """The command for people, shortened and without secrets."""
        line = redact(join_command(self._command))
        return line if len(line) <= 80 else line[:77] + "..."

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return list(self._command)

    @property
    def cwd(self) -> str | None:
        """The working directory of the child; None for this process's."""
        return None if self._cwd is None else os.fspath(self._cwd)

    @property
    def pid(self) -> int | None:
        """The process id of the child, None before it was started."""
        return None if self._process is None else self._process.pid

    @property
    def stderr_tail(self) -> str:
        """The last lines of the child's stderr."""
        return redact(self._stderr_tail.decode("utf-8", "replace"))

    # -- start ---------------------------------------------------------------------------

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Start the command.

        Raises:
            TransportError: the command is missing or not executable, or its working directory is missing.
        """
        if self._process is not None:
            raise LocalProtocolError("a channel can be opened once")
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._exited = self._loop.create_future()
        self._stderr_done = self._loop.create_future()
        process = self._process = self._start()
        self._tree = ProcessTree(process)
        assert process.stdin and process.stdout and process.stderr
        self._guard = Guard(process.pid, stdin=process.stdin.fileno(), stdout=process.stdout.fileno())
        try:
            self._exit_watch = ExitWatch(process, self._exit)
            self._stdin = await open_writer(
                _own(process.stdin),
                high=write_high,
                pause=receiver.pause_writing,
                resume=receiver.resume_writing,
                lost=receiver.resume_writing,  # its exit or the end of its output tells the rest
            )
            self._stderr = await open_reader(_own(process.stderr), self._stderr_received, self._stderr_ended)
            self._stdout = await open_reader(_own(process.stdout), self._received, self._stdout_ended)
        except BaseException:
            self._tree.kill()
            for end in (process.stdin, process.stdout, process.stderr):
                end.close()
            await self.close()
            raise

    def _start(self) -> "subprocess.Popen[bytes]":
        try:
            return start(
                self._launched(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._cwd,
                env=self._env,
            )
        except (OSError, ValueError) as error:
            raise TransportError(why_not_started(self._command[0], self._cwd, error)) from error

    def _launched(self) -> list[str]:
        """The command, with its limits. One that is not there is tried as it is: that tells why not."""
        if self._limits is None:
            return self._command
        program = self._command[0]
        if has_directory(program):
            program = os.path.join(self._cwd or "", program)
        from shutil import which

        if which(program, path=self._env.get("PATH")) is None:
            return self._command
        return self._limits.launching(self._command)

    # -- while it runs -------------------------------------------------------------------

    def write(self, data: bytes | bytearray) -> None:
        if self._stdin is not None:
            self._stdin.write(data)

    async def close_input(self) -> None:
        """Close its stdin; what it still writes is read."""
        if self._stdin is not None:
            if self._guard is not None:
                self._guard.let_close()
            await self._stdin.close()

    def pause_reading(self) -> None:
        self._paused = True
        if self._stdout is not None:
            self._stdout.pause()

    def resume_reading(self) -> None:
        self._paused = False
        if self._stdout is not None:
            self._stdout.resume()

    def _received(self, data: bytes) -> None:
        self._receiver.received(data)
        if self._quiet_timer is not None and self._loop.time() < self._talk_until:
            self._wait_for_quiet()

    def _stderr_received(self, data: bytes) -> None:
        self._stderr_tail += data
        del self._stderr_tail[:-STDERR_TAIL]
        if self._on_stderr is not None:
            try:
                self._on_stderr(data)
            except Exception:
                log.exception("on_stderr failed")

    def _stderr_ended(self) -> None:
        if self._stderr_done is not None and not self._stderr_done.done():
            self._stderr_done.set_result(None)

    # -- how it ends by itself -------------------------------------------------------------

    def _exit(self, code: int) -> None:
        """It is reaped by `close`, after its group was killed, so that its number stays its own."""
        assert self._exited is not None
        if not self._exited.done():
            self._exited.set_result(code)
        if self._output_ended:
            self._tell_end()
        else:
            self._talk_until = self._loop.time() + TALK_AFTER_EXIT
            self._wait_for_quiet()

    def _wait_for_quiet(self) -> None:
        """It has exited: its output ends when it is closed, or silent because a grandchild holds it."""
        if self._quiet_timer is not None:
            self._quiet_timer.cancel()
        self._quiet_timer = self._loop.call_later(OUTPUT_AFTER_EXIT, self._quiet)

    def _quiet(self) -> None:
        if self._paused:  # there may be more to read
            self._wait_for_quiet()
        else:
            self._stdout_ended()

    def _stdout_ended(self) -> None:
        self._output_ended = True
        assert self._exited is not None
        if self._exited.done():
            self._tell_end()
        elif not self._ended:
            self._loop.call_later(EXIT_AFTER_EOF, self._tell_end)

    def _tell_end(self) -> None:
        if self._ended:
            return
        self._ended = True
        if self._quiet_timer is not None:
            self._quiet_timer.cancel()
        self._telling = self._loop.create_task(self._tell_end_with_stderr())

    async def _tell_end_with_stderr(self) -> None:
        """The last words on stderr may still be under way."""
        assert self._stderr_done is not None
        await asyncio.wait([self._stderr_done], timeout=OUTPUT_AFTER_EXIT / 2)
        self._receiver.ended(self._how_it_ended())

    def _how_it_ended(self) -> ConnectionClosed:
        assert self._exited is not None
        if not self._exited.done():
            text = f"{self.name} closed its output but is still running"
            return ConnectionClosed(text, stderr_tail=self.stderr_tail)
        code = self._exited.result()
        if code < 0:
            name = signal_name(-code)
            text = f"{self.name} was killed by {name}"
            return ConnectionClosed(text, signal=name, stderr_tail=self.stderr_tail)
        text = f"{self.name} exited with code {code}"
        return ConnectionClosed(text, exit_code=code, stderr_tail=self.stderr_tail)

    # -- how it is ended -------------------------------------------------------------------

    async def close(self) -> None:
        """End the process and everything it started: close stdin, wait, terminate, kill."""
        if self._process is None:
            return
        if self._closing is None:
            self._ended = True
            self._closing = asyncio.get_running_loop().create_task(self._end_process())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self.kill()  # no time for steps
            raise

    def kill(self) -> None:
        """End the process and everything it started at once. Needs no event loop; `close` still tidies up."""
        if self._process is not None and self._process.returncode is None:
            self.note_descendants()
            if self._tree is not None:
                self._tree.kill()
                self._tree.kill_detached()

    def note_descendants(self) -> None:
        """Remember what it has started. Do so before it ends its commands: it may miss some of them."""
        if self._tree is not None:
            self._tree.note_descendants()

    async def _end_process(self) -> None:
        assert self._exited is not None and self._process is not None and self._tree is not None
        try:
            self.note_descendants()
            await self.close_input()
            if not await self._exits_within(self._eof_grace):
                log.info("%s does not end with its input; terminating it", self.name)
                self.note_descendants()
                self._tree.terminate()
                if not await self._exits_within(self._terminate_grace):
                    log.info("%s was told to end and does not; killing it", self.name)
        finally:
            self.note_descendants()
            self._tree.kill()  # what it left behind in its group, too
            await end_detached(self._tree)
            for end in (self._stdout, self._stderr):
                if end is not None:
                    end.close()
            exited = await self._exits_within(self._terminate_grace)
            if self._guard is not None:
                self._guard.stop()  # before the number is given to somebody else
            if exited:
                self._process.wait()  # reaps it
            if self._exit_watch is not None:
                self._exit_watch.stop()

    async def _exits_within(self, seconds: float) -> bool:
        assert self._exited is not None
        await asyncio.wait([self._exited], timeout=seconds)
        return self._exited.done()


def _own(file: IO[bytes]) -> int:
    """The descriptor of a pipe, kept open when the file object goes."""
    fd = os.dup(file.fileno())
    file.close()
    return fd


def why_not_started(program: str, cwd: str | os.PathLike[str] | None, error: OSError | ValueError) -> str:
    """Why a command could not be started, for the person who wrote it."""
    quoted = join_command([program])
    where = Path(cwd or ".")
    if not where.is_dir():
        lack = "is not a directory" if where.exists() else "does not exist"
        return f"cannot start {quoted}: the working directory {where} {lack}"
    if isinstance(error, FileNotFoundError):
        if has_directory(program) and (where / program).exists():
            return f"cannot start {quoted}: the interpreter named in its first line does not exist"
        hint = "check the path" if has_directory(program) else "is it installed and on your PATH?"
        return f"cannot start {quoted}: command not found; {hint}"
    if isinstance(error, PermissionError):
        if (where / program).is_dir():
            return f"cannot start {quoted}: it is a directory"
        hint = f"; run it as `python {quoted}`" if program.endswith(".py") else f"; try `chmod +x {quoted}`"
        return f"cannot start {quoted}: it is not executable{hint}"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"cannot start {quoted}: it is not a program (no `#!` line, or built for another machine)"
    return f"cannot start {quoted}: {error}"

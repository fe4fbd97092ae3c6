"""Commands on this machine, each in a process group of its own that can be ended as a whole."""

import asyncio
import codecs
import errno
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

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
from acpella.errors import AcpellaError

__all__ = [
    "COMMAND_TIMEOUT",
    "OUTPUT_LIMIT",
    "CommandError",
    "CommandResult",
    "ExitStatus",
    "LocalTerminal",
    "run_command",
]

log: logging.Logger = logging.getLogger(__name__)

OUTPUT_LIMIT = 1024 * 1024
"""Bytes of output that are kept, unless asked otherwise; without it `yes` fills the memory."""

MAX_OUTPUT_LIMIT = 64 * 1024 * 1024
"""What a peer may ask for at most; without it the limit is the peer's to lift."""

COMMAND_TIMEOUT = 120.0
"""Seconds that `run_command` gives a command; without it a command that asks a question never ends."""

TERMINATE_GRACE = 1.0
"""Seconds to exit after SIGTERM, before SIGKILL."""

KILL_GRACE = 5.0
"""Seconds to wait after SIGKILL; a process in an uninterruptible system call may take for ever."""

DRAIN_TIME = 0.25
"""Seconds after the exit for output that is under way, should a grandchild hold the pipe open."""

POLL_TIME = 0.02
"""Seconds until the second look whether the rest of a group is gone; only polling tells."""

READ_SIZE = 64 * 1024

_HAS_GROUPS = sys.platform != "win32"

_SHELL_SYNTAX = re.compile(r"[\s|&;<>()$`\\\"'*?\[\]{}#~=!]")


class CommandError(AcpellaError):
    """The command could not be started. The message says why."""


class ExitStatus(NamedTuple):
    """How a command ended; one of the two is None (R-345)."""

    exit_code: int | None
    signal: str | None


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of `run_command`."""

    output: str
    exit_code: int | None
    signal: str | None
    timed_out: bool
    truncated: bool
    """The oldest output was dropped."""


class LocalTerminal:
    """A running command with its output, stdout and stderr as they came.

    Its input is empty. Whatever it starts ends with `kill` and `release`, and if this process is killed; only
    daemons stay, which have left its process group (`setsid`) and have no parent any more. On macOS, all that
    has left the group stays.
    Release each terminal, or use it as `async with await LocalTerminal.start(...)`.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        pipe: int,
        *,
        limit: int,
        on_output: Callable[[str], None] | None,
    ) -> None:
        """Use `LocalTerminal.start`."""
        self._process = process
        self._pipe: int | None = pipe
        self._guard = Guard(process.pid)
        self._released = False
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._tree = ProcessTree(process)
        self._exit_watch: ExitWatch | None = None
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = bytearray()  # UTF-8, but for a character cut at its start
        self._truncated = False
        self.characters: int = 0
        """How much was written so far, whether it is kept or not."""
        self.on_growth: Callable[[], None] | None = None
        """Called when more output is kept, for whoever keeps an eye on many terminals."""
        self._exited = asyncio.Event()
        self._done = asyncio.Event()
        self._drain_timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(
        cls,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        output_byte_limit: int | None = OUTPUT_LIMIT,
        on_output: Callable[[str], None] | None = None,
    ) -> Self:
        """Start a command; it runs in the background (R-341).

        Without `args`, a command with white space or shell syntax is a line for `/bin/sh -c`, unless a
        program has that very name; anything else is executed as it is. `env` is laid over this process's
        environment, where None takes a variable away. An `output_byte_limit` of None is the default one.
        `on_output` gets the output in pieces of whole characters, until the command has ended.

        Raises:
            CommandError: the command or `cwd` does not exist or cannot be used.
        """
        process, pipe = _spawn(command, args, cwd, env)
        limit = (
            OUTPUT_LIMIT if output_byte_limit is None else max(0, min(output_byte_limit, MAX_OUTPUT_LIMIT))
        )
        terminal = cls(process, pipe, limit=limit, on_output=on_output)
        terminal._watch()
        return terminal

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    # -- what it knows -----------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The process id of the command, which is also the id of its group."""
        return self._process.pid

    @property
    def output(self) -> str:
        """What the command wrote, at most the last `output_byte_limit` bytes in UTF-8.

        It starts with a whole character (R-342). What is not UTF-8 is shown as U+FFFD.
        """
        start = 0
        while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
            start += 1
        return self._kept[start:].decode("utf-8")

    @property
    def kept_bytes(self) -> int:
        """How much output is kept."""
        return len(self._kept)

    def drop_oldest(self, count: int) -> None:
        """Drop this many of the oldest bytes of output."""
        del self._kept[:count]
        self._truncated = True

    @property
    def truncated(self) -> bool:
        """Whether older output was dropped."""
        return self._truncated

    @property
    def exit_status(self) -> ExitStatus | None:
        """How the command ended, None while it runs."""
        if not self._done.is_set():
            return None
        code = self._process.returncode
        return ExitStatus(None, signal_name(-code)) if code < 0 else ExitStatus(code, None)

    # -- while it runs -----------------------------------------------------------------------

    def _watch(self) -> None:
        assert self._pipe is not None and sys.platform != "win32"  # `_spawn` refuses there
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)
        self._exit_watch = ExitWatch(self._process, self._exit)

    def _read(self) -> bool:
        """Take what is there; False when there is nothing now, or never again."""
        if self._pipe is None:
            return False
        try:
            data = os.read(self._pipe, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if data:
            self._take(self._decoder.decode(data))
            return True
        self._close_pipe()
        if self._exited.is_set():
            self._finish()
        return False

    def _take(self, text: str) -> None:
        if not text:
            return
        self.characters += len(text)
        self._kept += text.encode("utf-8")
        if len(self._kept) > self._limit:
            self.drop_oldest(len(self._kept) - self._limit)
        if self.on_growth is not None:
            self.on_growth()
        if self._on_output is not None and not self._done.is_set():
            try:
                self._on_output(text)
            except Exception:
                log.exception("on_output failed")

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None
            self._take(self._decoder.decode(b"", final=True))

    def _exit(self, code: int) -> None:
        self._process.wait()  # reaps it
        self._exited.set()
        if self._pipe is None:
            self._finish()
        else:
            self._drain_timer = self._loop.call_later(DRAIN_TIME, self._finish)

    def _finish(self) -> None:
        if self._done.is_set():
            return
        if self._drain_timer is not None:
            self._drain_timer.cancel()
        for _ in range(16):  # 1 MiB, the most that a pipe holds: all that the command itself has written
            if not self._read():
                break
        if self._released or not self._group_is_ours() or not self._tree.runs():
            self._guard.stop()  # before the number is given to somebody else
        self._done.set()

    # -- how it ends -------------------------------------------------------------------------

    async def wait(self) -> ExitStatus:
        """Wait until the command has ended and its output is complete.

        Processes that it left in the background do not count.
        """
        await self._done.wait()
        status = self.exit_status
        assert status is not None
        return status

    async def kill(self) -> None:
        """End the command and all it started: SIGTERM, a second, SIGKILL.

        Output and status can still be asked for (R-344).
        """
        self._tree.note_descendants()
        try:
            if self._group_is_ours() and self._tree.terminate():
                async with asyncio.timeout(TERMINATE_GRACE):
                    await self._exited.wait()
                    pause = POLL_TIME
                    while self._rest_runs():
                        await asyncio.sleep(pause)
                        pause *= 1.5
        except TimeoutError:
            log.info("%s ignores SIGTERM; killing it", _short(join_command(map(str, self._argv))))
        finally:
            self._tree.note_descendants()
            if self._group_is_ours():
                self._tree.kill()
            await end_detached(self._tree)
        try:
            async with asyncio.timeout(KILL_GRACE):
                await self._done.wait()
        except TimeoutError:
            log.warning("process %d does not end, not even with SIGKILL", self.pid)

    async def release(self) -> None:
        """End the command if it runs, and what it left behind, and close its pipe.

        What it wrote can still be asked for (R-347). Safe to call twice.
        """
        try:
            await self.kill()
        finally:
            self._released = True
            self._close_pipe()
            if self._exited.is_set():
                self._finish()
                self._guard.stop()

    def _group_is_ours(self) -> bool:
        """Whether the group's number still means this group; if another process has it, the group is gone."""
        return not (self._exited.is_set() and _exists(self.pid))

    def _rest_runs(self) -> bool:
        """Whether anybody in the group still runs, now that the command itself does not."""
        if not self._group_is_ours() or not self._tree.runs():
            return False
        if self._pipe is not None:
            return True
        # The output is closed, so these may be zombies: few containers have an init that reaps them.
        return _group_runs(self.pid)

    @property
    def _argv(self) -> Sequence[object]:
        args = self._process.args
        return args if isinstance(args, list) else [args]


async def run_command(
    command: str,
    args: Sequence[str] = (),
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str] | None = None,
    timeout: float | None = COMMAND_TIMEOUT,
    output_byte_limit: int | None = OUTPUT_LIMIT,
    on_output: Callable[[str], None] | None = None,
) -> CommandResult:
    """Run a command to its end, or kill it after `timeout` seconds and keep what it wrote until then.

    0 and None mean no time limit. What it leaves in the background ends with it. The other arguments are
    those of `LocalTerminal.start`.

    Raises:
        CommandError: the command or `cwd` does not exist or cannot be used.
    """
    terminal = await LocalTerminal.start(
        command, args, cwd=cwd, env=env, output_byte_limit=output_byte_limit, on_output=on_output
    )
    timed_out = False
    try:
        async with asyncio.timeout(timeout or None):
            await terminal.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await terminal.release()
    code, name = terminal.exit_status or ExitStatus(None, None)
    return CommandResult(terminal.output, code, name, timed_out, terminal.truncated)


def _spawn(
    command: str, args: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[str, str | None] | None
) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a process; also the reading end of the pipe it writes to."""
    if not _HAS_GROUPS:
        raise CommandError(
            "acpella runs commands on Linux and macOS only; on Windows, let the editor run them, or use WSL"
        )
    if not command:
        raise CommandError("the command is empty; name a program")
    if not Path(cwd).is_dir():
        raise CommandError(f"cannot run {_short(command)}: the working directory {cwd} does not exist")
    argv = [command, *args]
    if not args and _SHELL_SYNTAX.search(command) and not _is_program(command, cwd):
        argv = ["/bin/sh", "-c", command]
    reading, writing = os.pipe()
    try:
        process = start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd=cwd,
            env=_laid_over(env or {}),
        )
    except (OSError, ValueError) as error:
        os.close(reading)
        raise CommandError(_why_not_started(argv[0], cwd, error)) from error
    finally:
        os.close(writing)
    return process, reading


def _laid_over(env: Mapping[str, str | None]) -> dict[str, str]:
    ours = {name: value for name, value in inherited_environment().items() if not _has_address(name, value)}
    whole: dict[str, str | None] = {**ours, **env}
    return {name: value for name, value in whole.items() if value is not None}


def _has_address(name: str, value: str) -> bool:
    """Whether it says where our session database is; commands may not know that even without a password."""
    return name.upper().startswith("ACPELLA_STORE") and "://" in value


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _group_runs(group: int) -> bool:
    """Whether a process group has members other than the dead; True where there is no /proc to tell."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, pgrp = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue  # gone meanwhile
        if int(pgrp) == group and state not in (b"Z", b"X"):
            return True
    return not pids


def _is_program(command: str, cwd: str | os.PathLike[str]) -> bool:
    """Whether a command with blanks or the like is one program's name, such as `/opt/My Tool/run`."""
    if "\0" in command:
        return False
    if has_directory(command):
        path = Path(cwd, command)
        return path.is_file() and os.access(path, os.X_OK)
    from shutil import which

    return which(command) is not None


def _short(command: str) -> str:
    return command if len(command) <= 80 else command[:77] + "..."


def _why_not_started(program: str, cwd: str | os.PathLike[str], error: OSError | ValueError) -> str:
    """What the one who wrote the command must know."""
    quoted = _short(join_command([program]))
    if isinstance(error, FileNotFoundError):
        if has_directory(program) and Path(cwd, program).exists():
            return f"cannot run {quoted}: the interpreter named in its first line does not exist"
        where = "check the path" if has_directory(program) else "is it installed and on the PATH?"
        return f"cannot run {quoted}: command not found; {where}"
    if isinstance(error, PermissionError):
        if Path(cwd, program).is_dir():
            return f"cannot run {quoted}: it is a directory"
        return f"cannot run {quoted}: it is not executable, or {os.fspath(cwd)} cannot be entered"
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"cannot run {quoted}: it is not a program (no `#!` line, or built for another machine)"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return f"cannot run {quoted}: its arguments and environment are too long; pass them in a file"
    return f"cannot run {quoted}: {error}"

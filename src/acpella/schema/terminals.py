"""Terminals that the client runs for the agent."""

from typing import TypeAlias

from ._wire import U32, U64, Meta, NullAsEmpty, Strict, Wire, field
from .protocol import SessionId

__all__ = [
    "CreateTerminalRequest",
    "CreateTerminalResponse",
    "EnvVariable",
    "KillTerminalRequest",
    "KillTerminalResponse",
    "ReleaseTerminalRequest",
    "ReleaseTerminalResponse",
    "TerminalExitStatus",
    "TerminalId",
    "TerminalOutputRequest",
    "TerminalOutputResponse",
    "WaitForTerminalExitRequest",
    "WaitForTerminalExitResponse",
]

TerminalId: TypeAlias = str


class EnvVariable(Wire, frozen=True, kw_only=True):
    """One variable of a process's environment."""

    name: str
    """The name of the variable, such as `PATH`."""
    value: str
    """What the variable is set to; it may be a secret."""
    meta: Meta | None = field(default=None, name="_meta")


class CreateTerminalRequest(Wire, frozen=True, kw_only=True):
    """Start a command in the background."""

    session_id: SessionId
    """The session that the command runs for."""
    command: str
    """The program that the client should run."""
    args: NullAsEmpty[list[str]] = []
    """The arguments for the program, one by one."""
    env: NullAsEmpty[list[EnvVariable]] = []
    """The environment variables to set for the command."""
    cwd: Strict[str | None] = None
    """The directory to run the command in, as an absolute path. Absent means the session's."""
    output_byte_limit: Strict[U64 | None] = None
    """How many bytes of output the client keeps; if there are more, it drops the oldest."""
    meta: Meta | None = field(default=None, name="_meta")


class CreateTerminalResponse(Wire, frozen=True, kw_only=True):
    """The command has been started."""

    terminal_id: TerminalId
    """The client's id for the terminal; it is valid until the agent releases the terminal."""
    meta: Meta | None = field(default=None, name="_meta")


class TerminalOutputRequest(Wire, frozen=True, kw_only=True):
    """Ask for what a command has written so far."""

    session_id: SessionId
    """The session that the command runs for."""
    terminal_id: TerminalId
    """The terminal to read from, by the id that the client gave it."""
    meta: Meta | None = field(default=None, name="_meta")


class TerminalExitStatus(Wire, frozen=True, kw_only=True):
    """How a command ended: by itself with a code, or by a signal."""

    exit_code: U32 | None = None
    """The number that the command ended with, 0 for success. Absent means that a signal ended it."""
    signal: str | None = None
    """The signal that ended the command, such as `SIGTERM`. Absent means that it ended by itself."""
    meta: Meta | None = field(default=None, name="_meta")


class TerminalOutputResponse(Wire, frozen=True, kw_only=True):
    """The output kept so far; its oldest part is missing if it was truncated."""

    output: str
    """What the command has written so far, or the last part of it."""
    truncated: bool
    """True if the client dropped the start of the output, as there was too much of it."""
    exit_status: TerminalExitStatus | None = None
    """How the command ended. Absent means that it still runs."""
    meta: Meta | None = field(default=None, name="_meta")


class WaitForTerminalExitRequest(Wire, frozen=True, kw_only=True):
    """Be answered when the command has ended."""

    session_id: SessionId
    """The session that the command runs for."""
    terminal_id: TerminalId
    """The terminal to wait for, by the id that the client gave it."""
    meta: Meta | None = field(default=None, name="_meta")


class WaitForTerminalExitResponse(Wire, frozen=True, kw_only=True):
    """How the command ended."""

    exit_code: U32 | None = None
    """The number that the command ended with, 0 for success. Absent means that a signal ended it."""
    signal: str | None = None
    """The signal that ended the command, such as `SIGTERM`. Absent means that it ended by itself."""
    meta: Meta | None = field(default=None, name="_meta")


class KillTerminalRequest(Wire, frozen=True, kw_only=True):
    """Stop the command, keep the terminal."""

    session_id: SessionId
    """The session that the command runs for."""
    terminal_id: TerminalId
    """The terminal whose command should stop; its output can still be read."""
    meta: Meta | None = field(default=None, name="_meta")


class KillTerminalResponse(Wire, frozen=True, kw_only=True):
    """The command was stopped."""

    meta: Meta | None = field(default=None, name="_meta")


class ReleaseTerminalRequest(Wire, frozen=True, kw_only=True):
    """Stop the command if it still runs, and forget the terminal."""

    session_id: SessionId
    """The session that the command runs for."""
    terminal_id: TerminalId
    """The terminal to give up; its id is not valid afterwards."""
    meta: Meta | None = field(default=None, name="_meta")


class ReleaseTerminalResponse(Wire, frozen=True, kw_only=True):
    """The terminal is gone."""

    meta: Meta | None = field(default=None, name="_meta")

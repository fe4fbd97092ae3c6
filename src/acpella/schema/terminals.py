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
    value: str
    meta: Meta | None = field(default=None, name="_meta")


class CreateTerminalRequest(Wire, frozen=True, kw_only=True):
    """Start a command in the background."""

    session_id: SessionId
    command: str
    args: NullAsEmpty[list[str]] = []
    env: NullAsEmpty[list[EnvVariable]] = []
    cwd: Strict[str | None] = None
    output_byte_limit: Strict[U64 | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class CreateTerminalResponse(Wire, frozen=True, kw_only=True):
    """The command has been started."""

    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


class TerminalOutputRequest(Wire, frozen=True, kw_only=True):
    """Ask for what a command has written so far."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


class TerminalExitStatus(Wire, frozen=True, kw_only=True):
    """How a command ended: by itself with a code, or by a signal."""

    exit_code: U32 | None = None
    signal: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class TerminalOutputResponse(Wire, frozen=True, kw_only=True):
    """The output kept so far; its oldest part is missing if it was truncated."""

    output: str
    truncated: bool
    exit_status: TerminalExitStatus | None = None
    meta: Meta | None = field(default=None, name="_meta")


class WaitForTerminalExitRequest(Wire, frozen=True, kw_only=True):
    """Be answered when the command has ended."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


class WaitForTerminalExitResponse(Wire, frozen=True, kw_only=True):
    """How the command ended."""

    exit_code: U32 | None = None
    signal: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class KillTerminalRequest(Wire, frozen=True, kw_only=True):
    """Stop the command, keep the terminal."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


class KillTerminalResponse(Wire, frozen=True, kw_only=True):
    """The command was stopped."""

    meta: Meta | None = field(default=None, name="_meta")


class ReleaseTerminalRequest(Wire, frozen=True, kw_only=True):
    """Stop the command if it still runs, and forget the terminal."""

    session_id: SessionId
    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


class ReleaseTerminalResponse(Wire, frozen=True, kw_only=True):
    """The terminal is gone."""

    meta: Meta | None = field(default=None, name="_meta")

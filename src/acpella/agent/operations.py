"""What an editor can ask of an agent, in words that no protocol version owns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from acpella.schema import ContentBlock, McpServer

from .choices import Choices

__all__ = [
    "CancelPrompt",
    "CloseSession",
    "DeleteSession",
    "ForkSession",
    "ListSessions",
    "LogIn",
    "LogOut",
    "NewSession",
    "OpenedSession",
    "Operation",
    "Prompt",
    "ReopenSession",
    "SetMode",
    "SetOption",
    "Workplace",
]


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a session works, and which MCP servers it is given."""

    cwd: str
    directories: Sequence[str] = ()
    mcp_servers: Sequence[McpServer] = field(default_factory=list[McpServer])


@dataclass(frozen=True, slots=True)
class NewSession:
    workplace: Workplace


@dataclass(frozen=True, slots=True)
class ReopenSession:
    """Go on with a stored session; with `replay`, its history is sent first."""

    session_id: str
    workplace: Workplace
    replay: bool


@dataclass(frozen=True, slots=True)
class ForkSession:
    session_id: str
    workplace: Workplace


@dataclass(frozen=True, slots=True)
class ListSessions:
    cwd: str | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class CloseSession:
    session_id: str


@dataclass(frozen=True, slots=True)
class DeleteSession:
    session_id: str


@dataclass(frozen=True, slots=True)
class SetMode:
    session_id: str
    mode_id: str


@dataclass(frozen=True, slots=True)
class SetOption:
    session_id: str
    option_id: str
    value: object


@dataclass(frozen=True, slots=True)
class Prompt:
    session_id: str
    content: list[ContentBlock]


@dataclass(frozen=True, slots=True)
class CancelPrompt:
    session_id: str


@dataclass(frozen=True, slots=True)
class LogIn:
    login_id: str


@dataclass(frozen=True, slots=True)
class LogOut:
    pass


Operation: TypeAlias = (
    NewSession
    | ReopenSession
    | ForkSession
    | ListSessions
    | CloseSession
    | DeleteSession
    | SetMode
    | SetOption
    | Prompt
    | LogIn
    | LogOut
)
"""A request; `CancelPrompt` is a notification."""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """What an editor learns of a session that it has opened or changed."""

    id: str
    choices: Choices
    is_prompting: bool = False
    """Whether a turn is running in it, begun on another connection."""

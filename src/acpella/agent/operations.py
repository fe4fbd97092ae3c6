"""What an editor can ask of an agent, in words that no protocol version owns.

Structs although nothing here goes over a wire: a dataclass takes 25 times as long to define, and every
start of an agent waits for these.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct, field

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


class Workplace(Struct, frozen=True):
    """Where a session works, and which MCP servers it is given."""

    cwd: str
    directories: Sequence[str] = ()
    mcp_servers: Sequence[McpServer] = field(default_factory=list[McpServer])


class NewSession(Struct, frozen=True):
    workplace: Workplace


class ReopenSession(Struct, frozen=True):
    """Go on with a stored session; with `replay`, its history is sent first."""

    session_id: str
    workplace: Workplace
    replay: bool


class ForkSession(Struct, frozen=True):
    session_id: str
    workplace: Workplace


class ListSessions(Struct, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class CloseSession(Struct, frozen=True):
    session_id: str


class DeleteSession(Struct, frozen=True):
    session_id: str


class SetMode(Struct, frozen=True):
    session_id: str
    mode_id: str


class SetOption(Struct, frozen=True):
    session_id: str
    option_id: str
    value: object


class Prompt(Struct, frozen=True):
    session_id: str
    content: list[ContentBlock]


class CancelPrompt(Struct, frozen=True):
    session_id: str


class LogIn(Struct, frozen=True):
    login_id: str


class LogOut(Struct, frozen=True):
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


class OpenedSession(Struct, frozen=True):
    """What an editor learns of a session that it has opened or changed."""

    id: str
    choices: Choices
    is_prompting: bool = False
    """Whether a turn is running in it, begun on another connection."""

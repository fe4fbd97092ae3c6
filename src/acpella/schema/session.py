"""Sessions: creating, finding, continuing and ending them."""

from typing import Literal, TypeAlias

from ._wire import Lenient, Meta, NullAsEmpty, Strict, Wire, field
from .config import SessionConfigOption, SessionModeState
from .content import ContentBlock
from .mcp import McpServer
from .models import SessionModelState
from .protocol import SessionId

__all__ = [
    "ArchiveSessionRequest",
    "ArchiveSessionResponse",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "NewSessionRequest",
    "NewSessionResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionArchiveFilter",
    "SessionInfo",
    "SessionStatus",
    "SessionStatusRequest",
    "SessionStatusResponse",
    "SetSessionTitleRequest",
    "SetSessionTitleResponse",
    "SystemPrompt",
    "SystemPromptMode",
    "UnarchiveSessionRequest",
    "UnarchiveSessionResponse",
]

SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
SessionStatus: TypeAlias = Literal["open", "saved"] | str
SystemPromptMode: TypeAlias = Literal["append", "override"] | str


class SystemPrompt(Wire, frozen=True, kw_only=True):
    """What the client adds to the agent's system prompt, or puts in its place (unstable)."""

    mode: SystemPromptMode
    content: list[ContentBlock]
    meta: Meta | None = field(default=None, name="_meta")


class NewSessionRequest(Wire, frozen=True, kw_only=True):
    """Start a conversation."""

    cwd: str
    mcp_servers: NullAsEmpty[list[McpServer]]
    additional_directories: NullAsEmpty[list[str]] = []
    system_prompt: Strict[SystemPrompt | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class NewSessionResponse(Wire, frozen=True, kw_only=True):
    """The session and its settings; `models` is legacy."""

    session_id: SessionId
    modes: SessionModeState | None = None
    models: SessionModelState | None = None
    config_options: list[SessionConfigOption] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class LoadSessionRequest(Wire, frozen=True, kw_only=True):
    """Continue a session whose history the agent replays first."""

    session_id: SessionId
    cwd: str
    mcp_servers: NullAsEmpty[list[McpServer]]
    additional_directories: NullAsEmpty[list[str]] = []
    system_prompt: Strict[SystemPrompt | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class LoadSessionResponse(Wire, frozen=True, kw_only=True):
    """The history has been replayed; `models` is legacy."""

    modes: SessionModeState | None = None
    models: SessionModelState | None = None
    config_options: list[SessionConfigOption] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ResumeSessionRequest(Wire, frozen=True, kw_only=True):
    """Continue a session without replaying its history."""

    session_id: SessionId
    cwd: str
    mcp_servers: NullAsEmpty[list[McpServer]] = []
    additional_directories: NullAsEmpty[list[str]] = []
    system_prompt: Strict[SystemPrompt | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class ResumeSessionResponse(Wire, frozen=True, kw_only=True):
    """The session goes on; `models` is legacy."""

    modes: SessionModeState | None = None
    models: SessionModelState | None = None
    config_options: list[SessionConfigOption] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ForkSessionRequest(Wire, frozen=True, kw_only=True):
    """Start a session from what another one knows (unstable)."""

    session_id: SessionId
    cwd: str
    mcp_servers: NullAsEmpty[list[McpServer]] = []
    additional_directories: NullAsEmpty[list[str]] = []
    system_prompt: Strict[SystemPrompt | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class ForkSessionResponse(Wire, frozen=True, kw_only=True):
    """The new session and its settings (unstable); `models` is legacy."""

    session_id: SessionId
    modes: SessionModeState | None = None
    models: SessionModelState | None = None
    config_options: list[SessionConfigOption] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ListSessionsRequest(Wire, frozen=True, kw_only=True):
    """Ask for one page of the sessions the agent knows."""

    cwd: Strict[str | None] = None
    cursor: Strict[str | None] = None
    archived: Strict[SessionArchiveFilter | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionInfo(Wire, frozen=True, kw_only=True):
    """A session in a list."""

    session_id: SessionId
    cwd: str
    additional_directories: list[str] = []
    title: str | None = None
    updated_at: str | None = None
    archived: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ListSessionsResponse(Wire, frozen=True, kw_only=True):
    """One page of sessions; without `next_cursor` it is the last."""

    sessions: Lenient[list[SessionInfo]]
    next_cursor: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class DeleteSessionRequest(Wire, frozen=True, kw_only=True):
    """Remove a session from the list."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class DeleteSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is no longer listed."""

    meta: Meta | None = field(default=None, name="_meta")


class CloseSessionRequest(Wire, frozen=True, kw_only=True):
    """Cancel what a session does and free what it holds."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class CloseSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is closed."""

    meta: Meta | None = field(default=None, name="_meta")


class ArchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Hide a session from ordinary lists (unstable)."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class ArchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is archived (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class UnarchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Show a session in ordinary lists again (unstable)."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class UnarchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is no longer archived (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusRequest(Wire, frozen=True, kw_only=True):
    """Ask whether a session is in use (unstable)."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusResponse(Wire, frozen=True, kw_only=True):
    """Whether the session is open or only saved (unstable)."""

    status: SessionStatus
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionTitleRequest(Wire, frozen=True, kw_only=True):
    """Name a session (unstable)."""

    session_id: SessionId
    title: str
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionTitleResponse(Wire, frozen=True, kw_only=True):
    """The name as the agent stored it (unstable)."""

    title: str
    meta: Meta | None = field(default=None, name="_meta")

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
    """Whether the content is added to the agent's own instructions or takes their place."""
    content: list[ContentBlock]
    """The instructions themselves, as text; there has to be at least one block."""
    meta: Meta | None = field(default=None, name="_meta")


class NewSessionRequest(Wire, frozen=True, kw_only=True):
    """Start a conversation."""

    cwd: str
    """The directory that the session works in, as an absolute path."""
    mcp_servers: NullAsEmpty[list[McpServer]]
    """The MCP servers that the agent should connect to for this session."""
    additional_directories: NullAsEmpty[list[str]] = []
    """More directories that the session may work in, as absolute paths, if the agent allows that."""
    system_prompt: Strict[SystemPrompt | None] = None
    """Instructions of the client for the model (unstable). Absent means that the agent uses its own."""
    meta: Meta | None = field(default=None, name="_meta")


class NewSessionResponse(Wire, frozen=True, kw_only=True):
    """The session and its settings; `models` is legacy."""

    session_id: SessionId
    """The agent's id for the session; every later message about the session carries it."""
    modes: SessionModeState | None = None
    """The modes that the user can choose from. Absent means that the session has none."""
    models: SessionModelState | None = None
    """The models that the user can choose from (legacy); newer agents offer them as a setting."""
    config_options: list[SessionConfigOption] | None = None
    """The settings that the user can change. Absent means that the session has none."""
    meta: Meta | None = field(default=None, name="_meta")


class LoadSessionRequest(Wire, frozen=True, kw_only=True):
    """Continue a session whose history the agent replays first."""

    session_id: SessionId
    """The session to continue."""
    cwd: str
    """The directory that the session works in, as an absolute path; it must be the same as before."""
    mcp_servers: NullAsEmpty[list[McpServer]]
    """The MCP servers that the agent should connect to for this session."""
    additional_directories: NullAsEmpty[list[str]] = []
    """All other directories that the session may work in. Absent means none, whatever it had before."""
    system_prompt: Strict[SystemPrompt | None] = None
    """Instructions of the client (unstable). Absent means that the agent uses what it stored or its own."""
    meta: Meta | None = field(default=None, name="_meta")


class LoadSessionResponse(Wire, frozen=True, kw_only=True):
    """The history has been replayed; `models` is legacy."""

    modes: SessionModeState | None = None
    """The modes that the user can choose from. Absent means that the session has none."""
    models: SessionModelState | None = None
    """The models that the user can choose from (legacy); newer agents offer them as a setting."""
    config_options: list[SessionConfigOption] | None = None
    """The settings that the user can change. Absent means that the session has none."""
    meta: Meta | None = field(default=None, name="_meta")


class ResumeSessionRequest(Wire, frozen=True, kw_only=True):
    """Continue a session without replaying its history."""

    session_id: SessionId
    """The session to continue."""
    cwd: str
    """The directory that the session works in, as an absolute path; it must be the same as before."""
    mcp_servers: NullAsEmpty[list[McpServer]] = []
    """The MCP servers that the agent should connect to for this session. Absent means none."""
    additional_directories: NullAsEmpty[list[str]] = []
    """All other directories that the session may work in. Absent means none, whatever it had before."""
    system_prompt: Strict[SystemPrompt | None] = None
    """Instructions of the client (unstable). Absent means that the agent uses what it stored or its own."""
    meta: Meta | None = field(default=None, name="_meta")


class ResumeSessionResponse(Wire, frozen=True, kw_only=True):
    """The session goes on; `models` is legacy."""

    modes: SessionModeState | None = None
    """The modes that the user can choose from. Absent means that the session has none."""
    models: SessionModelState | None = None
    """The models that the user can choose from (legacy); newer agents offer them as a setting."""
    config_options: list[SessionConfigOption] | None = None
    """The settings that the user can change. Absent means that the session has none."""
    meta: Meta | None = field(default=None, name="_meta")


class ForkSessionRequest(Wire, frozen=True, kw_only=True):
    """Start a session from what another one knows (unstable)."""

    session_id: SessionId
    """The session to start from; it stays as it is."""
    cwd: str
    """The directory that the new session works in, as an absolute path."""
    mcp_servers: NullAsEmpty[list[McpServer]] = []
    """The MCP servers that the agent should connect to for the new session. Absent means none."""
    additional_directories: NullAsEmpty[list[str]] = []
    """More directories for the new session. Absent means none, whatever the other session has."""
    system_prompt: Strict[SystemPrompt | None] = None
    """Instructions of the client. Absent means that the agent uses what it stored or its own."""
    meta: Meta | None = field(default=None, name="_meta")


class ForkSessionResponse(Wire, frozen=True, kw_only=True):
    """The new session and its settings (unstable); `models` is legacy."""

    session_id: SessionId
    """The agent's id for the new session, which is ready for a prompt."""
    modes: SessionModeState | None = None
    """The modes that the user can choose from. Absent means that the session has none."""
    models: SessionModelState | None = None
    """The models that the user can choose from (legacy); newer agents offer them as a setting."""
    config_options: list[SessionConfigOption] | None = None
    """The settings that the user can change. Absent means that the session has none."""
    meta: Meta | None = field(default=None, name="_meta")


class ListSessionsRequest(Wire, frozen=True, kw_only=True):
    """Ask for one page of the sessions the agent knows."""

    cwd: Strict[str | None] = None
    """The directory whose sessions are listed, as an absolute path. Absent means all sessions."""
    cursor: Strict[str | None] = None
    """Where the page starts, as the previous answer gave it. Absent means the first page."""
    archived: Strict[SessionArchiveFilter | None] = None
    """Whether archived sessions are listed too, or only those (unstable). Absent leaves them out."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionInfo(Wire, frozen=True, kw_only=True):
    """A session in a list."""

    session_id: SessionId
    """The agent's id for the session; the client loads or resumes it by this id."""
    cwd: str
    """The directory that the session works in, as an absolute path."""
    additional_directories: list[str] = []
    """All other directories of the session that the agent reports, as absolute paths."""
    title: str | None = None
    """What to call the session when it is shown."""
    updated_at: str | None = None
    """When something last happened in the session, as an ISO 8601 time."""
    archived: bool | None = None
    """Whether the session is archived (unstable). Absent means that the agent does not say."""
    meta: Meta | None = field(default=None, name="_meta")


class ListSessionsResponse(Wire, frozen=True, kw_only=True):
    """One page of sessions; without `next_cursor` it is the last."""

    sessions: Lenient[list[SessionInfo]]
    """The sessions on this page; an empty list means that none matched."""
    next_cursor: str | None = None
    """What to send for the next page; only the agent can read it. Absent means that this is the last page."""
    meta: Meta | None = field(default=None, name="_meta")


class DeleteSessionRequest(Wire, frozen=True, kw_only=True):
    """Remove a session from the list."""

    session_id: SessionId
    """The session to remove; it is no failure if it is gone already."""
    meta: Meta | None = field(default=None, name="_meta")


class DeleteSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is no longer listed."""

    meta: Meta | None = field(default=None, name="_meta")


class CloseSessionRequest(Wire, frozen=True, kw_only=True):
    """Cancel what a session does and free what it holds."""

    session_id: SessionId
    """The session to close; if a turn is running, it is cancelled."""
    meta: Meta | None = field(default=None, name="_meta")


class CloseSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is closed."""

    meta: Meta | None = field(default=None, name="_meta")


class ArchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Hide a session from ordinary lists (unstable)."""

    session_id: SessionId
    """The session to archive; its history is kept."""
    meta: Meta | None = field(default=None, name="_meta")


class ArchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is archived (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class UnarchiveSessionRequest(Wire, frozen=True, kw_only=True):
    """Show a session in ordinary lists again (unstable)."""

    session_id: SessionId
    """The session to bring back; this does not load it."""
    meta: Meta | None = field(default=None, name="_meta")


class UnarchiveSessionResponse(Wire, frozen=True, kw_only=True):
    """The session is no longer archived (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusRequest(Wire, frozen=True, kw_only=True):
    """Ask whether a session is open or only saved (unstable)."""

    session_id: SessionId
    """The session to tell about; asking does not change it."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusResponse(Wire, frozen=True, kw_only=True):
    """Whether the session is open or only saved (unstable)."""

    status: SessionStatus
    """`open` if the agent holds the session in memory, for whichever client; otherwise it is saved."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionTitleRequest(Wire, frozen=True, kw_only=True):
    """Name a session (unstable)."""

    session_id: SessionId
    """The session to name; it need not be loaded."""
    title: str
    """The name that the user wants; it must not be empty."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionTitleResponse(Wire, frozen=True, kw_only=True):
    """The name as the agent stored it (unstable)."""

    title: str
    """The name to show; the agent may have trimmed or shortened what was asked for."""
    meta: Meta | None = field(default=None, name="_meta")

"""The first exchange: versions, capabilities, names."""

from ._wire import Meta, Wire, field
from .auth import AgentAuthCapabilities, AuthCapabilities, AuthMethod
from .elicitation import ElicitationCapabilities
from .nes import ClientNesCapabilities, NesCapabilities, PositionEncodingKind
from .protocol import ProtocolVersion
from .providers import ProvidersCapabilities
from .subagents import SubagentCapabilities

__all__ = [
    "AgentCapabilities",
    "BooleanConfigOptionCapabilities",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CompactionCapabilities",
    "FileSystemCapabilities",
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "McpCapabilities",
    "NoticeCapabilities",
    "PlanCapabilities",
    "PromptCapabilities",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionArchiveCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigOptionsCapabilities",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionListCapabilities",
    "SessionResumeCapabilities",
    "SessionStatusCapabilities",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
]


class Implementation(Wire, frozen=True, kw_only=True):
    """The name and version of a program; `title` is for display."""

    name: str
    """The program's name for other programs; people see it if there is no title."""
    version: str
    """The version of the program itself, not of the protocol."""
    title: str | None = None
    """The program's name as people should see it. Absent means that they see `name`."""
    meta: Meta | None = field(default=None, name="_meta")


class FileSystemCapabilities(Wire, frozen=True, kw_only=True):
    """Which file requests the client answers."""

    read_text_file: bool = False
    """True if the agent may read text files with `fs/read_text_file`."""
    write_text_file: bool = False
    """True if the agent may write text files with `fs/write_text_file`."""
    meta: Meta | None = field(default=None, name="_meta")


class BooleanConfigOptionCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows settings that are on or off."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigOptionsCapabilities(Wire, frozen=True, kw_only=True):
    """Which kinds of settings the client shows beyond lists of values."""

    boolean: BooleanConfigOptionCapabilities | None = None
    """An object here, even `{}`, means that the agent may offer settings that are on or off."""
    meta: Meta | None = field(default=None, name="_meta")


class NoticeCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows notices."""


class CompactionCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows how the context is summarized."""


class ClientSessionCapabilities(Wire, frozen=True, kw_only=True):
    """What the client understands inside a session."""

    compaction: CompactionCapabilities | None = None
    """An object here, even `{}`, means that the agent may tell when it summarizes the context."""
    config_options: SessionConfigOptionsCapabilities | None = None
    """Which kinds of settings the client shows beyond lists of values. Absent means no others."""
    notices: NoticeCapabilities | None = None
    """An object here, even `{}`, means that the agent may send notices."""
    meta: Meta | None = field(default=None, name="_meta")


class PlanCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows several plans (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """What the client offers; `plan` and `subagents` are unstable, the last two legacy."""

    fs: FileSystemCapabilities = field(default_factory=FileSystemCapabilities)
    """Which file requests the agent may send. Absent means none."""
    terminal: bool = False
    """True if the agent may run commands with the `terminal/` requests."""
    session: ClientSessionCapabilities | None = None
    """What the agent may send within a session beyond the basics. Absent means nothing more."""
    subagents: SubagentCapabilities | None = None
    """An object here, even `{}`, means that the agent may show child sessions (unstable)."""
    plan: PlanCapabilities | None = None
    """An object here, even `{}`, means that the agent may keep several plans (unstable)."""
    auth: AuthCapabilities = field(default_factory=AuthCapabilities)
    """Which ways to log in the agent may offer beyond those that it handles itself."""
    elicitation: ElicitationCapabilities | None = None
    """How the agent may ask the user for input. Absent or empty means not at all."""
    nes: ClientNesCapabilities | None = None
    """Which suggestions for the next edit the client shows beyond plain edits (legacy)."""
    position_encodings: list[PositionEncodingKind] = []
    """The units in which the client can count the characters of a line, best first (legacy)."""
    meta: Meta | None = field(default=None, name="_meta")


class PromptCapabilities(Wire, frozen=True, kw_only=True):
    """What a prompt may hold beyond text and links."""

    image: bool = False
    """True if prompts may hold images."""
    audio: bool = False
    """True if prompts may hold sound."""
    embedded_context: bool = False
    """True if prompts may hold whole files and other resources, not just links to them."""
    meta: Meta | None = field(default=None, name="_meta")


class McpCapabilities(Wire, frozen=True, kw_only=True):
    """How the agent reaches MCP servers beyond stdio; `acp` is unstable."""

    http: bool = False
    """True if the agent can reach MCP servers over streamable HTTP."""
    sse: bool = False
    """True if the agent can reach MCP servers over HTTP with server-sent events, which is outdated."""
    acp: bool = False
    """True if the agent can use MCP servers that the client answers for over this connection (unstable)."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionListCapabilities(Wire, frozen=True, kw_only=True):
    """The agent lists sessions."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionDeleteCapabilities(Wire, frozen=True, kw_only=True):
    """The agent deletes sessions."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionAdditionalDirectoriesCapabilities(Wire, frozen=True, kw_only=True):
    """Sessions may have more directories than their cwd."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionSystemPromptOverrideCapabilities(Wire, frozen=True, kw_only=True):
    """The client may put a system prompt in place of the agent's (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionSystemPromptModeCapabilities(Wire, frozen=True, kw_only=True):
    """Which modes of a system prompt the agent takes beyond appending (unstable)."""

    override: SessionSystemPromptOverrideCapabilities | None = None
    """An object here, even `{}`, means that the client may replace the agent's own instructions."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionSystemPromptCapabilities(Wire, frozen=True, kw_only=True):
    """The client may add to the system prompt (unstable)."""

    mode: SessionSystemPromptModeCapabilities | None = None
    """What the client may do beyond adding to the system prompt. Absent means nothing more."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionForkCapabilities(Wire, frozen=True, kw_only=True):
    """The agent forks sessions (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionArchiveCapabilities(Wire, frozen=True, kw_only=True):
    """The agent archives sessions (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusCapabilities(Wire, frozen=True, kw_only=True):
    """The agent tells whether a session is open or only saved (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionTitleCapabilities(Wire, frozen=True, kw_only=True):
    """The client may name sessions (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionResumeCapabilities(Wire, frozen=True, kw_only=True):
    """The agent resumes sessions without a replay."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionCloseCapabilities(Wire, frozen=True, kw_only=True):
    """The agent closes sessions."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionCapabilities(Wire, frozen=True, kw_only=True):
    """What the agent can do with sessions beyond creating them."""

    list: SessionListCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/list`."""
    delete: SessionDeleteCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/delete`."""
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = None
    """An object here, even `{}`, means that the client may give sessions more directories."""
    system_prompt: SessionSystemPromptCapabilities | None = None
    """An object here, even `{}`, means that the client may add to the system prompt (unstable)."""
    fork: SessionForkCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/fork` (unstable)."""
    archive: SessionArchiveCapabilities | None = None
    """An object here, even `{}`, means that sessions can be archived and brought back (unstable)."""
    status: SessionStatusCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/status` (unstable)."""
    title: SessionTitleCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/set_title` (unstable)."""
    resume: SessionResumeCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/resume`."""
    close: SessionCloseCapabilities | None = None
    """An object here, even `{}`, means that the agent answers `session/close`."""
    meta: Meta | None = field(default=None, name="_meta")


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    """What the agent offers; `providers` is unstable, the last two are legacy."""

    load_session: bool = False
    """True if the agent answers `session/load`, which replays the history of a session."""
    prompt_capabilities: PromptCapabilities = field(default_factory=PromptCapabilities)
    """What prompts may hold beyond text and links. Absent means nothing more."""
    mcp_capabilities: McpCapabilities = field(default_factory=McpCapabilities)
    """How the agent reaches MCP servers beyond starting them. Absent means in no other way."""
    session_capabilities: SessionCapabilities = field(default_factory=SessionCapabilities)
    """What the client may do with sessions beyond creating them."""
    auth: AgentAuthCapabilities = field(default_factory=AgentAuthCapabilities)
    """What the agent can do about logins beyond `authenticate`."""
    providers: ProvidersCapabilities | None = None
    """An object here, even `{}`, means that the client may configure where models come from (unstable)."""
    nes: NesCapabilities | None = None
    """What the agent wants to know to suggest edits (legacy). Absent means that it suggests none."""
    position_encoding: PositionEncodingKind | None = None
    """The unit in which both count the characters of a line (legacy). Absent means UTF-16."""
    meta: Meta | None = field(default=None, name="_meta")


class InitializeRequest(Wire, frozen=True, kw_only=True):
    """The client's newest protocol version and what it offers."""

    protocol_version: ProtocolVersion
    """The newest version of the protocol that the client speaks."""
    client_capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    """What the agent may ask of the client and send to it. Absent means only the basics."""
    client_info: Implementation | None = None
    """Which program the client is, and its version."""
    meta: Meta | None = field(default=None, name="_meta")


class InitializeResponse(Wire, frozen=True, kw_only=True):
    """The protocol version to speak and what the agent offers."""

    protocol_version: ProtocolVersion
    """The version to speak from now on: the client's if the agent knows it, or else the agent's newest."""
    agent_capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    """What the client may ask of the agent and send to it. Absent means only the basics."""
    auth_methods: list[AuthMethod] = []
    """The ways to log in that the user can choose from. Absent or empty means that there are none."""
    agent_info: Implementation | None = None
    """Which program the agent is, and its version."""
    meta: Meta | None = field(default=None, name="_meta")

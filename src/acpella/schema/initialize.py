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
    version: str
    title: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class FileSystemCapabilities(Wire, frozen=True, kw_only=True):
    """Which file requests the client answers."""

    read_text_file: bool = False
    write_text_file: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class BooleanConfigOptionCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows settings that are on or off."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionConfigOptionsCapabilities(Wire, frozen=True, kw_only=True):
    """Which kinds of settings the client shows beyond lists of values."""

    boolean: BooleanConfigOptionCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NoticeCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows notices."""


class CompactionCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows how the context is summarized."""


class ClientSessionCapabilities(Wire, frozen=True, kw_only=True):
    """What the client understands inside a session."""

    compaction: CompactionCapabilities | None = None
    config_options: SessionConfigOptionsCapabilities | None = None
    notices: NoticeCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class PlanCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows several plans (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """What the client offers; `plan` and `subagents` are unstable, the last two legacy."""

    fs: FileSystemCapabilities = field(default_factory=FileSystemCapabilities)
    terminal: bool = False
    session: ClientSessionCapabilities | None = None
    subagents: SubagentCapabilities | None = None
    plan: PlanCapabilities | None = None
    auth: AuthCapabilities = field(default_factory=AuthCapabilities)
    elicitation: ElicitationCapabilities | None = None
    nes: ClientNesCapabilities | None = None
    position_encodings: list[PositionEncodingKind] = []
    meta: Meta | None = field(default=None, name="_meta")


class PromptCapabilities(Wire, frozen=True, kw_only=True):
    """What a prompt may hold beyond text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class McpCapabilities(Wire, frozen=True, kw_only=True):
    """How the agent reaches MCP servers beyond stdio; `acp` is unstable."""

    http: bool = False
    sse: bool = False
    acp: bool = False
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
    meta: Meta | None = field(default=None, name="_meta")


class SessionSystemPromptCapabilities(Wire, frozen=True, kw_only=True):
    """The client may add to the system prompt (unstable)."""

    mode: SessionSystemPromptModeCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionForkCapabilities(Wire, frozen=True, kw_only=True):
    """The agent forks sessions (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionArchiveCapabilities(Wire, frozen=True, kw_only=True):
    """The agent archives sessions (unstable)."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionStatusCapabilities(Wire, frozen=True, kw_only=True):
    """The agent tells whether a session is in use (unstable)."""

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
    delete: SessionDeleteCapabilities | None = None
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = None
    system_prompt: SessionSystemPromptCapabilities | None = None
    fork: SessionForkCapabilities | None = None
    archive: SessionArchiveCapabilities | None = None
    status: SessionStatusCapabilities | None = None
    title: SessionTitleCapabilities | None = None
    resume: SessionResumeCapabilities | None = None
    close: SessionCloseCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class AgentCapabilities(Wire, frozen=True, kw_only=True):
    """What the agent offers; `providers` is unstable, the last two are legacy."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = field(default_factory=PromptCapabilities)
    mcp_capabilities: McpCapabilities = field(default_factory=McpCapabilities)
    session_capabilities: SessionCapabilities = field(default_factory=SessionCapabilities)
    auth: AgentAuthCapabilities = field(default_factory=AgentAuthCapabilities)
    providers: ProvidersCapabilities | None = None
    nes: NesCapabilities | None = None
    position_encoding: PositionEncodingKind | None = None
    meta: Meta | None = field(default=None, name="_meta")


class InitializeRequest(Wire, frozen=True, kw_only=True):
    """The client's newest protocol version and what it offers."""

    protocol_version: ProtocolVersion
    client_capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    client_info: Implementation | None = None
    meta: Meta | None = field(default=None, name="_meta")


class InitializeResponse(Wire, frozen=True, kw_only=True):
    """The protocol version to speak and what the agent offers."""

    protocol_version: ProtocolVersion
    agent_capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = []
    agent_info: Implementation | None = None
    meta: Meta | None = field(default=None, name="_meta")

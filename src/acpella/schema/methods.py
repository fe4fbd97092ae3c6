"""The one table of ACP's methods: who receives them, what they carry, what must be advertised first."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from ._decode import decode_hook, read
from ._old import OLD_PARAMS, OLD_RESULTS
from ._wire import encoder
from .auth import (
    AuthenticateRequest,
    AuthenticateResponse,
    AuthStatusRequest,
    AuthStatusResponse,
    AuthStatusUpdateNotification,
    LogoutRequest,
    LogoutResponse,
)
from .config import (
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from .elicitation import CompleteElicitationNotification, CreateElicitationRequest, CreateElicitationResponse
from .files import ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse
from .initialize import InitializeRequest, InitializeResponse
from .mcp import (
    ConnectMcpRequest,
    ConnectMcpResponse,
    DisconnectMcpRequest,
    DisconnectMcpResponse,
    LegacyMessageMcpNotification,
    LegacyMessageMcpRequest,
    MessageMcpNotification,
    MessageMcpRequest,
    MessageMcpResponse,
    ReceivedMcpNotification,
    ReceivedMcpRequest,
)
from .models import SetSessionModelRequest, SetSessionModelResponse
from .nes import (
    AcceptNesNotification,
    CloseNesRequest,
    CloseNesResponse,
    DidChangeDocumentNotification,
    DidCloseDocumentNotification,
    DidFocusDocumentNotification,
    DidOpenDocumentNotification,
    DidSaveDocumentNotification,
    RejectNesNotification,
    StartNesRequest,
    StartNesResponse,
    SuggestNesRequest,
    SuggestNesResponse,
)
from .permission import RequestPermissionRequest, RequestPermissionResponse
from .prompt import CancelNotification, PromptRequest, PromptResponse
from .protocol import CancelRequestNotification
from .providers import (
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersRequest,
    ListProvidersResponse,
    SetProviderRequest,
    SetProviderResponse,
)
from .proxy import (
    InitializeProxyRequest,
    InitializeProxyResponse,
    ProxySuccessorNotification,
    ProxySuccessorRequest,
)
from .session import (
    ArchiveSessionRequest,
    ArchiveSessionResponse,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionStatusRequest,
    SessionStatusResponse,
    SetSessionTitleRequest,
    SetSessionTitleResponse,
    UnarchiveSessionRequest,
    UnarchiveSessionResponse,
)
from .terminals import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from .updates import SessionNotification

__all__ = [
    "ACCEPT_NES",
    "AGENT",
    "ARCHIVE_SESSION",
    "AUTHENTICATE",
    "AUTH_STATUS",
    "AUTH_STATUS_UPDATE",
    "CANCEL",
    "CANCEL_REQUEST",
    "CLIENT",
    "CLOSE_NES",
    "CLOSE_SESSION",
    "COMPLETE_ELICITATION",
    "CONNECT_MCP",
    "CREATE_ELICITATION",
    "CREATE_TERMINAL",
    "DELETE_SESSION",
    "DID_CHANGE_DOCUMENT",
    "DID_CLOSE_DOCUMENT",
    "DID_FOCUS_DOCUMENT",
    "DID_OPEN_DOCUMENT",
    "DID_SAVE_DOCUMENT",
    "DISABLE_PROVIDER",
    "DISCONNECT_MCP",
    "FORK_SESSION",
    "INITIALIZE",
    "INITIALIZE_PROXY",
    "KILL_TERMINAL",
    "LEGACY_MESSAGE_MCP",
    "LEGACY_NOTIFY_MCP",
    "LIST_PROVIDERS",
    "LIST_SESSIONS",
    "LOAD_SESSION",
    "LOGOUT",
    "MESSAGE_MCP",
    "METHODS",
    "NEW_SESSION",
    "NOTIFY_MCP",
    "NOTIFY_PROXY_SUCCESSOR",
    "PROMPT",
    "PROXY_SUCCESSOR",
    "READ_TEXT_FILE",
    "REJECT_NES",
    "RELEASE_TERMINAL",
    "REQUEST_PERMISSION",
    "RESUME_SESSION",
    "SESSION_STATUS",
    "SET_CONFIG_OPTION",
    "SET_MODE",
    "SET_MODEL",
    "SET_PROVIDER",
    "SET_TITLE",
    "START_NES",
    "SUGGEST_NES",
    "TERMINAL_OUTPUT",
    "UNARCHIVE_SESSION",
    "UPDATE",
    "WAIT_FOR_TERMINAL_EXIT",
    "WRITE_TEXT_FILE",
    "Method",
    "Vocabulary",
]

P = TypeVar("P")
R = TypeVar("R")

Receiver: TypeAlias = Literal["agent", "client", "both", "proxy"]
Stability: TypeAlias = Literal["stable", "unstable", "legacy"]

_ANY = cast("type[Any]", Any)  # msgspec takes Any as a type, type checkers do not


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R]):
    """One method: its name, its receiver, the types of what it carries and what opens it.

    `gate` is the capability that the receiver must have advertised (dotted, as on the wire), or another
    condition in words; None is always open. `null` is what a null result stands for.
    """

    name: str
    to: Receiver
    kind: Literal["request", "notification"]
    params: type[P]
    result: type[R]
    gate: str | None = None
    stability: Stability = "stable"
    null: bytes = b"{}"

    def read_params(self, raw: bytes | msgspec.Raw | memoryview) -> P:
        """The params as a Struct; absent and null ones read as an empty object.

        Raises:
            msgspec.DecodeError: they are not what the method takes.
        """
        return read(self.params, b"{}" if _is_nothing(raw) else raw, OLD_PARAMS.get(self.name))

    def read_result(self, raw: bytes | msgspec.Raw) -> R:
        """The result as a Struct; null reads as an empty one (R-017), and so does the empty table of Lua.

        Raises:
            msgspec.DecodeError: it is not what the method answers.
        """
        empty = _is_nothing(raw) or (
            self.result is not _ANY and len(raw) <= 8 and bytes(raw).strip() == b"[]"
        )
        return read(self.result, self.null if empty else raw, OLD_RESULTS.get(self.name))


def _is_nothing(raw: bytes | msgspec.Raw | memoryview) -> bool:
    return len(raw) <= 8 and bytes(raw).strip() in (b"", b"null")


def _to_agent(
    name: str,
    params: type[P],
    result: type[R],
    gate: str | None = None,
    stability: Stability = "stable",
    null: bytes = b"{}",
) -> Method[P, R]:
    return Method(name, "agent", "request", params, result, gate, stability, null)


def _to_client(
    name: str,
    params: type[P],
    result: type[R],
    gate: str | None = None,
    stability: Stability = "stable",
    null: bytes = b"{}",
) -> Method[P, R]:
    return Method(name, "client", "request", params, result, gate, stability, null)


def _tell(
    to: Receiver, name: str, params: type[P], gate: str | None = None, stability: Stability = "stable"
) -> Method[P, None]:
    return Method(name, to, "notification", params, type(None), gate, stability)


_SESSION = "agentCapabilities.sessionCapabilities."

INITIALIZE = _to_agent("initialize", InitializeRequest, InitializeResponse)
AUTHENTICATE = _to_agent(
    "authenticate",
    AuthenticateRequest,
    AuthenticateResponse,
    "the method is in authMethods and not a terminal's",
)
LOGOUT = _to_agent("logout", LogoutRequest, LogoutResponse, "agentCapabilities.auth.logout")
AUTH_STATUS = _to_agent(
    "auth/status", AuthStatusRequest, AuthStatusResponse, "agentCapabilities.auth.status", "unstable"
)
AUTH_STATUS_UPDATE = _tell(
    "client",
    "auth/status_update",
    AuthStatusUpdateNotification,
    "agentCapabilities.auth.status",
    "unstable",
)

NEW_SESSION = _to_agent("session/new", NewSessionRequest, NewSessionResponse)
LOAD_SESSION = _to_agent(
    "session/load", LoadSessionRequest, LoadSessionResponse, "agentCapabilities.loadSession"
)
RESUME_SESSION = _to_agent("session/resume", ResumeSessionRequest, ResumeSessionResponse, _SESSION + "resume")
LIST_SESSIONS = _to_agent(
    "session/list", ListSessionsRequest, ListSessionsResponse, _SESSION + "list", null=b'{"sessions":[]}'
)
DELETE_SESSION = _to_agent("session/delete", DeleteSessionRequest, DeleteSessionResponse, _SESSION + "delete")
CLOSE_SESSION = _to_agent("session/close", CloseSessionRequest, CloseSessionResponse, _SESSION + "close")
FORK_SESSION = _to_agent(
    "session/fork", ForkSessionRequest, ForkSessionResponse, _SESSION + "fork", "unstable"
)
ARCHIVE_SESSION = _to_agent(
    "session/archive", ArchiveSessionRequest, ArchiveSessionResponse, _SESSION + "archive", "unstable"
)
UNARCHIVE_SESSION = _to_agent(
    "session/unarchive", UnarchiveSessionRequest, UnarchiveSessionResponse, _SESSION + "archive", "unstable"
)
SESSION_STATUS = _to_agent(
    "session/status", SessionStatusRequest, SessionStatusResponse, _SESSION + "status", "unstable"
)
SET_TITLE = _to_agent(
    "session/set_title", SetSessionTitleRequest, SetSessionTitleResponse, _SESSION + "title", "unstable"
)
SET_MODE = _to_agent(
    "session/set_mode", SetSessionModeRequest, SetSessionModeResponse, "the session response carried modes"
)
SET_CONFIG_OPTION = _to_agent(
    "session/set_config_option",
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    "the session response carried configOptions",
)
SET_MODEL = _to_agent(
    "session/set_model",
    SetSessionModelRequest,
    SetSessionModelResponse,
    "the session response carried models",
    "legacy",
)

PROMPT = _to_agent("session/prompt", PromptRequest, PromptResponse)
CANCEL = _tell("agent", "session/cancel", CancelNotification)
UPDATE = _tell("client", "session/update", SessionNotification)
REQUEST_PERMISSION = _to_client(
    "session/request_permission", RequestPermissionRequest, RequestPermissionResponse
)
CANCEL_REQUEST = _tell("both", "$/cancel_request", CancelRequestNotification)

READ_TEXT_FILE = _to_client(
    "fs/read_text_file",
    ReadTextFileRequest,
    ReadTextFileResponse,
    "clientCapabilities.fs.readTextFile",
    null=b'{"content":""}',
)
WRITE_TEXT_FILE = _to_client(
    "fs/write_text_file", WriteTextFileRequest, WriteTextFileResponse, "clientCapabilities.fs.writeTextFile"
)

_TERMINAL = "clientCapabilities.terminal"

CREATE_TERMINAL = _to_client("terminal/create", CreateTerminalRequest, CreateTerminalResponse, _TERMINAL)
TERMINAL_OUTPUT = _to_client("terminal/output", TerminalOutputRequest, TerminalOutputResponse, _TERMINAL)
WAIT_FOR_TERMINAL_EXIT = _to_client(
    "terminal/wait_for_exit", WaitForTerminalExitRequest, WaitForTerminalExitResponse, _TERMINAL
)
KILL_TERMINAL = _to_client("terminal/kill", KillTerminalRequest, KillTerminalResponse, _TERMINAL)
RELEASE_TERMINAL = _to_client("terminal/release", ReleaseTerminalRequest, ReleaseTerminalResponse, _TERMINAL)

CREATE_ELICITATION: Method[CreateElicitationRequest, CreateElicitationResponse] = _to_client(
    "elicitation/create",
    cast("Any", CreateElicitationRequest),  # unions are no `type` to type checkers
    cast("Any", CreateElicitationResponse),
    "clientCapabilities.elicitation.form or .url, by mode",
)
COMPLETE_ELICITATION = _tell(
    "client",
    "elicitation/complete",
    CompleteElicitationNotification,
    "clientCapabilities.elicitation.url",
)

_PROVIDERS = "agentCapabilities.providers"

LIST_PROVIDERS = _to_agent(
    "providers/list", ListProvidersRequest, ListProvidersResponse, _PROVIDERS, "unstable"
)
SET_PROVIDER = _to_agent("providers/set", SetProviderRequest, SetProviderResponse, _PROVIDERS, "unstable")
DISABLE_PROVIDER = _to_agent(
    "providers/disable", DisableProviderRequest, DisableProviderResponse, _PROVIDERS, "unstable"
)

_MCP = "agentCapabilities.mcpCapabilities.acp"

MESSAGE_MCP = _to_client("mcp/message", MessageMcpRequest, MessageMcpResponse, _MCP, "unstable")
NOTIFY_MCP = _tell("agent", "mcp/message", MessageMcpNotification, _MCP, "unstable")
CONNECT_MCP = _to_client("mcp/connect", ConnectMcpRequest, ConnectMcpResponse, _MCP, "legacy")
DISCONNECT_MCP = _to_client("mcp/disconnect", DisconnectMcpRequest, DisconnectMcpResponse, _MCP, "legacy")
LEGACY_MESSAGE_MCP: Method[LegacyMessageMcpRequest, Any] = Method(
    "mcp/message", "both", "request", LegacyMessageMcpRequest, _ANY, _MCP, "legacy", b"null"
)
LEGACY_NOTIFY_MCP = _tell("both", "mcp/message", LegacyMessageMcpNotification, _MCP, "legacy")

INITIALIZE_PROXY: Method[InitializeProxyRequest, InitializeProxyResponse] = Method(
    "proxy/initialize", "proxy", "request", InitializeProxyRequest, InitializeProxyResponse, None, "unstable"
)
PROXY_SUCCESSOR: Method[ProxySuccessorRequest, Any] = Method(
    "proxy/successor", "proxy", "request", ProxySuccessorRequest, _ANY, None, "unstable", b"null"
)
NOTIFY_PROXY_SUCCESSOR = _tell("proxy", "proxy/successor", ProxySuccessorNotification, None, "unstable")

_NES = "agentCapabilities.nes"
_DOCUMENT = "agentCapabilities.nes.events.document."

START_NES = _to_agent("nes/start", StartNesRequest, StartNesResponse, _NES, "legacy")
SUGGEST_NES = _to_agent("nes/suggest", SuggestNesRequest, SuggestNesResponse, _NES, "legacy")
CLOSE_NES = _to_agent("nes/close", CloseNesRequest, CloseNesResponse, _NES, "legacy")
ACCEPT_NES = _tell("agent", "nes/accept", AcceptNesNotification, _NES, "legacy")
REJECT_NES = _tell("agent", "nes/reject", RejectNesNotification, _NES, "legacy")
DID_OPEN_DOCUMENT = _tell(
    "agent", "document/didOpen", DidOpenDocumentNotification, _DOCUMENT + "didOpen", "legacy"
)
DID_CHANGE_DOCUMENT = _tell(
    "agent", "document/didChange", DidChangeDocumentNotification, _DOCUMENT + "didChange", "legacy"
)
DID_CLOSE_DOCUMENT = _tell(
    "agent", "document/didClose", DidCloseDocumentNotification, _DOCUMENT + "didClose", "legacy"
)
DID_SAVE_DOCUMENT = _tell(
    "agent", "document/didSave", DidSaveDocumentNotification, _DOCUMENT + "didSave", "legacy"
)
DID_FOCUS_DOCUMENT = _tell(
    "agent", "document/didFocus", DidFocusDocumentNotification, _DOCUMENT + "didFocus", "legacy"
)

METHODS: tuple[Method[Any, Any], ...] = (
    INITIALIZE,
    AUTHENTICATE,
    LOGOUT,
    AUTH_STATUS,
    AUTH_STATUS_UPDATE,
    NEW_SESSION,
    LOAD_SESSION,
    RESUME_SESSION,
    LIST_SESSIONS,
    DELETE_SESSION,
    CLOSE_SESSION,
    FORK_SESSION,
    ARCHIVE_SESSION,
    UNARCHIVE_SESSION,
    SESSION_STATUS,
    SET_TITLE,
    SET_MODE,
    SET_CONFIG_OPTION,
    SET_MODEL,
    PROMPT,
    CANCEL,
    UPDATE,
    REQUEST_PERMISSION,
    CANCEL_REQUEST,
    READ_TEXT_FILE,
    WRITE_TEXT_FILE,
    CREATE_TERMINAL,
    TERMINAL_OUTPUT,
    WAIT_FOR_TERMINAL_EXIT,
    KILL_TERMINAL,
    RELEASE_TERMINAL,
    CREATE_ELICITATION,
    COMPLETE_ELICITATION,
    LIST_PROVIDERS,
    SET_PROVIDER,
    DISABLE_PROVIDER,
    MESSAGE_MCP,
    NOTIFY_MCP,
    CONNECT_MCP,
    DISCONNECT_MCP,
    LEGACY_MESSAGE_MCP,
    LEGACY_NOTIFY_MCP,
    INITIALIZE_PROXY,
    PROXY_SUCCESSOR,
    NOTIFY_PROXY_SUCCESSOR,
    START_NES,
    SUGGEST_NES,
    CLOSE_NES,
    ACCEPT_NES,
    REJECT_NES,
    DID_OPEN_DOCUMENT,
    DID_CHANGE_DOCUMENT,
    DID_CLOSE_DOCUMENT,
    DID_SAVE_DOCUMENT,
    DID_FOCUS_DOCUMENT,
)
"""Every method of v1. `mcp/message` and `proxy/successor` are here once for each of their forms."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What one side can be told: its methods by name, and the notification that comes in floods."""

    requests: Mapping[str, Method[Any, Any]]
    notifications: Mapping[str, Method[Any, Any]]
    stream: Method[Any, Any] | None = None
    encoder: msgspec.json.Encoder = encoder
    decode_hook: Callable[[Any, Any], Any] = decode_hook


def _by_name(kind: str, to: Receiver, *also: Method[Any, Any]) -> Mapping[str, Method[Any, Any]]:
    mine = (method for method in METHODS if method.kind == kind and method.to in (to, "both"))
    return _named((*mine, *also))


def _named(methods: Iterable[Method[Any, Any]]) -> Mapping[str, Method[Any, Any]]:
    return MappingProxyType({method.name: method for method in methods})


# Both forms of mcp/message reach a receiver under one name; the params tell which one it is.
_ANY_MCP_REQUEST: Method[ReceivedMcpRequest, Any] = Method(
    "mcp/message", "client", "request", cast("Any", ReceivedMcpRequest), _ANY, _MCP, "unstable", b"null"
)
_ANY_MCP_NOTIFICATION: Method[ReceivedMcpNotification, None] = Method(
    "mcp/message", "agent", "notification", cast("Any", ReceivedMcpNotification), type(None), _MCP, "unstable"
)

AGENT = Vocabulary(
    requests=_by_name("request", "agent"),
    notifications=_by_name("notification", "agent", _ANY_MCP_NOTIFICATION),
)
"""What an agent receives."""

CLIENT = Vocabulary(
    requests=_by_name("request", "client", _ANY_MCP_REQUEST),
    notifications=_by_name("notification", "client"),
    stream=UPDATE,
)
"""What a client receives."""

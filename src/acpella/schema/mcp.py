"""MCP servers given to a session, and MCP carried over ACP (unstable, with its legacy form)."""

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from ._wire import I32, Meta, NullAsEmpty, Pick, Strict, Unknown, Wire, field
from .terminals import EnvVariable

__all__ = [
    "ConnectMcpRequest",
    "ConnectMcpResponse",
    "DisconnectMcpRequest",
    "DisconnectMcpResponse",
    "HttpHeader",
    "LegacyMessageMcpNotification",
    "LegacyMessageMcpRequest",
    "McpConnectionId",
    "McpError",
    "McpRequestId",
    "McpServer",
    "McpServerAcp",
    "McpServerAcpId",
    "McpServerHttp",
    "McpServerSse",
    "McpServerStdio",
    "MessageMcpNotification",
    "MessageMcpRequest",
    "MessageMcpResponse",
    "ReceivedMcpNotification",
    "ReceivedMcpRequest",
]

McpServerAcpId: TypeAlias = str
McpRequestId: TypeAlias = str
McpConnectionId: TypeAlias = str


class HttpHeader(Wire, frozen=True, kw_only=True):
    """One header of the requests to a server."""

    name: str
    value: str
    meta: Meta | None = field(default=None, name="_meta")


class McpServerStdio(Wire, frozen=True, kw_only=True):
    """A server that the agent starts as a process."""

    name: str
    command: str
    args: NullAsEmpty[list[str]]
    env: NullAsEmpty[list[EnvVariable]]
    meta: Meta | None = field(default=None, name="_meta")


class McpServerHttp(Wire, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """A server behind streamable HTTP."""

    name: str
    url: str
    headers: NullAsEmpty[list[HttpHeader]]
    meta: Meta | None = field(default=None, name="_meta")


class McpServerSse(Wire, frozen=True, kw_only=True, tag_field="type", tag="sse"):
    """A server behind the older HTTP transport with server-sent events."""

    name: str
    url: str
    headers: NullAsEmpty[list[HttpHeader]]
    meta: Meta | None = field(default=None, name="_meta")


class McpServerAcp(Wire, frozen=True, kw_only=True, tag_field="type", tag="acp"):
    """A server that the client itself answers for, over this connection (unstable)."""

    name: str
    server_id: McpServerAcpId
    meta: Meta | None = field(default=None, name="_meta")


_SERVERS: dict[object, type] = {
    None: McpServerStdio,
    "stdio": McpServerStdio,
    "http": McpServerHttp,
    "sse": McpServerSse,
    "acp": McpServerAcp,
}


def _server(value: dict[str, Any]) -> type | None:
    kind = value.get("type")
    return _SERVERS.get(kind) if kind is None or isinstance(kind, str) else None


McpServer: TypeAlias = Annotated[
    McpServerStdio | McpServerHttp | McpServerSse | McpServerAcp | Unknown, Pick(_server)
]


class McpError(Wire, frozen=True, kw_only=True):
    """An error of the MCP server, not of ACP (unstable)."""

    code: I32
    message: str
    data: Strict[Any] = UNSET


class MessageMcpRequest(Wire, frozen=True, kw_only=True):
    """An MCP request to a server that the client answers for (unstable)."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: Strict[dict[str, Any] | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class MessageMcpResponse(Wire, frozen=True, kw_only=True):
    """What the MCP server answered: its result, which may be null, or its error (unstable)."""

    result: Strict[Any] = UNSET
    error: McpError | UnsetType = UNSET
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if self.result is not UNSET:
            force_setattr(self, "error", UNSET)  # never both; the result counts
        elif self.error is UNSET:
            raise ValueError("An MCP response needs a result or an error")


class MessageMcpNotification(Wire, frozen=True, kw_only=True):
    """An MCP notification that belongs to a request still under way (unstable)."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    params: Strict[dict[str, Any] | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class ConnectMcpRequest(Wire, frozen=True, kw_only=True):
    """Open a connection to a server that the client answers for (legacy)."""

    server_id: McpServerAcpId
    meta: Meta | None = field(default=None, name="_meta")


class ConnectMcpResponse(Wire, frozen=True, kw_only=True):
    """The connection is open (legacy)."""

    connection_id: McpConnectionId
    meta: Meta | None = field(default=None, name="_meta")


class LegacyMessageMcpRequest(Wire, frozen=True, kw_only=True):
    """An MCP request on an open connection; the answer is the bare MCP result (legacy)."""

    connection_id: McpConnectionId
    method: str
    params: Strict[dict[str, Any] | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class LegacyMessageMcpNotification(Wire, frozen=True, kw_only=True):
    """An MCP notification on an open connection (legacy)."""

    connection_id: McpConnectionId
    method: str
    params: Strict[dict[str, Any] | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class DisconnectMcpRequest(Wire, frozen=True, kw_only=True):
    """Close a connection to a server (legacy)."""

    connection_id: McpConnectionId
    meta: Meta | None = field(default=None, name="_meta")


class DisconnectMcpResponse(Wire, frozen=True, kw_only=True):
    """The connection is closed (legacy)."""

    meta: Meta | None = field(default=None, name="_meta")


def _request(value: dict[str, Any]) -> type:
    return LegacyMessageMcpRequest if "connectionId" in value else MessageMcpRequest


def _notification(value: dict[str, Any]) -> type:
    return LegacyMessageMcpNotification if "connectionId" in value else MessageMcpNotification


ReceivedMcpRequest: TypeAlias = Annotated[MessageMcpRequest | LegacyMessageMcpRequest, Pick(_request)]
"""Either form of an `mcp/message` request, as a receiver finds it."""
ReceivedMcpNotification: TypeAlias = Annotated[
    MessageMcpNotification | LegacyMessageMcpNotification, Pick(_notification)
]
"""Either form of an `mcp/message` notification, as a receiver finds it."""

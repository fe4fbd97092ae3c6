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
    """The name of the header, such as `Authorization`."""
    value: str
    """What the header says; it may be a secret."""
    meta: Meta | None = field(default=None, name="_meta")


class McpServerStdio(Wire, frozen=True, kw_only=True):
    """A server that the agent starts as a process."""

    name: str
    """What to call the server when it is shown."""
    command: str
    """The program to start, as an absolute path."""
    args: NullAsEmpty[list[str]]
    """The arguments to start the program with."""
    env: NullAsEmpty[list[EnvVariable]]
    """The environment variables to set for the program; they may hold secrets."""
    meta: Meta | None = field(default=None, name="_meta")


class McpServerHttp(Wire, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """A server behind streamable HTTP."""

    name: str
    """What to call the server when it is shown."""
    url: str
    """The address of the server."""
    headers: NullAsEmpty[list[HttpHeader]]
    """The headers to send with each request to the server; they may hold secrets."""
    meta: Meta | None = field(default=None, name="_meta")


class McpServerSse(Wire, frozen=True, kw_only=True, tag_field="type", tag="sse"):
    """A server behind the older HTTP transport with server-sent events."""

    name: str
    """What to call the server when it is shown."""
    url: str
    """The address of the server."""
    headers: NullAsEmpty[list[HttpHeader]]
    """The headers to send with each request to the server; they may hold secrets."""
    meta: Meta | None = field(default=None, name="_meta")


class McpServerAcp(Wire, frozen=True, kw_only=True, tag_field="type", tag="acp"):
    """A server that the client itself answers for, over this connection (unstable)."""

    name: str
    """What to call the server when it is shown."""
    server_id: McpServerAcpId
    """The client's id for the server, which no other server on this connection has."""
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
    """The MCP server's own number for what went wrong; it is never a code of ACP."""
    message: str
    """What went wrong, in the words of the MCP server."""
    data: Strict[Any] = UNSET
    """More about the error, in whatever form the MCP server likes."""


class MessageMcpRequest(Wire, frozen=True, kw_only=True):
    """An MCP request to a server that the client answers for (unstable)."""

    server_id: McpServerAcpId
    """The server that the request goes to, by the id that the client gave it."""
    request_id: McpRequestId
    """The agent's id for this MCP request; it is not the id of the ACP request around it."""
    method: str
    """The MCP method to call, such as `tools/call`."""
    params: Strict[dict[str, Any] | None] = None
    """The params of the MCP request. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")


class MessageMcpResponse(Wire, frozen=True, kw_only=True):
    """What the MCP server answered: its result, which may be null, or its error (unstable)."""

    result: Strict[Any] = UNSET
    """What the MCP method returned, unchanged; null is a result too."""
    error: McpError | UnsetType = UNSET
    """Why the MCP method failed. It is absent if there is a result."""
    meta: Meta | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if self.result is not UNSET:
            force_setattr(self, "error", UNSET)  # never both; the result counts
        elif self.error is UNSET:
            raise ValueError("An MCP response needs a result or an error")


class MessageMcpNotification(Wire, frozen=True, kw_only=True):
    """An MCP notification that belongs to a request still under way (unstable)."""

    server_id: McpServerAcpId
    """The server that works on the request, by the id that the client gave it."""
    request_id: McpRequestId
    """The MCP request that this belongs to, by the id that the agent gave it."""
    method: str
    """The MCP method of the notification, such as `notifications/progress`."""
    params: Strict[dict[str, Any] | None] = None
    """The params of the MCP notification. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")


class ConnectMcpRequest(Wire, frozen=True, kw_only=True):
    """Open a connection to a server that the client answers for (legacy)."""

    server_id: McpServerAcpId
    """The server to connect to, by the id that the client gave it."""
    meta: Meta | None = field(default=None, name="_meta")


class ConnectMcpResponse(Wire, frozen=True, kw_only=True):
    """The connection is open (legacy)."""

    connection_id: McpConnectionId
    """The client's id for the new connection; all messages on it carry this."""
    meta: Meta | None = field(default=None, name="_meta")


class LegacyMessageMcpRequest(Wire, frozen=True, kw_only=True):
    """An MCP request on an open connection; the answer is the bare MCP result (legacy)."""

    connection_id: McpConnectionId
    """The connection that the request travels on, as `mcp/connect` opened it."""
    method: str
    """The MCP method to call, such as `tools/call`."""
    params: Strict[dict[str, Any] | None] = None
    """The params of the MCP request. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")


class LegacyMessageMcpNotification(Wire, frozen=True, kw_only=True):
    """An MCP notification on an open connection (legacy)."""

    connection_id: McpConnectionId
    """The connection that the notification travels on, as `mcp/connect` opened it."""
    method: str
    """The MCP method of the notification, such as `notifications/progress`."""
    params: Strict[dict[str, Any] | None] = None
    """The params of the MCP notification. Absent means that it has none."""
    meta: Meta | None = field(default=None, name="_meta")


class DisconnectMcpRequest(Wire, frozen=True, kw_only=True):
    """Close a connection to a server (legacy)."""

    connection_id: McpConnectionId
    """The connection to close, as `mcp/connect` opened it."""
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

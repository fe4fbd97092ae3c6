"""MCP servers of all sessions of an agent, and the extension methods that manage them at run time (C15)."""

from collections.abc import Collection
from typing import Any, cast

import msgspec

from acpella.agent import Agent, Session
from acpella.errors import InvalidParams, ResourceNotFound
from acpella.schema import McpServer, decode

from .servers import ALL_TRANSPORTS, McpServers, Transport, available
from .settings import CALL_TIMEOUT, START_TIMEOUT, McpServerError

__all__ = ["SessionServers"]


class SessionServers:
    """The MCP servers of each session of an agent.

    Made once with the agent. The agent's hooks call `open` (on_session) and `close` (on_close); a turn takes
    the servers of its session with `of`. With the package `mcp` installed, the agent also answers
    `_agent/mcp/list`, `_agent/mcp/add` and `_agent/mcp/remove`.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        allowed: Collection[Transport] = ALL_TRANSPORTS,
        start_timeout: float = START_TIMEOUT,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._agent = agent
        self._options: dict[str, Any] = {
            "allowed": allowed,
            "start_timeout": start_timeout,
            "call_timeout": call_timeout,
        }
        self._by_session: dict[str, McpServers] = {}
        if available():
            agent.on_request("_agent/mcp/list")(self._list)
            agent.on_request("_agent/mcp/add")(self._add)
            agent.on_request("_agent/mcp/remove")(self._remove)

    async def open(self, session: Session) -> None:
        """Begin to start the servers of a session that was opened."""
        await self.close(session)
        servers = self._by_session[session.id] = McpServers(session, **self._options)
        servers.start()

    async def close(self, session: Session) -> None:
        """Stop the servers of a session that is closed or unloaded."""
        servers = self._by_session.pop(session.id, None)
        if servers is not None:
            await servers.close()

    def of(self, session: Session) -> McpServers:
        """The servers of an open session."""
        return self._by_session[session.id]

    # -- what an editor can ask ------------------------------------------------------------

    async def _list(self, params: Any) -> dict[str, Any]:
        async with self._agent.session(_text(params, "sessionId")) as session:
            return {"servers": self.of(session).entries()}

    async def _add(self, params: Any) -> dict[str, Any]:
        server = _server(params)
        async with self._agent.session(_text(params, "sessionId")) as session:
            try:
                return {"server": await self.of(session).add(server)}
            except McpServerError as error:
                raise InvalidParams(str(error)) from None

    async def _remove(self, params: Any) -> dict[str, Any]:
        name = _text(params, "name")
        async with self._agent.session(_text(params, "sessionId")) as session:
            servers = self.of(session)
            try:
                await servers.remove(name)
            except KeyError:
                there = ", ".join(entry["name"] for entry in servers.entries()) or "none"
                raise ResourceNotFound(
                    f"no MCP server {name!r} in this session; there are: {there}"
                ) from None
        return {}


def _text(params: Any, key: str) -> str:
    value = cast("dict[str, Any]", params).get(key) if isinstance(params, dict) else None
    if not isinstance(value, str) or not value:
        raise InvalidParams(f"{key} must be a string")
    return value


def _server(params: Any) -> McpServer:
    """The server in `server`, in the form that `session/new` has; what is a list there may be left out."""
    server = cast("dict[str, Any]", params).get("server") if isinstance(params, dict) else None
    if not isinstance(server, dict):
        raise InvalidParams("server must be an object, as in session/new")
    _text(server, "name")
    filled: dict[str, Any] = {"args": [], "env": [], "headers": [], **server}
    try:
        return decode(cast("type[McpServer]", McpServer), msgspec.json.encode(filled))
    except msgspec.ValidationError as error:
        raise InvalidParams("server must be an object, as in session/new", data=str(error)) from None

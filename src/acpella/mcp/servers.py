"""The MCP servers of one session, and their tools under names that models take."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from acpella.agent import Session, Turn
from acpella.errors import AcpellaError
from acpella.schema import McpServer, McpServerHttp, McpServerSse, McpServerStdio, Notice

from .content import McpResult
from .server import Connectable, OnProgress, ServerConnection
from .settings import (
    CALL_TIMEOUT,
    CLOSE_TIMEOUT,
    MAX_SERVERS,
    NAME_LIMIT,
    QUIET_WAIT,
    START_TIMEOUT,
    McpServerError,
)

__all__ = ["McpServers", "McpTool", "Transport", "available", "transports"]

log: logging.Logger = logging.getLogger(__name__)

Transport: TypeAlias = Literal["stdio", "http", "sse"]

ALL_TRANSPORTS: frozenset[Transport] = frozenset({"stdio", "http", "sse"})

_HASH = 6
"""Characters that tell apart tools whose names would be the same."""


def available() -> bool:
    """Whether the package that connects to MCP servers is installed, in a version that is new enough."""
    return find_spec("mcp") is not None and find_spec("mcp_types") is not None  # mcp 1 has no mcp_types


def transports() -> Sequence[Literal["http", "sse"]]:
    """For `Agent(mcp=...)`: what to advertise besides stdio; nothing without the package."""
    return ("http", "sse") if available() else ()


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of an MCP server, for a model."""

    name: str
    """Unique in the session, at most 64 of [A-Za-z0-9_-], and the same as long as the session lives."""
    server: str
    tool: str
    """What the server calls it."""
    title: str
    description: str
    schema: dict[str, Any]
    """JSON schema of an object."""
    read_only: bool
    """The server says that it changes nothing."""


class McpServers:
    """Starts the servers of a session and calls their tools. A failure is reported, and the others go on."""

    def __init__(
        self,
        session: Session,
        *,
        allowed: Collection[Transport] = ALL_TRANSPORTS,
        start_timeout: float = START_TIMEOUT,
        call_timeout: float = CALL_TIMEOUT,
    ) -> None:
        """Prepare the servers that the editor gave; `start` begins.

        `allowed` are the transports to connect to: stdio runs programs and the others reach any address, so
        an agent on a shared machine may want neither.
        """
        self._session = session
        self._allowed = frozenset(allowed)
        self._start_timeout = start_timeout
        self._call_timeout = call_timeout
        self._servers: dict[str, ServerConnection] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._untold: list[tuple[str, str]] = []
        self._closed = False

    # -- life ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to start all servers at once; nobody waits for them but who wants their tools."""
        for config in self._session.mcp_servers:
            try:
                self._begin(config)
            except McpServerError as error:
                self._untold.append((f"MCP server {_name_of(config)} was not started", str(error)))

    def _begin(self, config: McpServer) -> ServerConnection:
        checked = self._checked(config)
        server = ServerConnection(
            checked,
            roots=lambda: self._session.roots,
            start_timeout=self._start_timeout,
            on_problem=self._tell,
        )
        self._servers[server.name] = server
        server.start()
        return server

    def _checked(self, config: McpServer) -> Connectable:
        name = _name_of(config)
        if not available():
            raise McpServerError("MCP needs the package `mcp`, version 2; install acpella[standard]")
        if not isinstance(config, McpServerStdio | McpServerHttp | McpServerSse):
            raise McpServerError("this kind of MCP server is not supported; use stdio, http or sse")
        kind: Transport = (
            "stdio"
            if isinstance(config, McpServerStdio)
            else "http"
            if isinstance(config, McpServerHttp)
            else "sse"
        )
        if kind not in self._allowed:
            raise McpServerError(f"this agent starts no MCP servers over {kind}")
        if not isinstance(config, McpServerStdio) and not config.url.startswith(("http://", "https://")):
            raise McpServerError(f"its address must begin with http:// or https://, unlike {config.url!r}")
        if name in self._servers:
            raise McpServerError(
                "there is one of this name already; give it another name or remove the first"
            )
        if len(self._servers) >= MAX_SERVERS:
            raise McpServerError(f"a session has at most {MAX_SERVERS} MCP servers; remove one first")
        return config

    async def close(self) -> None:
        """Stop all servers; takes about a second, or two if one does not end in time. Safe to call twice."""
        self._closed = True
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.stop(CLOSE_TIMEOUT) for server in servers))

    async def add(self, config: McpServer) -> dict[str, Any]:
        """Start one more server, and give its entry.

        Raises:
            McpServerError: it cannot be started; then it is forgotten.
        """
        server = self._begin(config)
        try:
            await server.settled()
        except asyncio.CancelledError:
            await self._drop(server)
            raise
        if server.status != "ready":
            self._untold = [failure for failure in self._untold if server.error != failure[1]]
            await self._drop(server)
            raise McpServerError(
                f"MCP server {server.name} did not start: {server.error or 'it was stopped'}"
            )
        self._session.mcp_servers = [*self._session.mcp_servers, config]
        return _entry(server)

    async def remove(self, name: str) -> None:
        """Stop a server and forget its tools.

        Raises:
            KeyError: there is none of this name.
        """
        await self._drop(self._servers[name])
        self._session.mcp_servers = [each for each in self._session.mcp_servers if _name_of(each) != name]

    async def _drop(self, server: ServerConnection) -> None:
        if self._servers.get(server.name) is server:
            del self._servers[server.name]
        await server.stop(CLOSE_TIMEOUT)

    def entries(self) -> list[dict[str, Any]]:
        """Every server as JSON: name, transport, status, tools, and the error of one that failed."""
        return [_entry(server) for server in self._servers.values()]

    # -- tools ---------------------------------------------------------------------------

    async def prepare(self, turn: Turn) -> list[McpTool]:
        """The tools there are, once no server is starting; tells the user what went wrong meanwhile.

        To be called before every request to a model: tools come and go.
        """
        await self._wait(turn)
        untold, self._untold = self._untold, []
        for title, description in untold:
            await turn.notice(title, severity="warning", description=description)
        return self.tools

    async def _wait(self, turn: Turn) -> None:
        """Until no server is starting; says so when that takes long."""
        starting = [server for server in self._servers.values() if not server.is_settled]
        if not starting:
            return
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(server.settled()) for server in starting]
            _, pending = await asyncio.wait(waits, timeout=QUIET_WAIT)
            if pending:
                names = ", ".join(server.name for server in starting if not server.is_settled)
                await turn.notice(f"Waiting for MCP servers to start: {names}")

    @property
    def tools(self) -> list[McpTool]:
        """The tools of the servers that are ready."""
        return [
            McpTool(
                name=self._name(server.name, tool.name),
                server=server.name,
                tool=tool.name,
                title=tool.title or tool.name,
                description=tool.description,
                schema=tool.schema,
                read_only=tool.read_only,
            )
            for server in self._servers.values()
            if server.status == "ready"
            for tool in server.tools
        ]

    async def call(
        self, tool: McpTool, arguments: dict[str, Any], *, on_progress: OnProgress | None = None
    ) -> McpResult:
        """Call a tool. Cancelling the caller cancels the call at the server.

        Raises:
            McpServerError: its server is gone, did not answer in time, or answered with an error.
        """
        server = self._servers.get(tool.server)
        if server is None:
            raise McpServerError(f"MCP server {tool.server} was removed")
        return await server.call(tool.tool, arguments, timeout=self._call_timeout, on_progress=on_progress)

    def _name(self, server: str, tool: str) -> str:
        name = self._names.get((server, tool))
        if name is None:
            name = self._names[server, tool] = _unique(server, tool, set(self._names.values()))
        return name

    # -- telling -------------------------------------------------------------------------

    async def _tell(self, title: str, description: str) -> None:
        """As soon as possible: a notice now, or text with the next prompt where notices are unknown."""
        if self._closed:
            return
        if not self._session.shows(Notice):
            self._untold.append((title, description))
            return
        try:
            await self._session.update(Notice(severity="warning", title=title, description=description))
        except AcpellaError as error:
            log.info("not told: %s (%s)", title, error)


def _name_of(config: McpServer) -> str:
    name = getattr(config, "name", None)
    return name if isinstance(name, str) else "without a name"


def _unique(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool`, shortened and made different where that must be."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}__{tool}")
    if len(name) <= NAME_LIMIT and name not in taken:
        return name
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_HASH]
    return f"{name[: NAME_LIMIT - _HASH - 1]}_{mark}"


def _entry(server: ServerConnection) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": server.name,
        "transport": server.transport,
        "status": server.status,
        "tools": [tool.name for tool in server.tools] if server.status == "ready" else [],
    }
    if server.error:
        entry["error"] = server.error
    return entry

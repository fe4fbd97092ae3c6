"""One MCP server of a session: connected, listed, called, restarted, stopped."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from acpella._redact import redact
from acpella.errors import AcpellaError, ConnectionClosed, stderr_note
from acpella.schema import McpServerHttp, McpServerSse, McpServerStdio

from .content import McpResult, from_result
from .settings import (
    CRASH_WINDOW,
    DESCRIPTION_LIMIT,
    LIST_TIMEOUT,
    MAX_PAGES,
    MAX_TOOLS,
    RECONNECT_PAUSE,
    RECONNECT_TIMEOUT,
    SCHEMA_LIMIT,
    McpServerError,
)
from .stdio import StdioServer

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

__all__ = ["Connectable", "Listed", "OnProgress", "ServerConnection", "Status"]

log: logging.Logger = logging.getLogger(__name__)

Connectable: TypeAlias = McpServerStdio | McpServerHttp | McpServerSse

Status: TypeAlias = Literal["starting", "ready", "failed", "stopped"]


class OnProgress(Protocol):
    """Called with how much is done, of how much if known, and what the server says of it."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


HTTP_SECONDS = 30.0
"""Seconds for an MCP server at a URL to be reached and to take a message."""

HTTP_READ_SECONDS = 300.0
"""Seconds that it may be silent on a stream that it holds open."""

_SHORTEST_SECRET = 6
"""Shortest value given to a server that is removed from its messages; shorter ones may be plain words."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it."""

    name: str
    title: str | None
    description: str
    schema: dict[str, Any]
    read_only: bool


class ServerConnection:
    """Keeps one server running in a task of its own: the SDK must be exited in the task that entered it."""

    def __init__(
        self,
        config: Connectable,
        *,
        roots: Callable[[], list[Path]],
        start_timeout: float,
        on_problem: Callable[[str, str], Awaitable[None]],
    ) -> None:
        """Prepare a server. `on_problem` gets a title and a description for the user."""
        self.config = config
        self.name: str = config.name
        self.status: Status = "starting"
        self.error: str | None = None
        """Why it failed."""
        self.tools: list[Listed] = []
        self._roots = roots
        self._start_timeout = start_timeout
        self._on_problem = on_problem
        self._settled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._lost = asyncio.Event()
        self._changed = asyncio.Event()
        self._client: Client | None = None
        self._process: StdioServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._was_ready = False

    @property
    def transport(self) -> Literal["stdio", "http", "sse"]:
        match self.config:
            case McpServerStdio():
                return "stdio"
            case McpServerHttp():
                return "http"
            case _:
                return "sse"

    @property
    def pid(self) -> int | None:
        """The process id of a server that was started here."""
        return None if self._process is None else self._process.pid

    # -- life ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect; `settled` tells when it has or has not worked."""
        self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"MCP server {self.name}")

    @property
    def is_settled(self) -> bool:
        return self._settled.is_set()

    async def settled(self) -> None:
        """Wait until it is ready, failed or stopped. Bounded: starting has a deadline."""
        await self._settled.wait()

    async def stop(self, timeout: float) -> None:
        """End it and all that it started; what does not end in time is killed. Safe to call twice."""
        task = self._task
        if task is None:
            return
        self._stopping.set()
        if self.status == "starting":
            task.cancel()
        done, _ = await asyncio.wait([task], timeout=timeout)
        if not done:
            task.cancel()  # kills the process group on its way
            await asyncio.wait([task], timeout=timeout)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        restarted = float("-inf")
        try:
            while True:
                self._was_ready = False
                failure = await self._run()
                if failure is None or self._stopping.is_set():
                    return
                self.error = failure
                if not self._was_ready:
                    if self.transport != "stdio" and loop.time() - restarted < RECONNECT_TIMEOUT:
                        await asyncio.sleep(RECONNECT_PAUSE)  # it may be being restarted, too
                        continue
                    await self._give_up(f"MCP server {self.name} did not start")
                    return
                if loop.time() - restarted < CRASH_WINDOW:
                    await self._give_up(f"MCP server {self.name} crashed again and stays off")
                    return
                restarted = loop.time()
                log.warning("MCP server %s is restarted: %s", self.name, failure)
                await self._on_problem(f"MCP server {self.name} crashed and is restarted", failure)
        finally:
            self._client = None
            if self.status != "failed":
                self.status = "stopped"
            self._settled.set()

    async def _give_up(self, title: str) -> None:
        self.status = "failed"
        self._settled.set()
        log.warning("%s: %s", title, self.error)
        await self._on_problem(title, self.error or "")

    async def _run(self) -> str | None:
        """Connect and stay connected. Gives why that ended, None if it was stopped."""
        self._lost.clear()
        self._changed.clear()
        self._process = None
        try:
            await asyncio.to_thread(_import_sdk)
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._start_timeout):
                    client = await stack.enter_async_context(self._connect())
                    self.tools = await self._list(client)
                self._client, self.error, self.status = client, None, "ready"
                self._was_ready = True
                self._settled.set()
                try:
                    await self._watch(client)
                finally:
                    self._unsettle()
        except TimeoutError:
            return f"it was not ready after {self._start_timeout:g} seconds{self._stderr()}"
        except Exception as error:
            return self._why(error)
        if self._stopping.is_set():
            return None
        return self._why(McpServerError("the connection was lost"))

    def _unsettle(self) -> None:
        """The connection is gone. Whoever wants to use it waits until it has been made again."""
        self._client, self.status = None, "starting"
        self._settled.clear()

    async def _watch(self, client: "Client") -> None:
        """Wait until it is over, listing the tools again when they have changed."""
        events = [self._stopping, self._lost]
        if self._process is not None:
            events.append(self._process.ended_event)
        async with asyncio.TaskGroup() as group:
            over = [group.create_task(event.wait()) for event in events]
            others = [group.create_task(self._refresh(client))]
            if _announces_changes(client):
                others.append(group.create_task(self._listen(client)))
            await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
            for task in (*over, *others):
                task.cancel()

    async def _refresh(self, client: "Client") -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                async with asyncio.timeout(LIST_TIMEOUT):
                    self.tools = await self._list(client)
            except Exception as error:
                log.warning("the tools of MCP server %s are not known anew: %s", self.name, self._why(error))

    async def _listen(self, client: "Client") -> None:
        """Newer servers tell of changes on a stream that is asked for."""
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._changed.set()
        except Exception as error:
            log.info("MCP server %s tells no changes: %s", self.name, self._why(error))

    # -- connecting ----------------------------------------------------------------------

    @asynccontextmanager
    async def _connect(self) -> "AsyncGenerator[Client]":
        import mcp_types as types
        from mcp import Client

        async def roots(context: Any) -> types.ListRootsResult:
            return types.ListRootsResult(
                roots=[types.Root.model_validate({"uri": root.as_uri()}) for root in self._roots()]
            )

        async def heard(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                self._changed.set()
            elif self.transport == "sse" and isinstance(message, Exception) and _is_gone(message):
                self._lost.set()  # the stream that answers come on

        async with AsyncExitStack() as stack:
            client = Client(
                await self._transport(stack),
                client_info=types.Implementation(name="acpella", version="0.1"),
                list_roots_callback=roots,
                message_handler=heard,
                cache=None,  # told when they change; a copy would only be old
            )
            yield await stack.enter_async_context(client)

    async def _transport(self, stack: AsyncExitStack) -> Any:
        config = self.config
        if isinstance(config, McpServerStdio):
            env = {variable.name: variable.value for variable in config.env}
            self._process = StdioServer([config.command, *config.args], cwd=self._roots()[0], env=env)
            return self._process.connect()
        headers = {header.name: header.value for header in config.headers}
        if isinstance(config, McpServerHttp):
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            timeout = httpx2.Timeout(HTTP_SECONDS, read=HTTP_READ_SECONDS)
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=timeout))
            return streamable_http_client(config.url, http_client=http)
        from mcp.client.sse import sse_client

        return sse_client(config.url, headers=headers)

    async def _list(self, client: "Client") -> list[Listed]:
        listed: list[Listed] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed += [tool for tool in map(self._listed, page.tools) if tool is not None]
            cursor = page.next_cursor
            if cursor is None or len(listed) > MAX_TOOLS:
                break
        if len(listed) > MAX_TOOLS:
            log.warning("MCP server %s has more than %d tools; the others are left out", self.name, MAX_TOOLS)
        return listed[:MAX_TOOLS]

    def _listed(self, tool: "types.Tool") -> Listed | None:
        schema = tool.input_schema
        if len(json.dumps(schema)) > SCHEMA_LIMIT:
            log.warning("the tool %s of MCP server %s has a schema too long to use", tool.name, self.name)
            return None
        if schema.get("type") != "object":
            schema = {**schema, "type": "object"}
        hints = tool.annotations
        return Listed(
            name=tool.name,
            title=tool.title or (hints.title if hints else None),
            description=(tool.description or "")[:DESCRIPTION_LIMIT],
            schema=schema,
            read_only=bool(hints and hints.read_only_hint),
        )

    # -- calling -------------------------------------------------------------------------

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout: float, on_progress: OnProgress | None = None
    ) -> McpResult:
        """Call a tool; cancelling the caller cancels the call at the server.

        Raises:
            McpServerError: it does not run, did not answer in time, answered with an error, or crashed.
        """
        client, process = await self._connected()
        try:
            async with asyncio.timeout(timeout):
                result = await client.call_tool(tool, arguments, progress_callback=on_progress)
        except TimeoutError:
            raise McpServerError(
                f"{tool} of MCP server {self.name} did not answer within {timeout:g} seconds"
            ) from None
        except Exception as error:
            if self._stopping.is_set():
                raise McpServerError(f"MCP server {self.name} was stopped during the call") from None
            if process is not None and process.end is not None:
                raise McpServerError(
                    f"MCP server {self.name} crashed during the call: {self._how(process.end)}"
                ) from None
            if _is_gone(error):
                self._lost.set()
                if self._client is client:
                    self._unsettle()
                raise McpServerError(
                    f"the connection to MCP server {self.name} was lost during the call; it is made anew: "
                    f"{self._hide(_message(error))}"
                ) from None
            raise McpServerError(f"MCP server {self.name}: {self._hide(_message(error))}") from None
        return from_result(result)

    async def _connected(self) -> "tuple[Client, StdioServer | None]":
        """The client of a server that runs; waits for one that has just crashed and is restarted."""
        while True:
            await self._settled.wait()
            client, process = self._client, self._process
            if client is None:
                raise McpServerError(self._why_not())
            if not self._lost.is_set() and (process is None or process.end is None):
                return client, process
            self._unsettle()  # its keeper is about to notice

    def _why_not(self) -> str:
        if self.status == "failed":
            return f"MCP server {self.name} is not running: {self.error}"
        return f"MCP server {self.name} is not running"

    # -- what went wrong -------------------------------------------------------------------

    def _why(self, error: BaseException) -> str:
        process = self._process
        if process is not None and process.end is not None:
            return self._how(process.end)
        return self._hide(_message(error)) + self._stderr()

    def _how(self, end: ConnectionClosed) -> str:
        return self._hide(str(end))

    def _stderr(self) -> str:
        return "" if self._process is None else self._hide(stderr_note(self._process.stderr_tail))

    def _hide(self, text: str) -> str:
        """The text without what was given to the server in confidence."""
        config = self.config
        secrets = (
            [variable.value for variable in config.env]
            if isinstance(config, McpServerStdio)
            else [header.value for header in config.headers]
        )
        for value in sorted(secrets, key=len, reverse=True):
            for secret in {value, value.rpartition(" ")[2]}:  # "Bearer ..." without its first word, too
                if len(secret) >= _SHORTEST_SECRET:
                    text = text.replace(secret, "***")
        return redact(text)


def _import_sdk() -> None:
    """Takes a second the first time: in a thread, while editors are answered."""
    for name in ("mcp", "mcp.client.sse", "mcp.client.streamable_http"):
        import_module(name)
    sdk = logging.getLogger("mcp")
    if not sdk.handlers:  # else its tracebacks of lost connections go to stderr, which editors show
        sdk.addHandler(logging.NullHandler())


def _announces_changes(client: "Client") -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    tools = client.server_capabilities.tools
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS and bool(tools and tools.list_changed)


def _is_gone(error: BaseException) -> bool:
    """Whether the connection is unusable, as the SDK tells it."""
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or error.message == "Session terminated"
    return isinstance(error, httpx2.TransportError | OSError)


def _message(error: BaseException) -> str:
    """What to tell people of an error: the first of a group, and never without words."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    text = str(error).strip()
    if isinstance(error, AcpellaError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

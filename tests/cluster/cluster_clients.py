"""Clients of these tests: ours, and plain HTTP to one node."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from cluster_nodes import Balancer, Node

import acpella

__all__ = ["Plain", "ask", "numbers", "opened", "plain"]


def numbers(count: int) -> str:
    """What the agent says to `count` and `flood`."""
    return "".join(f"<{each}>" for each in range(count))


async def ask(session: Any, text: str) -> str:
    """The text of the answer."""
    return (await session.prompt(text)).text


@asynccontextmanager
async def opened(balancer: Balancer, transport: str, cwd: str = "/") -> AsyncGenerator[Any]:
    """A session of our own client."""
    url = balancer.url if transport == "http" else balancer.ws_url
    async with acpella.connect(url) as agent:
        yield await agent.new_session(cwd=cwd)


class Plain:
    """Requests of one connection, each to the node that the test names."""

    def __init__(self, client: httpx2.AsyncClient, connection_id: str, generation: str) -> None:
        self._client = client
        self.headers = {"Acp-Connection-Id": connection_id}
        self.generation = generation

    async def post(self, node: Node, method: str, params: Any, *, number: int, key: int | None = None) -> int:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if key is not None:
            message["id"] = key
        headers = {**self.headers, "Acpella-Message": str(number)}
        if "sessionId" in params:
            headers["Acp-Session-Id"] = params["sessionId"]
        response = await self._client.post(_url(node), json=message, headers=headers)
        return response.status_code

    async def notify(self, node: Node, method: str, params: Any) -> int:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        headers = {**self.headers, "Acp-Session-Id": params["sessionId"]}
        return (await self._client.post(_url(node), json=message, headers=headers)).status_code

    @asynccontextmanager
    async def stream(
        self, node: Node, *, session: str | None = None, after: int
    ) -> AsyncGenerator[httpx2.Response]:
        """A stream that begins after the message with this number."""
        headers = {
            **self.headers,
            "Accept": "text/event-stream",
            "Acpella-Resume": "1",
            "Last-Event-ID": f"{self.generation}-{after}",
        }
        if session is not None:
            headers["Acp-Session-Id"] = session
        async with self._client.stream("GET", _url(node), headers=headers) as response:
            assert response.status_code == 200, response.status_code
            yield response

    async def events(
        self, node: Node, *, session: str | None = None, after: int = 0, until: str
    ) -> list[tuple[int, Any]]:
        """The numbered messages of a stream, up to the first that contains `until`."""
        found: list[tuple[int, Any]] = []
        number = 0
        async with asyncio.timeout(30), self.stream(node, session=session, after=after) as response:
            async for line in response.aiter_lines():
                if line.startswith("id:"):
                    number = int(line.rpartition("-")[2])
                elif line.startswith("data:"):
                    found.append((number, json.loads(line[5:])))
                    if until in line:
                        break
        return found


@asynccontextmanager
async def plain(
    node: Node, *, socket_options: Any = None, token: str = "", meta: dict[str, Any] | None = None
) -> AsyncGenerator[Plain]:
    """A connection that begins at this node."""
    transport = httpx2.AsyncHTTPTransport(socket_options=socket_options)
    credentials = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(timeout=30, transport=transport, headers=credentials) as client:
        hello: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}, "_meta": meta or {}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        headers = {"Accept": "application/json, text/event-stream", "Acpella-Resume": "1"}
        response = await client.post(_url(node), json=message, headers=headers)
        assert response.status_code == 200, response.text
        yield Plain(client, response.headers["acp-connection-id"], response.headers["acpella-resume"])


def _url(node: Node) -> str:
    return f"http://127.0.0.1:{node.port}/acp"

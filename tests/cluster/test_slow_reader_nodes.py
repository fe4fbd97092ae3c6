"""A client that does not read, at a node that is not the home of its connection."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from cluster_clients import Plain, plain
from cluster_nodes import Cluster, Node

from postgres import PostgresServer

pytestmark = pytest.mark.anyio

SCHEMA = "test_slow_reader_nodes"
COUNT, SIZE = 1200, 8000
"""Updates, and bytes of each: far more than may wait anywhere."""

MAX_BYTES = 6 * 1024 * 1024
"""What may be kept for a client that does not read: a window, and what sockets hold."""

MAX_MEMORY = 16 * 1024 * 1024

SMALL = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 262144)]


@pytest.fixture(scope="module")
def cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    nodes = Cluster(f"{postgres_server.dsn()}&schema={SCHEMA}", tmp_path_factory.mktemp(SCHEMA), count=2)
    patient, impatient = nodes.nodes
    patient.settings["requests_per_second"] = impatient.settings["requests_per_second"] = 0
    impatient.settings["stall_seconds"] = 2
    yield nodes
    asyncio.run(nodes.stop())


def memory(node: Node) -> int:
    """Bytes that a node's process has in memory."""
    status = Path(f"/proc/{node.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


class Stored:
    """What the database keeps for one connection."""

    def __init__(self, server: PostgresServer, client: Plain) -> None:
        self._dsn = server.dsn()
        self._stream = "c:" + client.headers["Acp-Connection-Id"]

    async def size(self) -> int:
        database: Any = await asyncpg.connect(self._dsn, server_settings={"search_path": SCHEMA})
        query = """SELECT coalesce(sum(length(body)), 0) FROM frames f JOIN streams s ON s.k = f.sid
            WHERE s.id = $1"""
        try:
            return await database.fetchval(query, self._stream)
        finally:
            await database.close()

    async def until_still(self) -> int:
        """Wait until something is kept and nothing is added any more: the agent waits for its client."""
        last = -1
        async with asyncio.timeout(60):
            while (size := await self.size()) != last or size < 500_000:
                last = size
                await asyncio.sleep(1)
        return last


class Blobs:
    """Reads the numbered updates of one turn, and confirms them."""

    def __init__(self, client: Plain, session: str) -> None:
        self._client = client
        self._session = session
        self.after = 0
        self.numbers: list[int] = []
        self.is_over = False

    async def read(self, node: Node, response: httpx2.Response) -> None:
        """Take what is on a stream, until the turn is over or the stream breaks."""
        number = 0
        async for line in response.aiter_lines():
            if line.startswith("id:"):
                number = int(line.rpartition("-")[2])
            elif line.startswith("data:"):
                assert number == self.after + 1
                self.after = number
                self._on_message(json.loads(line[5:]))
                if number % 100 == 0:
                    await self._confirm(node)
                if self.is_over:
                    return

    def _on_message(self, message: Any) -> None:
        if "method" not in message:
            self.is_over = message["result"]["stopReason"] == "end_turn"
        elif message["params"]["update"]["sessionUpdate"] == "agent_message_chunk":
            text = message["params"]["update"]["content"]["text"]
            self.numbers += map(int, re.findall(r"<(\d+)>", text))

    async def _confirm(self, node: Node) -> None:
        params = {"sessionId": self._session, "lastEventId": f"{self._client.generation}-{self.after}"}
        assert await self._client.notify(node, "$/acpella/ack", params) == 202


@asynccontextmanager
async def prompted(home: Node) -> AsyncGenerator[tuple[Plain, Blobs, str]]:
    """A client of one node, whose agent has much to say."""
    async with plain(home, socket_options=SMALL) as client:
        await client.post(home, "session/new", {"cwd": "/", "mcpServers": []}, number=1, key=1)
        ((_, answer),) = await client.events(home, until='"id":1')
        session = answer["result"]["sessionId"]
        yield client, Blobs(client, session), session


async def prompt(client: Plain, node: Node, session: str) -> None:
    content = [{"type": "text", "text": f"blobs {COUNT} {SIZE}"}]
    await client.post(node, "session/prompt", {"sessionId": session, "prompt": content}, number=2, key=2)


async def test_slow_reader_rss(cluster: Cluster, postgres_server: PostgresServer) -> None:
    """Neither node nor the database fills up, and the client gets everything when it reads again."""
    async with cluster.balanced(), asyncio.timeout(120):
        home, other = cluster.nodes
        async with prompted(home) as (client, blobs, session):
            before = [memory(node) for node in (home, other)]
            async with client.stream(other, session=session, after=0) as response:
                await prompt(client, other, session)
                assert await Stored(postgres_server, client).until_still() < MAX_BYTES
                grown = [memory(node) - b for node, b in zip((home, other), before, strict=True)]
                assert max(grown) < MAX_MEMORY, grown
                await blobs.read(other, response)
        assert blobs.numbers == list(range(COUNT))


async def test_who_never_reads_is_hung_up_on_and_may_come_back(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    async with cluster.balanced(), asyncio.timeout(120):
        other, home = cluster.nodes
        async with prompted(home) as (client, blobs, session):
            async with client.stream(other, session=session, after=0) as response:
                await prompt(client, other, session)
                await home.until_logged("hung up: the client reads nothing")
                with pytest.raises(httpx2.TransportError):
                    await blobs.read(other, response)
            assert not blobs.is_over
            for node in (other, home):
                if not blobs.is_over:
                    async with client.stream(node, session=session, after=blobs.after) as response:
                        await blobs.read(node, response)
        assert blobs.numbers == list(range(COUNT))

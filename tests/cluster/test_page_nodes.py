"""Nodes that offer the page: pages stay where they are, all others are served by every node."""

import asyncio
from collections.abc import Iterator

import pytest
from cluster_clients import plain
from cluster_nodes import Cluster

from postgres import PostgresServer

pytestmark = pytest.mark.anyio

SCHEMA = "test_page_nodes"
TOKEN = "0123456789abcdef" * 4

NEW = {"cwd": "/", "mcpServers": []}


@pytest.fixture(scope="module")
def cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp(SCHEMA)
    (directory / "tokens").write_text(f"ann {TOKEN}\n")
    (directory / "tokens").chmod(0o600)
    nodes = Cluster(f"{postgres_server.dsn()}&schema={SCHEMA}", directory, count=2)
    for node in nodes.nodes:
        node.words = ["--web", "--token-file", str(directory / "tokens")]
    yield nodes
    asyncio.run(nodes.stop())


async def test_clients_of_a_server_with_a_page_are_served_by_every_node(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        async with plain(first, token=TOKEN) as client:
            assert await client.post(second, "session/new", NEW, number=1, key=1) == 202
            ((_, answer),) = await client.events(second, until='"id":1')
            session = answer["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "flood 20"}]}
            assert await client.post(second, "session/prompt", prompt, number=2, key=2) == 202
            events = await client.events(second, session=session, until="stopReason")
            assert [number for number, _ in events] == list(range(1, len(events) + 1))


async def test_a_page_stays_at_its_node_and_opens_its_session_on_another(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        page = {"acpella": {"page": True}}
        async with plain(first, token=TOKEN, meta=page) as client:
            assert await client.post(first, "session/new", NEW, number=1, key=1) == 202
            events = await client.events(first, until='"id":1')
            session = events[-1][1]["result"]["sessionId"]
            assert await client.post(second, "session/list", {}, number=2, key=2) == 404
        await first.kill()
        async with plain(second, token=TOKEN, meta=page) as client:
            assert (
                await client.post(second, "session/load", {"sessionId": session, **NEW}, number=1, key=1)
                == 202
            )
            events = await client.events(second, until='"id":1')
            assert "result" in events[-1][1]

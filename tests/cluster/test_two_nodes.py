"""What takes two nodes to see: the home of a connection, and another that serves it, too."""

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest
from cluster_clients import ask, opened
from cluster_nodes import Cluster

import acpella
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

SCHEMA = "test_two_nodes"


@pytest.fixture(scope="module")
def cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    nodes = Cluster(f"{postgres_server.dsn()}&schema={SCHEMA}", tmp_path_factory.mktemp(SCHEMA), count=2)
    yield nodes
    asyncio.run(nodes.stop())


async def history(server: PostgresServer, session_id: str) -> list[Any]:
    """What is in the log of a session."""
    database = await asyncpg.connect(server.dsn(), server_settings={"search_path": SCHEMA})
    query = "SELECT e.body FROM events e JOIN sessions s ON s.k = e.sid WHERE s.id = $1 ORDER BY e.seq"
    bodies = [json.loads(row[0]) for row in await database.fetch(query, session_id)]
    await database.close()
    return bodies


async def test_a_prompt_that_was_taken_is_in_the_history(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    """The node ends with the first step of the turn. Whoever takes over knows the prompt from its command."""
    async with cluster.balanced() as balancer, opened(balancer, "ws") as session:
        await ask(session, "before")
        with pytest.raises(acpella.RpcError) as caught:
            await ask(session, "die")
        await (await cluster.runs("die")).ended()
        assert caught.value.data == {"reason": "interrupted"}
        assert await ask(session, "after") == "after"
        bodies = await history(postgres_server, session.id)
        prompts = [
            body["content"]["text"] for body in bodies if body.get("sessionUpdate") == "user_message_chunk"
        ]
        assert prompts == ["before", "die", "after"]
        assert [body["stopReason"] for body in bodies if "stopReason" in body] == [
            "end_turn",
            "cancelled",
            "end_turn",
        ]
        assert cluster.started("die") == 1


async def test_prompts_that_reach_a_node_that_stops_are_run_by_the_next(cluster: Cluster) -> None:
    """A node leaves a connection that is idle in the very moment in which its client sends the next one."""
    stopped = asyncio.Event()

    async def talk(session: Any, name: str) -> list[str]:
        said: list[str] = []
        while not stopped.is_set():
            said.append(f"{name} {len(said)}")
            assert await ask(session, said[-1]) == said[-1]
        return said

    async with cluster.balanced() as balancer, AsyncExitStack() as stack, asyncio.timeout(120):
        sessions = [await stack.enter_async_context(opened(balancer, "ws")) for _ in range(8)]
        talks = [asyncio.create_task(talk(session, f"t{n}")) for n, session in enumerate(sessions)]
        for node in cluster.nodes:
            node.send(signal.SIGTERM)
            await node.ended()
            await node.start()
        stopped.set()
        for said in await asyncio.gather(*talks):
            assert said and all(cluster.started(word) == 1 for word in said)

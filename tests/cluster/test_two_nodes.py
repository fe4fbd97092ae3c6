"""What takes two nodes to see: the home of a connection, and another that serves it, too."""

import asyncio
import json
from collections.abc import Iterator
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

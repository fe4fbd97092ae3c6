"""Any node serves any request of a client, wherever its connection began."""

import asyncio

import pytest
from cluster_clients import ask, numbers, opened, plain
from cluster_nodes import Cluster

import acpella

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("transport", ["http", "ws"])


@BOTH
async def test_a_conversation_over_all_nodes(cluster: Cluster, transport: str) -> None:
    async with cluster.balanced() as balancer, opened(balancer, transport) as session:
        for text in ("one", "two", "three"):
            assert await ask(session, f"{text} {transport}") == f"{text} {transport}"
            assert cluster.started(f"{text} {transport}") == 1
        assert await ask(session, "flood 3000") == numbers(3000)


@BOTH
async def test_resume_other_node(cluster: Cluster, transport: str) -> None:
    """The client is cut off again and again in the middle of a stream, and comes back somewhere else."""
    async with cluster.balanced() as balancer, opened(balancer, transport) as session:
        turn = asyncio.create_task(ask(session, f"count 150 0.02 {transport}"))
        for _ in range(4):
            await asyncio.sleep(0.5)
            balancer.cut_all()
        assert await turn == numbers(150)
        assert cluster.started(f"count 150 0.02 {transport}") == 1


async def test_duplicate_submit_two_nodes(cluster: Cluster) -> None:
    """A POST that is repeated on other nodes is the same command."""
    async with cluster.balanced():
        first, second, third = cluster.nodes
        async with plain(first) as client:
            assert (
                await client.post(second, "session/new", {"cwd": "/", "mcpServers": []}, number=1, key=1)
                == 202
            )
            ((number, answer),) = await client.events(third, until='"id":1')
            assert number == 1
            session = answer["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "only once"}]}
            posts = [client.post(n, "session/prompt", prompt, number=2, key=2) for n in cluster.nodes]
            assert await asyncio.gather(*posts) == [202, 202, 202]
            events = await client.events(second, session=session, until="stopReason")
            assert [number for number, _ in events] == list(range(1, len(events) + 1))
            assert cluster.started("only once") == 1


async def test_replay_overlap(cluster: Cluster) -> None:
    """What is read again, at any node and from any cursor, has the same numbers and the same words."""
    async with cluster.balanced():
        first, second, third = cluster.nodes
        async with plain(first) as client:
            await client.post(first, "session/new", {"cwd": "/", "mcpServers": []}, number=1, key=1)
            ((_, answer),) = await client.events(first, until='"id":1')
            session = answer["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "flood 20"}]}
            await client.post(third, "session/prompt", prompt, number=2, key=2)
            whole = await client.events(first, session=session, until="stopReason")
            for after in (0, 5, len(whole) - 1):
                for node in (second, third, first):
                    again = await client.events(node, session=session, after=after, until="stopReason")
                    assert again == whole[after:]


async def test_list_with_foreign_lease(cluster: Cluster) -> None:
    """Sessions that run elsewhere are listed, and what they said can be read, without waiting for anybody."""
    async with cluster.balanced() as balancer, opened(balancer, "ws") as session:
        turn = asyncio.create_task(ask(session, "count 100 0.02 listed"))
        await cluster.runs("count 100 0.02 listed")
        for node in cluster.nodes:
            async with acpella.connect(f"http://127.0.0.1:{node.port}/acp") as agent:
                assert session.id in [each.session_id for each in await agent.list_sessions()]
        assert await turn == numbers(100)

"""A node dies, hangs or is stopped while its clients wait for it."""

import asyncio
import os
import signal
from typing import Any

import asyncpg
import pytest
from cluster_clients import ask, opened
from cluster_nodes import Cluster, until

import acpella
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("transport", ["http", "ws"])


async def until_interrupted(turn: "asyncio.Task[str]") -> None:
    async with asyncio.timeout(30):
        with pytest.raises(acpella.RpcError) as caught:
            await turn
    assert caught.value.data == {"reason": "interrupted"}


async def watched(session: Any, text: str, working: asyncio.Event) -> str:
    """Ask, and tell when something was said."""
    async for _ in session.prompt(text):
        working.set()
    return ""


@BOTH
async def test_kill_owner(cluster: Cluster, transport: str) -> None:
    """The client comes back on another node, the turn ends as interrupted, and the conversation goes on."""
    async with cluster.balanced() as balancer, opened(balancer, transport) as session:
        await ask(session, "before")
        word = f"tool 3600 {transport}"
        turn = asyncio.create_task(ask(session, word))
        node = await cluster.runs(word)
        await node.kill()
        await until_interrupted(turn)
        assert await ask(session, f"after {transport}") == f"after {transport}"
        assert cluster.started(word) == cluster.started(f"after {transport}") == 1


async def test_zombie_is_fenced(cluster: Cluster, postgres_server: PostgresServer) -> None:
    """A node that hangs loses its turn to another. When it goes on, it writes nothing more and ends what it
    had started."""
    async with cluster.balanced() as balancer, opened(balancer, "ws") as session:
        working = asyncio.Event()
        turn = asyncio.create_task(watched(session, "child", working))
        node = await cluster.runs("child")
        await working.wait()
        child = int(cluster.noted("child ")[-1])
        node.send(signal.SIGSTOP)
        balancer.left_out.add(node.name)
        balancer.cut_all()
        await until_interrupted(turn)
        assert await ask(session, "after") == "after"
        node.send(signal.SIGCONT)
        await until(lambda: not _is_alive(child))
        await node.until_status("/readyz", 200)
        assert await ask(session, "at last") == "at last"
        database = await asyncpg.connect(
            postgres_server.dsn(), server_settings={"search_path": "test_dead_nodes"}
        )
        query = "SELECT e.epoch FROM events e JOIN sessions s ON s.k = e.sid WHERE s.id = $1 ORDER BY e.seq"
        epochs = [row[0] for row in await database.fetch(query, session.id)]
        await database.close()
        assert epochs == sorted(epochs) and len(set(epochs)) > 1


@BOTH
async def test_drain_no_ttl_wait(cluster: Cluster, transport: str) -> None:
    """A node that is told to stop lets its turn end, then another goes on at once."""
    async with cluster.balanced() as balancer, opened(balancer, transport) as session:
        word = f"count 40 0.05 {transport}"
        turn = asyncio.create_task(ask(session, word))
        node = await cluster.runs(word)
        node.send(signal.SIGTERM)
        assert await turn == "".join(f"<{each}>" for each in range(40))
        assert await ask(session, f"after {transport}") == f"after {transport}"
        await node.ended()
        assert cluster.started(word) == 1


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

"""The database restarts, is away for long, or cannot be reached by one node."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_clients import ask, numbers, opened
from cluster_nodes import Cluster, running

import acpella
from cuttable import cuttable_proxy
from postgres import PostgresServer, running_server

pytestmark = pytest.mark.anyio

HELLO = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'
)


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    """A server that these tests may kill."""
    with running_server(options=("fsync=off",)) as server:
        yield server


async def test_engine_crash_restart(database: PostgresServer, schema: str, tmp_path: Path) -> None:
    """kill -9 of the database, and back before the leases end: turns wait, and nothing is missing."""
    cluster = Cluster(f"{database.dsn()}&schema={schema}", tmp_path, count=2, lease_seconds=30)
    async with running(cluster) as balancer:
        async with opened(balancer, "ws") as one, opened(balancer, "http") as other:
            turns = [
                asyncio.create_task(ask(one, "count 100 0.03 one")),
                asyncio.create_task(ask(other, "count 100 0.03 other")),
            ]
            await cluster.runs("count 100 0.03 one")
            await cluster.runs("count 100 0.03 other")
            await asyncio.to_thread(database.kill)
            await asyncio.to_thread(database.start)
            assert [await turn for turn in turns] == [numbers(100)] * 2
            assert await ask(other, "after") == "after"
            assert cluster.started("count 100 0.03 one") == cluster.started("count 100 0.03 other") == 1


async def test_engine_outage_long(database: PostgresServer, schema: str, tmp_path: Path) -> None:
    """The database is away for longer than the leases: turns stop, `/readyz` says why, requests get 503 with
    Retry-After, and all recovers."""
    cluster = Cluster(f"{database.dsn()}&schema={schema}", tmp_path, count=2)
    async with running(cluster) as balancer, opened(balancer, "ws") as session:
        turn = asyncio.create_task(ask(session, "tool 3600 outage"))
        await cluster.runs("tool 3600 outage")
        await asyncio.to_thread(database.stop)
        try:
            for node in cluster.nodes:
                await node.until_status("/readyz", 503)
                assert await node.status("/healthz") == 200
                for request in (
                    node.request("POST", "/acp", HELLO),
                    node.request(
                        "GET", "/acp", **{"Acp-Connection-Id": "a" * 32}, Accept="text/event-stream"
                    ),
                ):
                    status, headers = await request
                    assert status == 503 and int(headers["retry-after"]) > 0
        finally:
            await asyncio.to_thread(database.start)
        for node in cluster.nodes:
            await node.until_status("/readyz", 200)
        with pytest.raises(acpella.RpcError) as caught:
            await turn
        assert caught.value.data == {"reason": "interrupted"}
        assert await ask(session, "after") == "after"
        assert cluster.started("tool 3600 outage") == 1


async def test_what_was_not_given_back_is_free_when_the_database_is_there_again(
    database: PostgresServer, schema: str, tmp_path: Path
) -> None:
    """A node that was cut off lives on. Its sessions are for the others, though it could not say so then."""
    async with cuttable_proxy(database.socket) as proxy:
        way = f"postgresql://acpella@127.0.0.1:{proxy.port}/postgres?schema={schema}"
        cluster = Cluster(f"{database.dsn()}&schema={schema}", tmp_path, count=2, dsns=(way,))
        async with running(cluster) as balancer:
            cut, other = cluster.nodes
            balancer.left_out.add("n2")
            async with acpella.connect(f"ws://127.0.0.1:{cut.port}/acp") as agent:
                session = await agent.new_session(cwd="/")
                assert await ask(session, "before") == "before"
                proxy.set("cut")
                await cut.until_logged(f"session {session.id} is not given back yet")
                proxy.set("open")
                proxy.drop_all()
                await cut.until_status("/readyz", 200)
                async with acpella.connect(f"ws://127.0.0.1:{other.port}/acp") as second:
                    again = await second.load_session(session.id, cwd="/")
                    assert await ask(again, "after") == "after"


async def test_partition(database: PostgresServer, schema: str, tmp_path: Path) -> None:
    """One node is cut off from the database without a word: it stops its turn, and another goes on."""
    async with cuttable_proxy(database.socket) as proxy:
        way = f"postgresql://acpella@127.0.0.1:{proxy.port}/postgres?schema={schema}"
        cluster = Cluster(f"{database.dsn()}&schema={schema}", tmp_path, count=2, dsns=(way,))
        async with running(cluster) as balancer:
            balancer.left_out.add("n2")
            async with opened(balancer, "ws") as session:
                turn = asyncio.create_task(ask(session, "tool 3600 cut"))
                assert (await cluster.runs("tool 3600 cut")).name == "n1"
                balancer.left_out.clear()
                proxy.set("cut")
                with pytest.raises(acpella.RpcError) as caught:
                    await turn
                assert caught.value.data == {"reason": "interrupted"}
                await cluster.nodes[0].until_status("/readyz", 503)
                assert await ask(session, "after") == "after"
                proxy.set("open")
                proxy.drop_all()
                await cluster.nodes[0].until_status("/readyz", 200)
                assert await ask(session, "at last") == "at last"

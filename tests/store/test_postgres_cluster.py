"""Several nodes on one PostgreSQL database."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acpella.sessions import (
    Cluster,
    Command,
    Cursor,
    Fenced,
    PostgresStore,
    Resync,
    SessionBusy,
    SessionRecord,
    cluster_of,
)

pytestmark = pytest.mark.anyio

STREAM = "c:1"


@pytest.fixture
async def first(one: PostgresStore) -> AsyncIterator[Cluster]:
    cluster = cluster_of(one)
    await cluster.open()
    yield cluster
    await cluster.close()


@pytest.fixture
async def second(first: Cluster, two: PostgresStore) -> AsyncIterator[Cluster]:
    cluster = cluster_of(two)
    await cluster.open()
    yield cluster
    await cluster.close()


async def die(sql: Any, name: str) -> None:
    """The lease of a node runs out."""
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() WHERE name = $1", name)


async def beat(store: PostgresStore) -> None:
    """A heartbeat now: this is how a node learns that there are others."""
    node: Any = store._node
    await node.beat(node._connection)


def numbered(first: int, last: int) -> list[tuple[str, bytes]]:
    return [("update", b"%d" % n) for n in range(first, last + 1)]


async def take(tail: AsyncIterator[Any], count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            found += [event.seq for event in await anext(tail)]
    return found


@pytest.mark.parametrize("told", [True, False], ids=["by a notification", "by the poll"])
async def test_another_node_reads_on_as_entries_come(
    told: bool, one: PostgresStore, first: Cluster, second: Cluster
) -> None:
    """Without notifications (a node that believes to be alone sends none) a tail is a second late."""
    if told:
        await beat(one)
    lease = await first.open_stream(STREAM, b"")
    tail = second.tail(STREAM, Cursor(second.gen, 0))
    reading = asyncio.ensure_future(take(tail, 20))
    for last in range(0, 20, 2):
        await first.put(lease, last, numbered(last + 1, last + 2))
        await asyncio.sleep(0.01)
    assert await reading == list(range(1, 21))


async def test_a_sessions_log_can_be_read_elsewhere_while_it_is_written(
    one: PostgresStore, two: PostgresStore, second: Cluster
) -> None:
    await beat(one)
    lease = await one.create(SessionRecord(id="s", cwd="/x"))
    reading = asyncio.ensure_future(take(second.tail("s", Cursor(second.gen, 0)), 10))
    for last in range(10):
        await one.append(lease, last, [("update", b"1")])
    assert await reading == list(range(1, 11))
    assert (await second.stream("s")).node == "one"


async def test_a_living_home_keeps_its_stream_and_is_named(first: Cluster, second: Cluster) -> None:
    lease = await first.open_stream(STREAM, b"")
    with pytest.raises(SessionBusy, match="node one") as caught:
        await second.take(STREAM)
    assert caught.value.node == "one"
    assert (await second.stream(STREAM)).node == "one"
    await first.give_back(lease)
    await second.take(STREAM)


async def test_duplicate_submit_two_nodes(first: Cluster, second: Cluster) -> None:
    lease = await first.open_stream(STREAM, b"")
    for n in range(10):
        results = await asyncio.gather(
            *(each.submit(STREAM, Command(id=f"cmd{n}", kind="prompt")) for each in (first, second) * 3)
        )
        assert sorted(results) == [False] * 5 + [True]
    waiting = await first.pending(lease)
    assert [command.id for command in waiting] == [f"cmd{n}" for n in range(10)]
    begun = await asyncio.gather(*(first.begin(lease, "cmd0") for _ in range(5)))
    assert sorted(begun) == [False] * 4 + [True]


async def test_a_command_reaches_the_home_from_another_node(first: Cluster, second: Cluster) -> None:
    lease = await first.open_stream(STREAM, b"")
    commands = first.commands(lease)
    async with asyncio.timeout(20):
        waiting = asyncio.ensure_future(anext(commands))
        await asyncio.sleep(0.05)
        await second.submit(STREAM, Command(id="a", kind="cancel", body=b"now"))
        assert (await waiting).body == b"now"


async def test_the_work_of_a_dead_node_is_found_and_taken(first: Cluster, second: Cluster, sql: Any) -> None:
    lease = await first.open_stream(STREAM, b"facts")
    await first.put(lease, 0, numbered(1, 3))
    for name in ("ran", "waits"):
        await first.submit(STREAM, Command(id=name, kind="prompt"))
    await first.begin(lease, "ran")
    assert await second.orphans() == []
    await die(sql, "one")
    assert await second.orphans() == [STREAM]
    taken = await second.take(STREAM)
    assert [(c.id, c.state) for c in await second.pending(taken)] == [("ran", "running"), ("waits", "new")]
    assert not await second.begin(taken, "ran")  # never again
    assert await second.put(taken, 3, [("response", b"interrupted")], settle="ran") == 4
    assert await second.begin(taken, "waits")
    for call in (first.put(lease, 3, numbered(4, 4)), first.begin(lease, "waits"), first.pending(lease)):
        with pytest.raises(Fenced):
            await call
    assert await take(second.tail(STREAM, Cursor(first.gen, 2)), 2) == [3, 4]


async def test_a_node_that_closes_leaves_its_streams_free(
    one: PostgresStore, first: Cluster, second: Cluster
) -> None:
    """No waiting for the lease: this is how nodes are drained."""
    await first.open_stream(STREAM, b"")
    await first.close()
    assert (await second.stream(STREAM)).node is None
    await second.take(STREAM)


async def test_a_restore_makes_a_new_generation(first: Cluster, two: PostgresStore, sql: Any) -> None:
    lease = await first.open_stream(STREAM, b"")
    await first.put(lease, 0, numbered(1, 3))
    await sql.execute("UPDATE meta SET gen = 'restored'")
    later = cluster_of(two)
    await later.open()
    assert later.gen != first.gen
    with pytest.raises(Resync, match="another generation; load the session again"):
        await anext(later.tail(STREAM, Cursor(first.gen, 3)))
    await later.close()


async def test_all_nodes_are_told_with_what_they_do(
    first: Cluster, second: Cluster, one: PostgresStore, sql: Any
) -> None:
    await first.open_stream(STREAM, b"")
    await one.create(SessionRecord(id="s", cwd="/x"))
    await die(sql, "two")
    nodes = {node.name: node for node in await first.nodes()}
    assert (nodes["one"].alive, nodes["one"].sessions, nodes["one"].connections) == (True, 1, 1)
    assert (nodes["two"].alive, nodes["two"].sessions, nodes["two"].connections) == (False, 0, 0)


async def test_a_deleted_session_takes_its_commands_along(
    one: PostgresStore, first: Cluster, sql: Any
) -> None:
    await one.create(SessionRecord(id="s", cwd="/x"))
    await first.submit("s", Command(id="a", kind="prompt"))
    await one.delete("s")
    assert await sql.fetchval("SELECT count(*) FROM commands") == 0

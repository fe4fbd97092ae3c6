"""Several nodes on one PostgreSQL database."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acpella.sessions import (
    Cluster,
    ClusterCommand,
    Cursor,
    Fenced,
    PostgresStore,
    Resync,
    SessionBusy,
    SessionRecord,
    cluster_of,
)
from acpella.sessions._postgres_notes import sweep_notes

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
            *(
                each.submit(STREAM, ClusterCommand(id=f"cmd{n}", kind="prompt"))
                for each in (first, second) * 3
            )
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
        await second.submit(STREAM, ClusterCommand(id="a", kind="cancel", body=b"now"))
        assert (await waiting).body == b"now"


async def test_the_work_of_a_dead_node_is_found_and_taken(first: Cluster, second: Cluster, sql: Any) -> None:
    lease = await first.open_stream(STREAM, b"facts")
    await first.put(lease, 0, numbered(1, 3))
    for name in ("ran", "waits"):
        await first.submit(STREAM, ClusterCommand(id=name, kind="prompt"))
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


async def test_a_dead_node_that_something_was_taken_from_has_nothing_when_it_is_back(
    one: PostgresStore, two: PostgresStore, first: Cluster, second: Cluster, sql: Any
) -> None:
    """A turn whose connection another node goes on with must not go on itself."""
    session = await one.create(SessionRecord(id="s1", cwd="/x"))
    await first.open_stream(STREAM, b"facts")
    await die(sql, "one")
    await second.take(STREAM)
    await beat(one)
    assert (await second.stream("s1")).node is None
    taken = await second.take("s1")
    with pytest.raises(Fenced):
        await one.append(session, 0, [("update", b"late")])
    assert await two.append(taken, 0, [("update", b"1")]) == 1
    assert {node.name: node.alive for node in await second.nodes()} == {"one": True, "two": True}


async def test_a_dead_node_that_nobody_missed_goes_on(one: PostgresStore, second: Cluster, sql: Any) -> None:
    session = await one.create(SessionRecord(id="s1", cwd="/x"))
    await die(sql, "one")
    await beat(one)
    assert await one.append(session, 0, [("update", b"1")]) == 1
    with pytest.raises(SessionBusy):
        await second.take("s1")


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
    await first.submit("s", ClusterCommand(id="a", kind="prompt"))
    await one.delete("s")
    assert await sql.fetchval("SELECT count(*) FROM commands") == 0


async def test_notes_of_many_writers_all_reach_a_reader(first: Cluster, second: Cluster) -> None:
    known: dict[str, bytes] = {}

    async def read() -> None:
        async for piece in second.notes():
            known.update(piece)
            if len(known) == 40:
                return

    reader = asyncio.create_task(read())
    nodes = (first, second)
    await asyncio.gather(*(nodes[n % 2].keep_notes({f"note {n}": b"%d" % n}) for n in range(40)))
    await asyncio.wait_for(reader, 20)
    assert known == {f"note {n}": b"%d" % n for n in range(40)}


async def test_a_note_that_is_over_is_taken_away_and_then_forgotten(
    first: Cluster, second: Cluster, sql: Any
) -> None:
    await first.keep_notes({"short": b"1"}, seconds=60)
    await first.keep_notes({"long": b"2"})
    notes = aiter(second.notes())
    assert set(await anext(notes)) == {"short", "long"}
    await sweep_notes(sql)
    await sql.execute("UPDATE notes SET valid_until = clock_timestamp() WHERE valid_until IS NOT NULL")
    await sweep_notes(sql)
    assert await asyncio.wait_for(anext(notes), 10) == {"short": b""}
    await sql.execute("UPDATE notes SET kept_at = kept_at - interval '2 days'")
    await sweep_notes(sql)
    assert await sql.fetchval("SELECT array_agg(name) FROM notes") == ["long"]


async def test_connections_of_dead_nodes_are_cleared_away_when_nobody_came_back(
    first: Cluster, second: Cluster, sql: Any
) -> None:
    for name in ("c:idle", "c:busy", "c:young", "c:left"):
        lease = await first.open_stream(name, b"facts")
        await first.put(lease, 0, numbered(1, 3))
        if name == "c:busy":
            await first.submit(name, ClusterCommand(id="waits", kind="prompt"))
        if name == "c:left":
            await first.give_back(lease)
    await second.put(await second.open_stream("c:alive", b"facts"), 0, numbered(1, 3))
    old = "UPDATE streams SET updated_at = updated_at - interval '1 hour' WHERE id <> 'c:young'"
    await sql.execute(old)
    assert await second.remove_abandoned(1800) == 1, "its home lives but for one"
    await die(sql, "one")
    assert await second.remove_abandoned(1800) == 1
    assert await second.remove_abandoned(1800) == 0
    rows = await sql.fetch(
        "SELECT s.id, count(f.seq) FROM streams s JOIN frames f ON f.sid = s.k GROUP BY s.id"
    )
    assert {tuple(row) for row in rows} == {("c:busy", 3), ("c:young", 3), ("c:alive", 3)}
    assert await sql.fetchval("SELECT count(*) FROM frames") == 9


async def test_a_node_that_was_declared_dead_hears_of_it_with_its_next_heartbeat(
    one: PostgresStore, first: Cluster, second: Cluster, sql: Any
) -> None:
    """It registered anew without a word, and what ran there went on until something was written."""
    assert second.node
    lost: list[str] = []
    first.on_lost(lambda: lost.append("lost"))
    await beat(one)
    assert lost == []
    await sql.execute("UPDATE nodes SET lease_until = to_timestamp(0) WHERE name = $1", first.node)
    life = first.life
    await beat(one)
    assert lost == ["lost"] and first.life != life
    await beat(one)
    assert lost == ["lost"], "once for each lease"

"""What every cluster does, of one node or many: streams, commands, leases, cursors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, cast

import pytest

from acpella.sessions import (
    Cluster,
    ClusterCommand,
    Cursor,
    Fenced,
    Resync,
    SessionExists,
    SessionNotFound,
    SessionRecord,
    Store,
    StoreError,
    cluster_of,
)
from acpella.sessions._hints import Hints

pytestmark = pytest.mark.anyio

Entries = list[tuple[str, bytes]]

SESSION, CONNECTION = "s1", "c:1"


@pytest.fixture
async def cluster(store: Store) -> AsyncIterator[Cluster]:
    cluster = cluster_of(store)
    await cluster.open()
    yield cluster
    await cluster.close()


@pytest.fixture(params=["session", "connection"])
async def stream(request: pytest.FixtureRequest, store: Store, cluster: Cluster) -> str:
    """A stream of either kind that this node is not the home of yet."""
    if request.param == "session":
        await store.release(await store.create(SessionRecord(id=SESSION, cwd="/x", principal="p")))
        return SESSION
    await cluster.give_back(await cluster.open_stream(CONNECTION, b"facts", principal="p"))
    return CONNECTION


def numbered(first: int, last: int) -> Entries:
    return [("update", b"%d" % n) for n in range(first, last + 1)]


def command(name: str, body: bytes = b"{}") -> ClusterCommand:
    return ClusterCommand(id=name, kind="prompt", body=body, trace=b"00-1-2-01")


async def collect(pieces: AsyncIterator[list[Any]], count: int) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    async with asyncio.timeout(60):
        async for piece in pieces:
            found += [(event.seq, event.body) for event in piece]
            if len(found) >= count:
                return found
    raise AssertionError("the stream has ended")


# -- streams -----------------------------------------------------------------------------------


async def test_a_connections_facts_are_found_again(cluster: Cluster) -> None:
    lease = await cluster.open_stream(CONNECTION, b"facts", principal="p")
    found = await cluster.stream(CONNECTION, principal="p")
    assert (found.id, found.principal, found.facts, found.last_seq) == (CONNECTION, "p", b"facts", 0)
    assert found.node == cluster.node
    await cluster.put(lease, 0, numbered(1, 1), facts=b"more")
    assert (await cluster.stream(CONNECTION, principal="p")).facts == b"more"
    await cluster.give_back(lease)
    found = await cluster.stream(CONNECTION, principal="p")
    assert (found.facts, found.last_seq, found.node) == (b"more", 1, None)


async def test_a_connection_is_opened_once(cluster: Cluster) -> None:
    await cluster.open_stream(CONNECTION, b"")
    with pytest.raises(SessionExists):
        await cluster.open_stream(CONNECTION, b"", principal="other")
    with pytest.raises(ValueError, match="c:ID"):
        await cluster.open_stream("s1", b"")


async def test_entries_are_numbered_and_repeating_changes_nothing(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    assert await cluster.put(lease, 0, numbered(1, 3)) == 3
    assert await cluster.put(lease, 0, numbered(1, 3)) == 3
    assert await cluster.head(stream, principal="p") == Cursor(cluster.gen, 3)
    with pytest.raises(Fenced, match="is at 3, not at 1"):
        await cluster.put(lease, 1, numbered(7, 7))


async def test_whoever_takes_a_stream_fences_the_one_before(cluster: Cluster, stream: str) -> None:
    old = await cluster.take(stream, principal="p")
    new = await cluster.take(stream, principal="p")
    assert new.epoch > old.epoch
    for call in (
        cluster.put(old, 0, numbered(1, 1)),
        cluster.pending(old),
        cluster.begin(old, "x"),
        cluster.put_back(old, "x"),
        cluster.settle(old, "x"),
    ):
        with pytest.raises(Fenced):
            await call
    await cluster.give_back(old)
    assert await cluster.put(new, 0, numbered(1, 1)) == 1


async def test_a_foreign_principal_finds_nothing(cluster: Cluster, stream: str) -> None:
    for principal in ("", "q"):
        for call in (
            cluster.stream(stream, principal=principal),
            cluster.take(stream, principal=principal),
            cluster.head(stream, principal=principal),
            cluster.submit(stream, command("a"), principal=principal),
            anext(cluster.tail(stream, Cursor(cluster.gen, 0), principal=principal)),
        ):
            with pytest.raises(SessionNotFound):
                await call


async def test_a_removed_connection_is_gone(cluster: Cluster) -> None:
    lease = await cluster.open_stream(CONNECTION, b"")
    await cluster.put(lease, 0, numbered(1, 1))
    await cluster.submit(CONNECTION, command("a"))
    await cluster.remove_stream(lease)
    for call in (cluster.stream(CONNECTION), cluster.put(lease, 1, numbered(2, 2)), cluster.pending(lease)):
        with pytest.raises(SessionNotFound):
            await call
    assert await cluster.orphans() == []
    again = await cluster.open_stream(CONNECTION, b"")
    with pytest.raises(Fenced):
        await cluster.put(lease, 0, numbered(1, 1))
    assert await cluster.pending(again) == []


# -- tails -------------------------------------------------------------------------------------


async def test_a_tail_gives_what_is_there_and_what_comes(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    await cluster.put(lease, 0, numbered(1, 1200))
    tail = cluster.tail(stream, Cursor(cluster.gen, 700), principal="p")
    assert await collect(tail, 500) == [(n, b"%d" % n) for n in range(701, 1201)]
    for last in range(1200, 1210):
        waiting = asyncio.ensure_future(collect(tail, 1))
        await asyncio.sleep(0)
        await cluster.put(lease, last, numbered(last + 1, last + 1))
        assert await waiting == [(last + 1, b"%d" % (last + 1))]


async def test_many_tails_see_the_same(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    tails = [cluster.tail(stream, Cursor(cluster.gen, 0), principal="p") for _ in range(10)]
    reading = [asyncio.ensure_future(collect(tail, 100)) for tail in tails]
    for last in range(0, 100, 5):
        await cluster.put(lease, last, numbered(last + 1, last + 5))
    for found in await asyncio.gather(*reading):
        assert found == [(n, b"%d" % n) for n in range(1, 101)]


async def test_no_notify(cluster: Cluster, stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All hints are lost, of entries and of commands: who waits looks now and then, and finds both.

    The first ones may be there when they begin to look. The second ones are not: the first were read before.
    """
    lease = await cluster.take(stream, principal="p")
    tail, commands = cluster.tail(stream, Cursor(cluster.gen, 0), principal="p"), cluster.commands(lease)
    monkeypatch.setattr(Hints, "heard", lambda *_: None)  # of the database
    for number in (1, 2):
        reading = asyncio.gather(collect(tail, 1), anext(commands))
        with monkeypatch.context() as patch:
            patch.setattr(Hints, "wake", lambda *_: None)  # of this node
            await cluster.put(lease, number - 1, numbered(number, number))
            assert await cluster.submit(stream, command(f"c{number}"), principal="p")
        async with asyncio.timeout(20):
            entries, submitted = await reading
        assert (entries, submitted.id) == ([(number, b"%d" % number)], f"c{number}")


async def test_a_cursor_that_does_not_fit_is_told(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    await cluster.put(lease, 0, numbered(1, 3))
    for cursor, message in (
        (Cursor("other", 1), "another generation"),
        (Cursor("", 0), "another generation"),
        (Cursor(cluster.gen, 4), "ends before the cursor"),
    ):
        with pytest.raises(Resync, match=message):
            await anext(cluster.tail(stream, cursor, principal="p"))


async def test_what_was_dropped_is_told(cluster: Cluster) -> None:
    lease = await cluster.open_stream(CONNECTION, b"")
    await cluster.put(lease, 0, numbered(1, 10))
    await cluster.drop(lease, 6)
    await cluster.drop(lease, 3)
    assert await collect(cluster.tail(CONNECTION, Cursor(cluster.gen, 6)), 4) == [
        (n, b"%d" % n) for n in range(7, 11)
    ]
    with pytest.raises(Resync, match="was dropped"):
        await anext(cluster.tail(CONNECTION, Cursor(cluster.gen, 5)))
    await cluster.drop(lease, 10)
    assert await cluster.put(lease, 10, numbered(11, 11)) == 11


async def test_a_tail_ends_when_its_stream_does(cluster: Cluster, store: Store) -> None:
    lease = await cluster.open_stream(CONNECTION, b"")
    waiting = asyncio.ensure_future(anext(cluster.tail(CONNECTION, Cursor(cluster.gen, 0))))
    await asyncio.sleep(0.05)
    await cluster.remove_stream(lease)
    async with asyncio.timeout(60):
        with pytest.raises(SessionNotFound):
            await waiting


@pytest.mark.parametrize("text", ["", "x", "gen-", "gen-x", "gen-٣", "gen-" + "9" * 30, "gen-1-", "-"])
def test_nonsense_is_no_cursor(text: str) -> None:
    with pytest.raises(Resync, match="not a place in a stream"):
        Cursor.parse(text)


def test_a_cursor_is_what_it_was_written_as() -> None:
    assert Cursor.parse(str(Cursor("a-b", 12))) == Cursor("a-b", 12)


# -- commands ----------------------------------------------------------------------------------


async def test_commands_come_in_order_and_are_run_once(cluster: Cluster, stream: str) -> None:
    for name in "abc":
        assert await cluster.submit(stream, command(name, name.encode()), principal="p")
    assert not await cluster.submit(stream, command("b", b"another"), principal="p")
    lease = await cluster.take(stream, principal="p")
    waiting = await cluster.pending(lease)
    assert [(each.id, each.kind, each.body, each.trace, each.state) for each in waiting] == [
        (name, "prompt", name.encode(), b"00-1-2-01", "new") for name in "abc"
    ]
    assert [each.number for each in waiting] == sorted({each.number for each in waiting})
    assert await cluster.begin(lease, "a")
    assert not await cluster.begin(lease, "a")
    assert not await cluster.begin(lease, "unknown")
    assert [each.state for each in await cluster.pending(lease)] == ["running", "new", "new"]
    await cluster.put_back(lease, "a")
    assert [each.state for each in await cluster.pending(lease)] == ["new", "new", "new"]
    assert await cluster.begin(lease, "a")
    await cluster.put(lease, 0, numbered(1, 2), settle="a")
    await cluster.settle(lease, "b")
    assert [each.id for each in await cluster.pending(lease)] == ["c"]
    assert not await cluster.submit(stream, command("a"), principal="p")
    assert not await cluster.begin(lease, "a")


async def test_an_append_that_is_refused_settles_nothing(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    await cluster.submit(stream, command("a"), principal="p")
    with pytest.raises(Fenced):
        await cluster.put(lease, 5, numbered(6, 6), settle="a")
    assert [each.id for each in await cluster.pending(lease)] == ["a"]


async def test_of_many_that_submit_a_command_at_once_one_counts(cluster: Cluster, stream: str) -> None:
    results = await asyncio.gather(
        *(cluster.submit(stream, command("same", b"%d" % n), principal="p") for n in range(20))
    )
    assert sorted(results) == [False] * 19 + [True]
    lease = await cluster.take(stream, principal="p")
    (only,) = await cluster.pending(lease)
    assert only.body == b"%d" % results.index(True)


async def test_a_home_hears_of_new_commands(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    await cluster.submit(stream, command("a"), principal="p")
    commands = cluster.commands(lease)
    async with asyncio.timeout(60):
        assert (await anext(commands)).id == "a"
        waiting = asyncio.ensure_future(anext(commands))
        await asyncio.sleep(0)
        await cluster.submit(stream, command("b"), principal="p")
        assert (await waiting).id == "b"


async def test_a_home_that_lost_its_lease_hears_so(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    waiting = asyncio.ensure_future(anext(cluster.commands(lease)))
    await asyncio.sleep(0.05)
    await cluster.take(stream, principal="p")
    await cluster.submit(stream, command("a"), principal="p")
    async with asyncio.timeout(60):
        with pytest.raises(Fenced):
            await waiting


async def test_orphans_are_streams_with_work_left(cluster: Cluster, stream: str) -> None:
    assert await cluster.orphans() == []
    await cluster.submit(stream, command("a"), principal="p")
    await cluster.submit(stream, command("b"), principal="p")
    assert await cluster.orphans() == [stream]
    lease = await cluster.take(stream, principal="p")
    await cluster.begin(lease, "a")
    assert await cluster.orphans() == [stream]
    await cluster.settle(lease, "a")
    await cluster.settle(lease, "b")
    assert await cluster.orphans() == []


async def test_commands_that_wait_are_counted(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    for name in "ab":
        await cluster.submit(stream, command(name), principal="p")
    assert await cluster.waiting() == 2
    await cluster.begin(lease, "a")
    assert await cluster.waiting() == 1


async def test_a_ticket_is_taken_once_while_it_is_valid(cluster: Cluster) -> None:
    async def keep(name: bytes, *, principal: str = "p", seconds: float = 60) -> bool:
        return await cluster.keep_ticket(name, b"body", seconds=seconds, limit=2, principal=principal)

    assert await keep(b"a") and await keep(b"b")
    assert not await keep(b"c"), "this principal has as many as it may have"
    assert await keep(b"c", principal="q")
    assert await cluster.take_ticket(b"a") == b"body"
    assert await cluster.take_ticket(b"a") is None
    assert await keep(b"d", seconds=0), "one was taken, so there is room"
    assert await cluster.take_ticket(b"d") is None, "it is over"
    assert await cluster.take_ticket(b"unknown") is None


async def test_of_many_that_take_a_ticket_one_gets_it(cluster: Cluster) -> None:
    assert await cluster.keep_ticket(b"a", b"body", seconds=60, limit=2)
    taken = await asyncio.gather(*(cluster.take_ticket(b"a") for _ in range(10)))
    assert sorted(taken, key=str) == [None] * 9 + [b"body"]


async def test_notes_are_told_with_all_that_changes(cluster: Cluster) -> None:
    await cluster.keep_notes({"a": b"1", "b": b"2"}, seconds=3600)
    known: dict[str, bytes] = {}
    async with (
        asyncio.timeout(60),
        aclosing(cast("AsyncGenerator[dict[str, bytes]]", cluster.notes())) as notes,
    ):
        async for piece in notes:
            assert piece, "nothing is told that did not change"
            known.update(piece)
            if known == {"a": b"1", "b": b"2"}:
                await cluster.keep_notes({"b": b"3", "c": b"4"})
            elif known == {"a": b"1", "b": b"3", "c": b"4"}:
                await cluster.keep_notes({"a": b"", "c": b"5"})
            elif known == {"a": b"", "b": b"3", "c": b"5"}:
                break
    async for piece in cluster.notes():
        assert {name: body for name, body in piece.items() if body} == {"b": b"3", "c": b"5"}
        break


async def test_who_asks_for_notes_where_there_are_none_is_told_so(cluster: Cluster) -> None:
    async with asyncio.timeout(60):
        assert await anext(aiter(cluster.notes())) == {}


async def test_nodes_are_told_with_what_they_do(cluster: Cluster, stream: str) -> None:
    lease = await cluster.take(stream, principal="p")
    await cluster.submit(stream, command("a"), principal="p")
    await cluster.begin(lease, "a")
    (node,) = await cluster.nodes()
    assert (node.name, node.alive, node.sessions + node.connections, node.running) == (
        cluster.node,
        True,
        1,
        1,
    )


async def test_after_close_every_call_says_so(
    store: Store, cluster: Cluster, stream: str, new_store: Callable[[], Store]
) -> None:
    lease = await cluster.take(stream, principal="p")
    tail = asyncio.ensure_future(anext(cluster.tail(stream, Cursor(cluster.gen, 0), principal="p")))
    await asyncio.sleep(0.05)
    await cluster.close()
    await cluster.close()
    for call in (
        tail,
        cluster.nodes(),
        cluster.open_stream("c:2", b""),
        cluster.stream(stream, principal="p"),
        cluster.put(lease, 0, numbered(1, 1)),
        cluster.drop(lease, 1),
        cluster.remove_stream(lease),
        cluster.head(stream, principal="p"),
        cluster.submit(stream, command("a"), principal="p"),
        cluster.pending(lease),
        cluster.begin(lease, "a"),
        cluster.settle(lease, "a"),
        cluster.orphans(),
    ):
        with pytest.raises(StoreError, match="^the cluster is closed$"):
            await call


async def test_commands_of_all_held_sessions_come_to_one_listener(store: Store, cluster: Cluster) -> None:
    """Each once, with the session's id; those of connections have listeners of their own."""
    leases = {name: await store.create(SessionRecord(id=name, cwd="/x", principal="p")) for name in "ab"}
    await cluster.open_stream(CONNECTION, b"", principal="p")
    await cluster.submit("a", command("before"), principal="p")
    heard: list[tuple[str, str]] = []
    arrived = asyncio.Event()

    async def listen() -> None:
        async for session, each in cluster.session_commands():
            heard.append((session, each.id))
            arrived.set()

    listening = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(60):
            await cluster.submit(CONNECTION, command("not for sessions"), principal="p")
            for name in ("b", "a"):
                await cluster.submit(name, command(f"to {name}"), principal="p")
                while (name, f"to {name}") not in heard:
                    arrived.clear()
                    await arrived.wait()
        assert heard == [("a", "before"), ("b", "to b"), ("a", "to a")]
    finally:
        listening.cancel()
    with pytest.raises(SessionNotFound):
        await cluster.submit("a", command("foreign"), principal="q")
    assert set(leases) == {"a", "b"}


async def test_a_tail_hears_what_is_appended_to_the_store(store: Store, cluster: Cluster) -> None:
    """As the agent does, which knows nothing of streams."""
    lease = await store.create(SessionRecord(id=SESSION, cwd="/x", principal="p"))
    tail = cluster.tail(SESSION, Cursor(cluster.gen, 0), principal="p")
    reading = asyncio.create_task(collect(tail, 2))
    last = await store.append(lease, 0, [("update", b"1")])
    await store.append(lease, last, [("question", b"2")])
    assert await reading == [(1, b"1"), (2, b"2")]

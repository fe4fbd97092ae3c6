"""What the PostgreSQL store adds: an address, tables of its own, nodes with leases."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from acpella.sessions import (
    EventKind,
    Fenced,
    PostgresStore,
    SessionBusy,
    SessionChanges,
    SessionNotFound,
    SessionRecord,
    StoreError,
    StoreUnavailable,
    open_store,
)
from acpella.sessions import _postgres_schema as tables
from acpella.sessions import _postgres_writer as writing
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

NewNode = Callable[..., PostgresStore]


def record(name: str = "a", **more: Any) -> SessionRecord:
    return SessionRecord(id=name, cwd="/x", **more)


# -- addresses ---------------------------------------------------------------------------------


def test_an_address_is_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_store("postgresql://db/x", name="fixer"), PostgresStore)
    assert isinstance(open_store("postgres://me:pw@db:5433/x?schema=fixer", name="fixer"), PostgresStore)
    monkeypatch.setenv("ACPELLA_STORE", "postgresql://db/x")
    assert isinstance(open_store("sqlite", name="fixer"), PostgresStore)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:hunter2",
        "postgresql://me:hunter2/x@db/sessions",
        "postgresql://me:hunter2@x@db/sessions",
        "postgresql://me:hunter2#x@db/sessions",
        "postgresql://me:hunter2?x@db/sessions",
        "postgresql://me:hunter2@db:port/sessions",
        "postgresql://me:123/hunter2@db/sessions",
    ],
)
def test_an_address_that_cannot_be_read_is_not_quoted(address: str) -> None:
    with pytest.raises(ValueError, match="postgresql://USER:PASSWORD@HOST:PORT/DATABASE") as caught:
        PostgresStore(address)
    assert "hunter2" not in str(caught.value) and "db" not in str(caught.value)


@pytest.mark.parametrize("schema", ["Upper", "a-b", "a;drop table x", "1st", "x" * 60])
def test_a_schema_is_a_plain_name(schema: str) -> None:
    with pytest.raises(ValueError, match="cannot be a schema"):
        PostgresStore("postgresql://db/x", schema=schema)


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        (
            "postgresql://me:hunter2@127.0.0.1:1/x",
            "the PostgreSQL database x on 127.0.0.1:1 cannot be reached",
        ),
        ("postgresql://me:hunter2@127.0.0.1:1/x?sslmode=hunter2", "has an option"),
    ],
)
async def test_a_wrong_address_is_told_without_its_secrets(
    dsn: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = PostgresStore(dsn)
    with pytest.raises(StoreError, match=message) as caught:
        await store.open()
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__!r} {caplog.text} {store!r}"
    assert "hunter2" not in shown and "me:" not in shown
    await store.close()


async def test_a_wrong_password_database_or_user_is_told(
    postgres_server: PostgresServer, sql: Any, schema: str
) -> None:
    await sql.execute(
        f"CREATE ROLE {schema} LOGIN; DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'x'"
    )
    for dsn, message in (
        (postgres_server.dsn(user="guarded", password="hunter2"), "refuses the user or the password"),
        (postgres_server.dsn(user="nobody_known"), "refuses the user or the password"),
        (postgres_server.dsn("missing"), "the PostgreSQL database missing .* does not exist; make it"),
        (postgres_server.dsn(user=schema), f"may not do this.*CREATE SCHEMA {schema} AUTHORIZATION"),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            await PostgresStore(dsn, schema=schema).open()
        assert "hunter2" not in str(caught.value)
    await sql.execute(f"DROP ROLE {schema}; DROP ROLE guarded")


async def test_a_role_needs_no_more_than_its_schema(
    postgres_server: PostgresServer, sql: Any, schema: str
) -> None:
    await sql.execute(f"CREATE ROLE {schema} LOGIN; CREATE SCHEMA {schema} AUTHORIZATION {schema}")
    store = PostgresStore(postgres_server.dsn(user=schema), schema=schema)
    await store.open()
    lease = await store.create(record())
    assert await store.append(lease, 0, [("update", b"1")]) == 1
    await store.close()
    await sql.execute(f"DROP SCHEMA {schema} CASCADE; DROP ROLE {schema}")


# -- tables ------------------------------------------------------------------------------------


async def test_the_tables_are_made_once_by_whoever_comes_first(new_node: NewNode, sql: Any) -> None:
    nodes = [new_node() for _ in range(5)]
    await asyncio.gather(*(node.open() for node in nodes))
    assert await sql.fetchval("SELECT version FROM meta") == tables.VERSION
    assert await sql.fetchval("SELECT count(*) FROM nodes") == 5
    await asyncio.gather(*(node.close() for node in nodes))
    assert await sql.fetchval("SELECT count(*) FROM nodes") == 0


@pytest.mark.parametrize("names", [["sessions"], ["events", "meta", "nodes", "sessions"]], ids=["one", "all"])
async def test_tables_of_another_program_are_left_alone(
    new_node: NewNode, sql: Any, schema: str, names: list[str]
) -> None:
    await sql.execute(f"CREATE SCHEMA {schema}")
    for name in names:
        await sql.execute(f"CREATE TABLE {name} (theirs text)")
    with pytest.raises(
        StoreError, match=rf"the schema {schema} .* has tables of another program.*\?schema=NAME"
    ):
        await new_node().open()
    left = "SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1"
    assert [row[0] for row in await sql.fetch(left, schema)] == names


async def test_other_tables_in_the_database_do_no_harm(one: PostgresStore, sql: Any) -> None:
    await sql.execute("CREATE TABLE IF NOT EXISTS public.sessions (theirs text)")
    await one.create(record())
    assert await sql.fetchval("SELECT count(*) FROM public.sessions") == 0
    await sql.execute("DROP TABLE public.sessions")


@pytest.mark.parametrize("version", [tables.VERSION + 1, 999])
async def test_newer_tables_are_refused(new_node: NewNode, sql: Any, version: int) -> None:
    store = new_node()
    await store.open()
    await store.close()
    await sql.execute("UPDATE meta SET version = $1", version)
    with pytest.raises(StoreError, match=rf"newer acpella \(layout {version}, .*upgrade acpella"):
        await new_node().open()


async def test_older_tables_are_brought_up_to_date(
    new_node: NewNode, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tables, "VERSION", 1)
        old = new_node()
        await old.open()
        await old.create(record(), [("update", b"1")])
        await old.close()
    assert await sql.fetchval("SELECT version FROM meta") == 1
    steps = {**tables._STEPS, tables.VERSION + 1: ("CREATE TABLE added (x integer)",)}
    monkeypatch.setattr(tables, "_STEPS", steps)
    monkeypatch.setattr(tables, "VERSION", tables.VERSION + 1)
    nodes = [new_node() for _ in range(3)]
    await asyncio.gather(*(node.open() for node in nodes))
    assert await sql.fetchval("SELECT version FROM meta") == tables.VERSION
    assert await sql.fetchval("SELECT count(*) FROM added") == 0
    assert (await nodes[0].get("a")).last_seq == 1
    for node in nodes:
        await node.close()


async def test_a_step_that_fails_leaves_the_old_tables(
    new_node: NewNode, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_node()
    await store.open()
    await store.close()
    before = tables.VERSION
    broken = {before + 1: ("CREATE TABLE added (x integer)", "CREATE TABLE broken (x nonsense)")}
    monkeypatch.setattr(tables, "_STEPS", {**tables._STEPS, **broken})
    monkeypatch.setattr(tables, "VERSION", before + 1)
    with pytest.raises(StoreError, match="nonsense"):
        await new_node().open()
    assert await sql.fetchval("SELECT version FROM meta") == before
    assert await sql.fetchval("SELECT to_regclass('added')") is None


# -- texts -------------------------------------------------------------------------------------


async def test_what_postgresql_calls_no_text_is_found_nowhere(one: PostgresStore) -> None:
    for name in ("a\0b", "\ud800"):
        for call in (one.get(name), one.acquire(name), one.delete(name), one.fork(name, record("b"))):
            with pytest.raises(SessionNotFound):
                await call
        with pytest.raises(SessionNotFound):
            await one.get("a", principal=name)
        assert (await one.list(principal=name)).sessions == []
        assert (await one.list(cwd=name)).sessions == []
        with pytest.raises(StoreError, match="characters that are not text"):
            await one.create(SessionRecord(id="b", cwd=name))


async def test_a_title_may_be_odd_and_an_event_may_be_anything(one: PostgresStore) -> None:
    lease = await one.create(record(title="a\0b"), [("update", b"\0\xff")])
    assert (await one.get("a")).title == "ab"
    await one.append(lease, 1, [], SessionChanges(title="x\ud800y", state={"k": "\0"}))
    assert (await one.get("a")).title == "x?y" and (await one.get("a")).state == {"k": "\0"}


async def test_pieces_are_bounded_in_bytes(one: PostgresStore) -> None:
    large = ("update", b"x" * 700_000)
    await one.create(record(), [large, large, ("update", b"y" * 3_000_000), ("turn", b"z"), ("turn", b"z")])
    assert [[event.seq for event in piece] async for piece in one.read("a")] == [[1], [2], [3], [4, 5]]


# -- group commit ------------------------------------------------------------------------------


async def test_waiting_appends_share_a_commit(one: PostgresStore) -> None:
    leases = [await one.create(record(f"s{n}")) for n in range(100)]
    writer: Any = one._writer
    before = writer.commits
    await asyncio.gather(*(one.append(lease, 0, [("update", b"1")]) for lease in leases))
    assert writer.commits - before <= 2


async def test_a_group_is_bounded(one: PostgresStore) -> None:
    leases = [await one.create(record(f"s{n}")) for n in range(8)]
    writer: Any = one._writer
    before = writer.commits
    many: list[tuple[EventKind, bytes]] = [("update", b"1")] * (writing.GROUP_EVENTS // 2)
    await asyncio.gather(*(one.append(lease, 0, many) for lease in leases))
    assert writer.commits - before >= 4
    before = writer.commits
    large: list[tuple[EventKind, bytes]] = [("update", b"x" * (writing.GROUP_BYTES // 2))]
    await asyncio.gather(*(one.append(lease, len(many), large) for lease in leases))
    assert writer.commits - before >= 4


async def test_an_append_that_cannot_be_written_leaves_the_others_alone(one: PostgresStore) -> None:
    leases = [await one.create(record(f"s{n}")) for n in range(5)]
    bad: Any = [("up\0date", b"1")]
    results = await asyncio.gather(
        *(one.append(lease, 0, bad if n == 2 else [("update", b"1")]) for n, lease in enumerate(leases)),
        return_exceptions=True,
    )
    assert isinstance(results[2], StoreError)
    assert [result for n, result in enumerate(results) if n != 2] == [1, 1, 1, 1]
    assert (await one.get("s2")).last_seq == 0


async def test_appends_of_one_session_keep_their_order(one: PostgresStore) -> None:
    lease = await one.create(record())
    appends = [one.append(lease, n, [("update", b"%d" % n)]) for n in range(20)]
    assert await asyncio.gather(*appends) == list(range(1, 21))


async def test_a_cancelled_caller_does_not_stop_the_writer(one: PostgresStore) -> None:
    lease = await one.create(record())
    task = asyncio.ensure_future(one.append(lease, 0, [("update", b"1")]))
    await asyncio.sleep(0)
    task.cancel()
    assert await one.append(lease, 1, [("update", b"2")]) == 2


async def test_closing_waits_for_what_is_queued_and_gives_everything_back(
    one: PostgresStore, sql: Any
) -> None:
    leases = [await one.create(record(f"s{n}")) for n in range(50)]
    appends = [asyncio.ensure_future(one.append(lease, 0, [("update", b"1")])) for lease in leases]
    await asyncio.sleep(0)
    await one.close()
    assert await asyncio.gather(*appends) == [1] * 50
    assert await sql.fetchval("SELECT count(*) FROM sessions WHERE owner IS NOT NULL") == 0
    assert await sql.fetchval("SELECT count(*) FROM events") == 50


# -- nodes -------------------------------------------------------------------------------------


async def test_a_session_of_a_living_node_is_busy_for_others_and_can_be_read(
    one: PostgresStore, two: PostgresStore
) -> None:
    lease = await one.create(record(), [("update", b"1")])
    for call in (two.acquire("a"), two.delete("a")):
        with pytest.raises(
            SessionBusy, match=r"session 'a' is open on node one \(heard \d+ s ago\); close it"
        ):
            await call
    assert [found.id for found in (await two.list()).sessions] == ["a"]
    assert [event.body async for piece in two.read("a") for event in piece] == [b"1"]
    await one.release(lease)
    taken = await two.acquire("a")
    with pytest.raises(Fenced):
        await one.append(lease, 1, [("update", b"2")])
    assert await two.append(taken, 1, [("update", b"2")]) == 2


async def test_a_node_that_closed_keeps_nothing_from_others(one: PostgresStore, two: PostgresStore) -> None:
    await one.create(record())
    await one.close()
    await two.acquire("a")


async def test_the_database_decides_when_a_node_is_dead(
    one: PostgresStore, two: PostgresStore, sql: Any
) -> None:
    """Whatever the clock of the node says: only the lease in the table counts."""
    lease = await one.create(record())
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 s' WHERE name = 'one'")
    taken = await two.acquire("a")
    with pytest.raises(Fenced):
        await one.append(lease, 0, [("update", b"zombie")])
    assert await two.append(taken, 0, [("update", b"1")]) == 1
    with pytest.raises(SessionBusy, match="node two"):
        await one.acquire("a")


async def test_a_node_without_a_lease_takes_nothing(one: PostgresStore, two: PostgresStore, sql: Any) -> None:
    """Whoever is not alive for others could lose it again at once."""
    await two.release(await two.create(record()))
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() WHERE name = 'one'")
    with pytest.raises(StoreUnavailable, match="could not renew its lease in time; try again"):
        await one.acquire("a")
    node: Any = one._node
    await node.beat(node._connection)
    await one.acquire("a")


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_an_hour_off_changes_nothing(
    one: PostgresStore, two: PostgresStore, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times in lists and the order of sessions come from the database, leases too."""
    import time

    real, real_ns = time.time, time.time_ns
    before = await one.create(record("before"))
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: real() + hours * 3600)
        patch.setattr(time, "time_ns", lambda: real_ns() + hours * 3600 * 10**9)
        await one.create(record("skewed"))
        with pytest.raises(SessionBusy):
            await two.acquire("skewed")
    await two.create(record("after"))
    assert [found.id for found in (await two.list()).sessions] == ["after", "skewed", "before"]
    assert await one.append(before, 0, [("update", b"1")]) == 1


async def test_two_living_nodes_cannot_have_one_name(
    new_node: NewNode, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = new_node("same", seconds=1.5), new_node("same", seconds=1.5)
    await first.open()
    await first.create(record())
    async with asyncio.timeout(20):
        with pytest.raises(StoreError, match="another process is node 'same' already; give this one a name"):
            await second.open()
    await second.close()
    await first.close()


async def test_the_name_of_a_crashed_node_is_free_when_its_lease_is_over(new_node: NewNode, sql: Any) -> None:
    first, second = new_node("same"), new_node("same")
    await first.open()
    lease = await first.create(record())
    node: Any = first._node
    node._beating.cancel()  # as if it had crashed
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() + interval '0.3 s'")
    async with asyncio.timeout(20):
        await second.open()
    taken = await second.acquire("a")
    assert taken.epoch > lease.epoch
    with pytest.raises(Fenced):
        await first.append(lease, 0, [("update", b"1")])
    await first.close()
    assert await second.append(taken, 0, [("update", b"1")]) == 1  # closing the first gave back nothing of it
    await second.close()


async def test_ten_thousand_sessions_of_a_dead_node_are_free_at_once(
    one: PostgresStore, two: PostgresStore, sql: Any
) -> None:
    await sql.execute(
        "INSERT INTO sessions"
        " (id, principal, cwd, created_at, updated_at, last_seq, epoch, owner, state, settings)"
        " SELECT 'old' || n, '', '/x', now(), now(), 0, nextval('epochs'),"
        " (SELECT incarnation FROM nodes WHERE name = 'one'), '{}', '{}' FROM generate_series(1, 10000) AS n"
    )
    with pytest.raises(SessionBusy):
        await two.acquire("old1")
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() WHERE name = 'one'")
    leases = await asyncio.gather(*(two.acquire(f"old{n}") for n in range(1, 200)))
    assert len({lease.epoch for lease in leases}) == 199
    assert await sql.fetchval("SELECT count(*) FROM sessions WHERE owner IS NOT NULL") == 10000


async def test_of_many_that_take_a_dead_nodes_session_one_wins(
    new_node: NewNode, one: PostgresStore, sql: Any
) -> None:
    await one.create(record())
    others = [new_node(f"n{n}") for n in range(5)]
    await asyncio.gather(*(node.open() for node in others))
    await sql.execute("UPDATE nodes SET lease_until = clock_timestamp() WHERE name = 'one'")
    taken = await asyncio.gather(*(node.acquire("a") for node in others), return_exceptions=True)
    assert sorted(type(each).__name__ for each in taken) == ["Lease"] + ["SessionBusy"] * 4
    for node in others:
        await node.close()


async def test_a_forgotten_node_registers_again_without_its_sessions(one: PostgresStore, sql: Any) -> None:
    lease = await one.create(record())
    await sql.execute("DELETE FROM nodes")
    node: Any = one._node
    await node.beat(node._connection)
    assert await sql.fetchval("SELECT count(*) FROM nodes WHERE name = 'one'") == 1
    with pytest.raises(Fenced):
        await one.append(lease, 0, [("update", b"1")])
    assert await one.append(await one.acquire("a"), 0, [("update", b"1")]) == 1


async def test_connections_are_bounded(new_node: NewNode, sql: Any) -> None:
    store = new_node(max_connections=4)
    await store.open()
    await asyncio.gather(*(store.create(record(f"s{n}")) for n in range(50)))
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'acpella'"
    assert await sql.fetchval(count) <= 4
    await store.close()
    with pytest.raises(ValueError, match="at least 3"):
        new_node(max_connections=2)

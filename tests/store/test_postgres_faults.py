"""The PostgreSQL store when the database restarts, hangs, fills up or cannot be reached."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from acpella.sessions import (
    Cursor,
    Event,
    Fenced,
    PostgresStore,
    Resync,
    SessionBusy,
    SessionRecord,
    StoreError,
    StoreUnavailable,
    cluster_of,
)
from acpella.sessions import _postgres_pool as pool
from acpella.sessions import _postgres_writer as writing
from cuttable import CuttableProxy, cuttable_proxy
from postgres import PostgresServer, running_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that these tests may kill."""
    with running_server() as server:
        yield server


@pytest.fixture
async def proxy(server: PostgresServer) -> AsyncIterator[CuttableProxy]:
    async with cuttable_proxy(server.socket) as proxy:
        yield proxy


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence counts as a cut sooner, so that the tests need not wait."""
    for module in (pool, writing):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    for name in ("CONNECT_SECONDS", "LONG_SECONDS"):
        monkeypatch.setattr(pool, name, 0.5)


def through(proxy: CuttableProxy) -> str:
    return f"postgresql://acpella@127.0.0.1:{proxy.port}/postgres?sslmode=disable"


def record(name: str = "a") -> SessionRecord:
    return SessionRecord(id=name, cwd="/x")


async def regained(node: Any) -> None:
    """Wait for the next heartbeat that comes through."""
    for _ in range(1000):
        if node.remaining() > 0:
            return
        await asyncio.sleep(0.05)


async def read_all(store: PostgresStore, name: str = "a") -> list[Event]:
    return [event async for piece in store.read(name) for event in piece]


class Load:
    """Appends to some sessions until told to stop; remembers what was acknowledged."""

    def __init__(self, store: PostgresStore, sessions: int = 5) -> None:
        self._store = store
        self._names = [f"s{n}" for n in range(sessions)]
        self.acknowledged = dict.fromkeys(self._names, 0)
        self.going = True
        self._progress = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for name in self._names:
                group.create_task(self._write(name))

    async def _write(self, name: str) -> None:
        lease, last = await self._store.create(record(name)), 0
        while self.going:
            last = await self._store.append(lease, last, [("update", b"%d" % (last + 1))])
            self.acknowledged[name] = last
            self._progress.set()

    async def progress(self) -> None:
        """Wait for one more acknowledged append to each session, so that all of them are there."""
        before = dict(self.acknowledged)
        while any(self.acknowledged[name] == before[name] for name in self._names):
            self._progress.clear()
            await self._progress.wait()

    async def check(self) -> None:
        for name, last in self.acknowledged.items():
            events = await read_all(self._store, name)
            assert [event.body for event in events] == [b"%d" % n for n in range(1, len(events) + 1)]
            assert len(events) == last


async def test_engine_crash_restart(server: PostgresServer, schema: str) -> None:
    """The database is killed in the middle of appends: they wait, none is lost, none is there twice."""
    store = PostgresStore(server.dsn(), schema=schema, lease_seconds=60)
    await store.open()
    load = Load(store)
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(load.run())
        for number in range(4):
            await load.progress()
            await asyncio.to_thread(server.kill if number % 2 else server.stop)
            await asyncio.to_thread(server.start)
        await load.progress()
        load.going = False
    await load.check()
    await store.close()


async def test_an_answer_that_is_lost_after_the_commit(
    server: PostgresServer, proxy: CuttableProxy, schema: str, quick: None
) -> None:
    """Each write is done by the database, and its answer never arrives: repeating it changes nothing."""
    store = PostgresStore(through(proxy), schema=schema, lease_seconds=60)
    await store.open()
    # so that the statements are known and the one answer that is lost is that of the commit
    warm = await store.create(record("warm"))
    await store.append(await store.acquire("warm"), 0, [])
    await store.release(await store.fork("warm", record("warmer")))
    await store.delete("warmer")
    await store.delete("warm")
    assert warm

    async def without_answer(call: Any) -> Any:
        proxy.set("no answers")
        task = asyncio.ensure_future(call)
        await proxy.swallowed.wait()
        proxy.set("open")
        return await task

    async with asyncio.timeout(60):
        lease = await without_answer(store.create(record(), [("update", b"1")]))
        assert await without_answer(store.append(lease, 1, [("update", b"2")])) == 2
        forked = await without_answer(store.fork("a", record("b")))
        assert await store.append(forked, 2, [("update", b"3")]) == 3
        await without_answer(store.delete("b"))
        again = await without_answer(store.acquire("a"))
        assert await store.append(again, 2, [("update", b"3")]) == 3
    assert [event.body for event in await read_all(store)] == [b"1", b"2", b"3"]
    assert [found.id for found in (await store.list()).sessions] == ["a"]
    await store.close()


async def test_a_silent_cut_is_noticed_and_healed(
    server: PostgresServer, proxy: CuttableProxy, schema: str, quick: None
) -> None:
    store = PostgresStore(through(proxy), schema=schema, lease_seconds=60)
    await store.open()
    load = Load(store)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(load.run())
        for _ in range(3):
            await load.progress()
            proxy.set("cut")
            reading = asyncio.ensure_future(store.list())
            await proxy.swallowed.wait()
            await asyncio.sleep(0.6)  # an attempt or two fail
            assert not reading.done()
            proxy.set("open")
            assert len((await reading).sessions) == 5
        await load.progress()
        load.going = False
    await load.check()
    await store.close()


async def test_engine_outage_long(server: PostgresServer, schema: str, quick: None) -> None:
    """Longer than the lease: calls fail with a clear error, the node knows it, and recovers by itself."""
    store = PostgresStore(server.dsn(), schema=schema, lease_seconds=2)
    await store.open()
    lease = await store.create(record())
    lost = asyncio.Event()
    node: Any = store._node
    node.on_lost.append(lost.set)
    await asyncio.to_thread(server.kill)
    try:
        async with asyncio.timeout(30):
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await store.append(lease, 0, [("update", b"1")])
            await lost.wait()
            with pytest.raises(StoreUnavailable):  # at once now
                await store.get("a")
    finally:
        await asyncio.to_thread(server.start)
    async with asyncio.timeout(30):
        await regained(node)
        assert await store.append(lease, 0, [("update", b"1")]) == 1  # nobody has taken it
    assert len(await read_all(store)) == 1
    await store.close()


async def test_partition(server: PostgresServer, proxy: CuttableProxy, schema: str, quick: None) -> None:
    """A node that is cut off stops by its own clock before another can take its session."""
    cut_off = PostgresStore(through(proxy), schema=schema, node_name="cut-off", lease_seconds=2)
    other = PostgresStore(server.dsn(), schema=schema, node_name="other", lease_seconds=2)
    await cut_off.open()
    await other.open()
    lease = await cut_off.create(record(), [("update", b"1")])
    happened: list[str] = []
    node: Any = cut_off._node
    node.on_lost.append(lambda: happened.append("lost"))
    proxy.set("cut")
    async with asyncio.timeout(30):
        while True:
            try:
                taken = await other.acquire("a")
                happened.append("taken")
                break
            except SessionBusy as busy:
                assert "node cut-off" in str(busy)
                await asyncio.sleep(0.02)
        assert happened == ["lost", "taken"]
        assert await other.append(taken, 1, [("update", b"2")]) == 2
        proxy.set("open")
        await regained(node)
        with pytest.raises(Fenced):
            await cut_off.append(lease, 1, [("update", b"zombie")])
    assert [event.body for event in await read_all(other)] == [b"1", b"2"]
    await cut_off.close()
    await other.close()


async def test_a_store_closes_although_nothing_answers(
    server: PostgresServer, proxy: CuttableProxy, schema: str, quick: None
) -> None:
    store = PostgresStore(through(proxy), schema=schema, lease_seconds=1)
    await store.open()
    lease = await store.create(record())
    proxy.set("cut")
    append = asyncio.ensure_future(store.append(lease, 0, [("update", b"1")]))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await store.close()
        with pytest.raises(StoreError):
            await append


async def test_opening_where_nothing_answers_is_told(proxy: CuttableProxy, schema: str, quick: None) -> None:
    proxy.set("cut")
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnavailable, match="does not answer; look whether it runs"):
            await PostgresStore(through(proxy), schema=schema).open()


async def test_a_failover_makes_a_new_generation(server: PostgresServer, schema: str) -> None:
    """The server becomes a standby and is promoted, while a node is running."""
    store = PostgresStore(server.dsn(), schema=schema, lease_seconds=60)
    await store.open()
    cluster = cluster_of(store)
    await cluster.open()
    lease = await cluster.open_stream("c:1", b"")
    await cluster.put(lease, 0, [("update", b"1")])
    before = await cluster.head("c:1")
    await asyncio.to_thread(server.stop)
    (server.data / "standby.signal").touch()
    await asyncio.to_thread(server.start)
    waiting = asyncio.ensure_future(cluster.put(lease, 1, [("update", b"2")]))
    sql: Any = await asyncpg.connect(server.dsn())
    await asyncio.sleep(0.3)
    assert not waiting.done()  # a standby takes no writes
    assert await sql.fetchval("SELECT pg_promote()")
    await sql.close()
    async with asyncio.timeout(30):
        for _ in range(600):
            if cluster.gen != before.gen:
                break
            await asyncio.sleep(0.05)
        with pytest.raises(Resync, match="another generation"):
            await anext(cluster.tail("c:1", before))
        events = await anext(cluster.tail("c:1", Cursor(cluster.gen, 0)))
        assert events[0].body == b"1"
        assert await waiting == 2
    await cluster.close()
    await store.close()


@pytest.fixture
def small_disk(server: PostgresServer) -> Iterator[Path]:
    """A disk of few megabytes, which the server may write to."""
    if os.geteuid() != 0:
        pytest.skip("a small disk can be made by root only")
    path = server.directory / "small"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path], capture_output=True)
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.decode().strip()}")
    try:
        place = path / "tables"
        place.mkdir()
        shutil.chown(place, "nobody")
        yield place
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


async def test_enospc(server: PostgresServer, small_disk: Path) -> None:
    """A full disk is told, nothing of the append is there, reads go on; with room, the next append works."""
    sql: Any = await asyncpg.connect(server.dsn())
    await sql.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    await sql.execute("CREATE DATABASE small TABLESPACE small")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 4_000_000)
    store = PostgresStore(server.dsn("small"))
    await store.open()
    lease, last = await store.create(record()), 0
    event = ("update", os.urandom(100_000))
    with pytest.raises(StoreError, match="the disk of the PostgreSQL database small .* is full") as caught:
        for _ in range(1000):
            last = await store.append(lease, last, [event])
    assert "nothing was changed; free some space" in str(caught.value)
    assert last > 0 and (await store.get("a")).last_seq == last == len(await read_all(store))
    ballast.unlink()
    assert await store.append(lease, last, [event]) == last + 1
    await store.close()
    await sql.execute("DROP DATABASE small")
    await sql.execute("DROP TABLESPACE small")
    await sql.close()

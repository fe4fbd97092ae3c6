"""Random work of several nodes with random faults, against a small reference: on every kind of store."""

import os
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from acpella.sessions import (
    EventKind,
    Fenced,
    Lease,
    MemoryStore,
    PostgresStore,
    SessionBusy,
    SessionExists,
    SessionNotFound,
    SessionRecord,
    SqliteStore,
    Store,
    StoreError,
)
from postgres import PostgresServer

pytestmark = pytest.mark.anyio

STEPS = 250
NAMES = ("a", "b", "c")

Body = tuple[EventKind, bytes]


# -- the reference -----------------------------------------------------------------------------


@dataclass
class Kept:
    owner: int | None
    epoch: int
    log: list[Body] = field(default_factory=list[Body])
    writers: list[int] = field(default_factory=list[int])
    """The epoch that each entry was written in."""


@dataclass
class Reference:
    """What must happen. Epochs are counted here by themselves; leases of the two sides are kept in pairs."""

    alive: list[bool]
    sessions: dict[str, Kept] = field(default_factory=dict[str, Kept])
    epoch: int = 0
    ended: set[int] = field(default_factory=set[int])
    """Dead nodes that something was taken from: they come back with nothing."""

    def _held(self, node: int) -> int:
        self.epoch += 1
        return self.epoch

    def _is_busy(self, node: int, kept: Kept) -> bool:
        if kept.owner is None or kept.owner == node:
            return False
        if not self.alive[kept.owner]:
            self.ended.add(kept.owner)
        return self.alive[kept.owner]

    def come_back(self, node: int) -> None:
        self.alive[node] = True
        if node in self.ended:
            self.ended.discard(node)
            for kept in self.sessions.values():
                if kept.owner == node:
                    kept.owner = None

    def create(self, node: int, name: str, events: list[Body]) -> int | type[StoreError]:
        if name in self.sessions:
            return SessionExists
        epoch = self._held(node)
        self.sessions[name] = Kept(node, epoch, list(events), [epoch] * len(events))
        return epoch

    def acquire(self, node: int, name: str) -> int | type[StoreError]:
        if (kept := self.sessions.get(name)) is None:
            return SessionNotFound
        if self._is_busy(node, kept):
            return SessionBusy
        kept.owner, kept.epoch = node, self._held(node)
        return kept.epoch

    def release(self, node: int, name: str, epoch: int) -> None:
        kept = self.sessions.get(name)
        if kept is not None and (kept.owner, kept.epoch) == (node, epoch):
            kept.owner = None

    def append(
        self, node: int, name: str, epoch: int, expected: int, events: list[Body]
    ) -> int | type[StoreError]:
        if (kept := self.sessions.get(name)) is None:
            return SessionNotFound
        if (kept.owner, kept.epoch) != (node, epoch):
            return Fenced
        if len(kept.log) != expected:
            repeated = events and kept.log[expected:] == events
            return len(kept.log) if repeated else Fenced
        kept.log += events
        kept.writers += [epoch] * len(events)
        return len(kept.log)

    def delete(self, node: int, name: str) -> type[StoreError] | None:
        if (kept := self.sessions.get(name)) is None:
            return SessionNotFound
        if self._is_busy(node, kept):
            return SessionBusy
        del self.sessions[name]
        return None


# -- the real ones -----------------------------------------------------------------------------


class World:
    """Nodes on one store, and the faults that its kind can have."""

    def __init__(self, make: Callable[[int], Store], *, nodes: int, sql: Any = None) -> None:
        self.nodes = [make(number) for number in range(nodes)]
        self.sql = sql

    async def crash(self, number: int) -> bool:
        """The node counts as dead from now on, though it may still write, as one that was only paused."""
        node: Any = self.nodes[number]
        if isinstance(node, SqliteStore):
            fd, node._node._fd = node._node._fd, None
            assert fd is not None
            os.close(fd)
        elif isinstance(node, PostgresStore):
            query = "UPDATE nodes SET lease_until = clock_timestamp() WHERE name = $1"
            await self.sql.execute(query, f"n{number}")
        else:
            return False
        return True

    async def come_back(self, number: int) -> bool:
        """A heartbeat after a long pause."""
        node: Any = self.nodes[number]
        if not isinstance(node, PostgresStore):
            return False
        beating = node._node
        assert beating is not None and beating._connection is not None
        await beating.beat(beating._connection)
        return True


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "memory":
        world = World(lambda _: MemoryStore(), nodes=1)
    elif request.param == "sqlite":
        world = World(lambda _: SqliteStore(tmp_path / "sessions.db"), nodes=3)
    else:
        new_node: Any = request.getfixturevalue("new_node")
        server: PostgresServer = request.getfixturevalue("postgres_server")
        schema: str = request.getfixturevalue("schema")
        world = World(
            lambda number: new_node(f"n{number}", seconds=600),
            nodes=3,
            sql=await asyncpg.connect(server.dsn(), server_settings={"search_path": schema}),
        )
    for node in world.nodes:
        await node.open()
    yield world
    for node in world.nodes:
        await node.close()
    if world.sql is not None:
        await world.sql.close()


class Pair(NamedTuple):
    """A lease of the store, and of the reference."""

    node: int
    lease: Lease
    epoch: int


class Run:
    """Does the same to both and compares."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.reference = Reference([True] * len(world.nodes))
        self.leases: list[Pair] = []
        self.under_way: list[tuple[Pair, int, list[Body]]] = []
        """Appends that were sent, and arrive later or twice."""
        self.counts: dict[str, int] = {}

    async def step(self) -> None:
        living = [number for number, alive in enumerate(self.reference.alive) if alive]
        choices = [("append", 10), ("acquire", 4), ("create", 3), ("late", 4), ("release", 2), ("delete", 1)]
        choices += [("crash", 1)] if len(living) > 1 else []
        choices += [("come_back", 2)] if len(living) < len(self.world.nodes) else []
        name = self.chance.choices([each[0] for each in choices], [each[1] for each in choices])[0]
        self.counts[name] = self.counts.get(name, 0) + 1
        await getattr(self, f"do_{name}")(self.chance.choice(living))

    async def do_create(self, node: int) -> None:
        name, events = self.chance.choice(NAMES), self.events()
        call = self.world.nodes[node].create(SessionRecord(id=name, cwd="/x"), events)
        await self.leased(node, call, self.reference.create(node, name, events))

    async def do_acquire(self, node: int) -> None:
        name = self.chance.choice(NAMES)
        call = self.world.nodes[node].acquire(name)
        await self.leased(node, call, self.reference.acquire(node, name))

    async def do_append(self, _: int) -> None:
        if not self.leases:
            return
        # mostly a new lease, sometimes one that is long over
        pair = self.leases[-1] if self.chance.random() < 0.7 else self.chance.choice(self.leases)
        kept = self.reference.sessions.get(pair.lease.session_id)
        expected = len(kept.log) if kept is not None else 0
        if self.chance.random() < 0.1:
            expected = max(0, expected + self.chance.choice((-2, -1, 1)))
        message = (pair, expected, self.events())
        if self.chance.random() < 0.4:
            self.under_way.append(message)
        if self.chance.random() < 0.8:
            await self.deliver(*message)

    async def do_late(self, _: int) -> None:
        if self.under_way:
            message = self.chance.choice(self.under_way)
            if self.chance.random() < 0.5:
                self.under_way.remove(message)
            await self.deliver(*message)

    async def do_release(self, _: int) -> None:
        if self.leases:
            pair = self.chance.choice(self.leases)
            await self.world.nodes[pair.node].release(pair.lease)
            self.reference.release(pair.node, pair.lease.session_id, pair.epoch)

    async def do_delete(self, node: int) -> None:
        name = self.chance.choice(NAMES)
        wanted = self.reference.delete(node, name)
        assert await outcome(self.world.nodes[node].delete(name)) == wanted

    async def do_crash(self, node: int) -> None:
        if await self.world.crash(node):
            self.reference.alive[node] = False

    async def do_come_back(self, _: int) -> None:
        dead = [number for number, alive in enumerate(self.reference.alive) if not alive]
        number = self.chance.choice(dead)
        if await self.world.come_back(number):
            self.reference.come_back(number)

    async def deliver(self, pair: Pair, expected: int, events: list[Body]) -> None:
        name = pair.lease.session_id
        wanted = self.reference.append(pair.node, name, pair.epoch, expected, events)
        found = await outcome(self.world.nodes[pair.node].append(pair.lease, expected, events))  # type: ignore[arg-type]
        assert found == wanted, (pair, expected, events)

    async def leased(self, node: int, call: Any, wanted: int | type[StoreError]) -> None:
        found = await outcome(call)
        if isinstance(wanted, int):
            assert isinstance(found, Lease), found
            if self.leases:
                assert found.epoch > max(pair.lease.epoch for pair in self.leases)
            self.leases.append(Pair(node, found, wanted))
        else:
            assert found is wanted

    def events(self) -> list[Body]:
        return [("update", self.chance.randbytes(4)) for _ in range(self.chance.choice((0, 1, 1, 2, 5)))]

    async def compare(self) -> None:
        for store in self.world.nodes:
            assert {each.id for each in (await store.list()).sessions} == set(self.reference.sessions)
            for name, kept in self.reference.sessions.items():
                events = [event async for piece in store.read(name) for event in piece]
                assert [(event.kind, event.body) for event in events] == kept.log
                assert [event.seq for event in events] == list(range(1, len(events) + 1))
                assert (await store.get(name)).last_seq == len(events)


async def outcome(call: Any) -> Any:
    """What it gives, or what kind of error."""
    try:
        return await call
    except StoreError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(6))
async def test_random_faults_do_what_the_reference_says(world: World, seed: int) -> None:
    run = Run(world, seed)
    for number in range(STEPS):
        await run.step()
        if number % 50 == 49:
            await run.compare()
    await run.compare()
    assert run.counts["append"] > 30 and run.counts["acquire"] > 10
    if world.sql is not None:
        rows = await world.sql.fetch(
            "SELECT s.id, e.epoch FROM events e JOIN sessions s ON s.k = e.sid ORDER BY s.id, e.seq"
        )
        for name in run.reference.sessions:
            epochs = [row["epoch"] for row in rows if row["id"] == name]
            assert epochs == sorted(epochs), "a writer that was fenced wrote after its successor"

"""The SQLite store and other processes: side by side, and killed at any moment."""

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path

import pytest

from acpella.sessions import SessionBusy, SessionRecord, SqliteStore

pytestmark = pytest.mark.anyio

ROUNDS = 20

Spawn = Callable[..., AbstractAsyncContextManager[asyncio.subprocess.Process]]


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def poke(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()


def collect(acknowledged: dict[str, int], told: bytes) -> None:
    for entry in told.splitlines():
        name, last = entry.decode().split()
        acknowledged[name] = int(last)


async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, spawn: Spawn) -> None:
    """Whatever the child was told to be durable is there, once, and the file is whole."""
    path = tmp_path / "sessions.db"
    chance = random.Random()
    acknowledged: dict[str, int] = {}
    for number in range(ROUNDS):
        async with asyncio.timeout(20), spawn("append_for_ever", path, number) as child:
            assert child.stdout is not None
            for _ in range(chance.randint(1, 40)):
                collect(acknowledged, await child.stdout.readline())
            await asyncio.sleep(chance.random() * 0.02)  # any moment, not only after an answer
            child.kill()
            rest = await child.stdout.read()
            collect(acknowledged, rest[: rest.rfind(b"\n") + 1])
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("PRAGMA foreign_key_check").fetchone() is None
    store = SqliteStore(path)
    await store.open()
    assert set(acknowledged) == set("abc")
    for name, last in acknowledged.items():
        bodies = [event.body async for piece in store.read(name) for event in piece]
        assert len(bodies) == (await store.get(name)).last_seq >= last
        assert bodies == [b'{"n":%d}' % n for n in range(1, len(bodies) + 1)]
        await store.acquire(name)
    await store.close()
    assert os.listdir(tmp_path) == ["sessions.db"]


async def test_the_error_for_a_busy_session_says_who_has_it(sqlite: SqliteStore, spawn: Spawn) -> None:
    async with asyncio.timeout(20), spawn("hold", sqlite.path, "theirs") as child:
        assert await line(child) == "held"
        message = rf"session 'theirs' is open in another process \(pid {child.pid}\); close it there"
        with pytest.raises(SessionBusy, match=message):
            await sqlite.acquire("theirs")
        with pytest.raises(SessionBusy, match=message):
            await sqlite.delete("theirs")
        assert (await sqlite.get("theirs")).cwd == "/x"
        await poke(child)
        assert await line(child) == "closed"
        await sqlite.acquire("theirs")


async def test_the_sessions_of_a_killed_process_can_be_taken_at_once(
    sqlite: SqliteStore, spawn: Spawn
) -> None:
    async with asyncio.timeout(20), spawn("hold", sqlite.path, "theirs") as child:
        assert await line(child) == "held"
        child.kill()
        await child.wait()
        lease = await sqlite.acquire("theirs")
        assert await sqlite.append(lease, 0, [("update", b"{}")]) == 1
    locks = [path.name for path in sqlite.path.parent.iterdir() if "-node-" in path.name]
    assert locks == [f"sessions.db-node-{sqlite._node.id}"]


async def test_two_processes_write_side_by_side(sqlite: SqliteStore, spawn: Spawn) -> None:
    lease = await sqlite.create(SessionRecord(id="ours", cwd="/x"))
    async with asyncio.timeout(20), spawn("append_many", sqlite.path, "theirs", 200) as child:
        assert await line(child) == "ready"
        await poke(child)
        for last in range(200):
            await sqlite.append(lease, last, [("update", b"{}")])
        assert await line(child) == "done"
    for name in ("ours", "theirs"):
        assert (await sqlite.get(name)).last_seq == 200


async def test_a_file_size_limit_is_told_and_can_be_lifted(tmp_path: Path, spawn: Spawn) -> None:
    async with asyncio.timeout(20), spawn("fill", tmp_path / "s.db") as child:
        message = await line(child)
        assert "s.db" in message and "disk" in message and "full" in message and "try again" in message
        assert await line(child) == "True"  # nothing of the failed append is there
        assert await line(child) == "True"  # and the next one works

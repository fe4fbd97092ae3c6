"""What the SQLite store adds: a file, two threads, owners."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acpella.sessions import (
    Event,
    EventKind,
    Fenced,
    SessionBusy,
    SessionExists,
    SessionRecord,
    SqliteStore,
    StoreError,
)
from acpella.sessions import _workers as workers
from acpella.sessions import sqlite as sqlite_module
from acpella.sessions._order import encode_cursor
from kept_memory import LARGE, nothing_large_kept

pytestmark = pytest.mark.anyio


def record(name: str = "a") -> SessionRecord:
    return SessionRecord(id=name, cwd="/x")


async def read_all(store: SqliteStore, name: str = "a") -> list[Event]:
    return [event async for piece in store.read(name) for event in piece]


@pytest.fixture
async def other(sqlite: SqliteStore) -> AsyncIterator[SqliteStore]:
    """A second store on the same file."""
    store = SqliteStore(sqlite.path)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def locked(sqlite: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A connection that may keep the writer waiting."""
    with closing(sqlite3.connect(sqlite.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


async def test_what_was_appended_is_there_after_opening_again(sqlite: SqliteStore) -> None:
    lease = await sqlite.create(record())
    await sqlite.append(lease, 0, [("update", b"1"), ("turn", b"2")])
    before = await sqlite.get("a")
    await sqlite.close()
    again = SqliteStore(sqlite.path)
    await again.open()
    assert await again.get("a") == before
    assert await read_all(again) == [(1, "update", b"1"), (2, "turn", b"2")]
    assert (await again.acquire("a")).epoch > lease.epoch
    await again.close()


async def test_the_file_belongs_to_the_user_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new" / "s.db")
    await store.open()
    await store.create(record())
    for path in (tmp_path / "new").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    await store.close()


async def test_closing_leaves_one_file_and_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStore(tmp_path / "s.db")
    await store.open()
    assert len(set(threading.enumerate()) - before) == 2
    await store.create(record())
    await store.close()
    assert set(threading.enumerate()) == before
    assert os.listdir(tmp_path) == ["s.db"]


async def test_closing_waits_for_what_is_queued(sqlite: SqliteStore, locked: sqlite3.Connection) -> None:
    creates = [asyncio.ensure_future(sqlite.create(record(f"s{n}"))) for n in range(50)]
    await asyncio.sleep(0)  # all handed over
    close = asyncio.ensure_future(sqlite.close())
    await asyncio.sleep(0)
    locked.execute("COMMIT")
    async with asyncio.timeout(60):
        await close
        assert len(await asyncio.gather(*creates)) == 50
    assert locked.execute("SELECT count(*), count(owner) FROM sessions").fetchone() == (50, 0)


async def test_a_cancelled_caller_does_not_stop_the_writer(
    sqlite: SqliteStore, locked: sqlite3.Connection
) -> None:
    task = asyncio.ensure_future(sqlite.create(record("a")))
    await asyncio.sleep(0)
    task.cancel()
    locked.execute("COMMIT")
    async with asyncio.timeout(60):
        await sqlite.create(record("b"))
    assert {found.id for found in (await sqlite.list()).sessions} == {"a", "b"}


async def test_waiting_operations_share_a_commit(sqlite: SqliteStore, locked: sqlite3.Connection) -> None:
    writer: Any = sqlite._writer
    before = writer.commits
    creates = [asyncio.ensure_future(sqlite.create(record(f"s{n}"))) for n in range(200)]
    await asyncio.sleep(0)
    locked.execute("COMMIT")
    await asyncio.gather(*creates)
    # the first may have been alone when the writer began to wait
    assert writer.commits - before <= 2


async def test_a_commit_has_a_bounded_size(sqlite: SqliteStore) -> None:
    leases = await asyncio.gather(*(sqlite.create(record(f"s{n}")) for n in range(8)))
    writer: Any = sqlite._writer
    before = writer.commits
    small: list[tuple[EventKind, bytes]] = [("update", b"x")] * 300
    await asyncio.gather(*(sqlite.append(lease, 0, small) for lease in leases))
    assert writer.commits - before == 8  # two would be more than 512 events
    await asyncio.gather(*(sqlite.append(lease, 300, [("update", b"x" * 600_000)]) for lease in leases))
    assert writer.commits - before == 16  # two would be more than 1 MiB


async def test_callers_wait_when_too_much_is_queued(
    sqlite: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "QUEUE_BYTES", 1000)
    leases = await asyncio.gather(*(sqlite.create(record(f"s{n}")) for n in range(20)))
    writer: Any = sqlite._writer
    tasks = [asyncio.ensure_future(sqlite.append(lease, 0, [("update", b"x" * 600)])) for lease in leases]
    await asyncio.sleep(0)
    assert writer._queued <= 1200
    async with asyncio.timeout(60):
        assert await asyncio.gather(*tasks) == [1] * 20


async def test_one_failure_does_not_spoil_its_group(sqlite: SqliteStore, locked: sqlite3.Connection) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM sessions")
        connection.execute("nonsense")

    async def run() -> Sequence[Any]:
        return await asyncio.gather(
            sqlite.create(record("a")),
            sqlite.create(record("a")),
            sqlite._write(broken),
            sqlite.create(record("b")),
            return_exceptions=True,
        )

    group = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    locked.execute("COMMIT")
    first, second, third, fourth = await group
    assert isinstance(second, SessionExists) and isinstance(third, StoreError)
    assert (first.session_id, fourth.session_id) == ("a", "b")
    assert {found.id for found in (await sqlite.list()).sessions} == {"a", "b"}


async def test_a_failing_commit_fails_its_whole_group_and_nothing_else(sqlite: SqliteStore) -> None:
    lease = await sqlite.create(record())
    allowed: Any = await sqlite._write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await sqlite._write(lambda c: c.execute(f"PRAGMA max_page_count = {allowed + 4}").fetchone())
    with pytest.raises(
        StoreError, match=r"the disk is full: .*sessions\.db could not be written.*free some space"
    ):
        await sqlite.append(lease, 0, [("update", b"x" * 100_000)])
    assert (await sqlite.get("a")).last_seq == 0 and await read_all(sqlite) == []
    await sqlite._write(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
    assert await sqlite.append(lease, 0, [("update", b"x" * 100_000)]) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount; the file size limit stands in for it")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


async def test_a_full_disk_is_told_and_the_session_works_again_when_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(300_000))
    store = SqliteStore(small_disk / "s.db")
    await store.open()
    leases = [await store.create(record(name)) for name in "ab"]
    lasts, errors = [0, 0], []
    event = ("update", b"x" * 10_000)
    while not errors:
        results = await asyncio.gather(
            *(store.append(lease, last, [event]) for lease, last in zip(leases, lasts, strict=True)),
            return_exceptions=True,
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        lasts = [
            last if isinstance(new, BaseException) else new for last, new in zip(lasts, results, strict=True)
        ]
    assert all(isinstance(error, StoreError) and "disk is full" in str(error) for error in errors)
    assert [(await store.get(name)).last_seq for name in "ab"] == lasts
    with pytest.raises(StoreError, match="disk is full"):
        for _ in range(100):
            lasts[0] = await store.append(leases[0], lasts[0], [event])
    ballast.unlink()
    assert await store.append(leases[0], lasts[0], [event]) == lasts[0] + 1
    assert len(await read_all(store)) == lasts[0] + 1
    await store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_session_is_busy_while_another_store_has_it(sqlite: SqliteStore, other: SqliteStore) -> None:
    lease = await sqlite.create(record())
    for call in (other.acquire("a"), other.delete("a")):
        with pytest.raises(
            SessionBusy, match="session 'a' is open elsewhere in this process; close it there"
        ):
            await call
    assert (await other.get("a")).id == "a"  # reading is for all
    await other.fork("a", record("b"))
    await sqlite.release(lease)
    taken = await other.acquire("a")
    with pytest.raises(Fenced):
        await sqlite.append(lease, 0, [])
    with pytest.raises(SessionBusy):
        await sqlite.acquire("a")
    assert await other.append(taken, 0, [("update", b"{}")]) == 1


async def test_a_closed_store_holds_nothing(sqlite: SqliteStore, other: SqliteStore) -> None:
    await other.create(record())
    await other.close()
    await sqlite.acquire("a")


async def test_a_writer_whose_lock_is_gone_loses_its_session(sqlite: SqliteStore, other: SqliteStore) -> None:
    """As if its process had died; should it still run, it can write no more."""
    lease = await sqlite.create(record(), [("update", b"1")])
    sqlite._node.leave()
    taken = await other.acquire("a")
    with pytest.raises(Fenced, match="taken by somebody else"):
        await sqlite.append(lease, 1, [("update", b"2")])
    assert await other.append(taken, 1, [("update", b"3")]) == 2
    assert [event.body for event in await read_all(other)] == [b"1", b"3"]


async def test_lock_files_of_the_dead_are_cleared_away(sqlite: SqliteStore) -> None:
    lock = sqlite.path.with_name("sessions.db-node-1-dead")
    lock.touch()
    store = SqliteStore(sqlite.path)
    await store.open()
    assert not lock.exists()
    assert sqlite._node._file(sqlite._node.id).exists()
    await store.close()


async def test_many_stores_can_open_one_new_file_at_once(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / "s.db") for _ in range(8)]
    async with asyncio.timeout(20):
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.create(record(f"s{n}")) for n, store in enumerate(stores)))
    assert len((await stores[0].list()).sessions) == 8
    await asyncio.gather(*(store.close() for store in stores))
    assert os.listdir(tmp_path) == ["s.db"]


async def test_a_database_that_stays_locked_is_told(
    sqlite: SqliteStore, locked: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LOCK_PATIENCE", 0.05)
    with pytest.raises(StoreError, match=r"another process keeps .*sessions\.db locked"):
        await sqlite.create(record())
    locked.execute("COMMIT")
    await sqlite.create(record())


async def test_closing_while_opening_leaves_nothing_open(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStore(tmp_path / "s.db")
    opening = asyncio.ensure_future(store.open())
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        await opening
    assert set(threading.enumerate()) == before
    assert os.listdir(tmp_path) == ["s.db"]


async def test_a_long_read_does_not_delay_writes(sqlite: SqliteStore) -> None:
    lease = await sqlite.create(record())
    entered, leave = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sessions").fetchone()
        entered.set()
        assert leave.wait(10)
        connection.execute("COMMIT")

    reading = asyncio.ensure_future(sqlite._read(slow))
    async with asyncio.timeout(60):
        await asyncio.to_thread(entered.wait)
        for last in range(20):
            await sqlite.append(lease, last, [("update", b"{}")])
        assert not reading.done()
    leave.set()
    await reading
    assert len(await read_all(sqlite)) == 20


async def test_a_read_beside_a_writer_sees_a_prefix(sqlite: SqliteStore) -> None:
    lease = await sqlite.create(record())
    stop = asyncio.Event()

    async def write() -> None:
        last = 0
        while not stop.is_set():
            last = await sqlite.append(lease, last, [("update", b"%d" % (last + n)) for n in range(1, 101)])

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(write())
        for _ in range(20):
            known = (await sqlite.get("a")).last_seq
            events = await read_all(sqlite)
            assert len(events) >= known and len(events) % 100 == 0
            assert all(event.body == b"%d" % seq for seq, event in enumerate(events, 1))
        stop.set()


async def test_a_piece_of_large_events_is_bounded_by_its_bytes(sqlite: SqliteStore) -> None:
    small, large = b"x" * 400_000, b"y" * 3_000_000
    events: list[tuple[EventKind, bytes]] = [("update", body) for body in [*[small] * 5, *[large] * 2]]
    await sqlite.create(record(), events)
    assert [len(piece) async for piece in sqlite.read("a")] == [2, 2, 1, 1, 1]


@pytest.mark.parametrize("cwd", [None, "/x"])
@pytest.mark.parametrize("cursor", [None, encode_cursor("2025-01-01T00:00:00.000000Z", "a")])
async def test_a_page_of_the_list_costs_the_same_however_many_there_are(
    sqlite: SqliteStore, cwd: str | None, cursor: str | None
) -> None:
    query, values = sqlite_module._list_query("", cwd, cursor, 50)
    with closing(sqlite3.connect(sqlite.path)) as connection:
        plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + query, values)]
    index = "sessions_newest" if cwd is None else "sessions_newest_in"
    assert len(plan) == 1 and plan[0].startswith(f"SEARCH sessions USING INDEX {index} (principal=?")
    assert ("updated_at" in plan[0]) == (cursor is not None)


async def test_a_file_of_a_newer_version_is_left_alone(sqlite: SqliteStore) -> None:
    await sqlite.close()
    with closing(sqlite3.connect(sqlite.path)) as connection:
        connection.execute("UPDATE meta SET version = 99")
        connection.commit()
    before = sqlite.path.read_bytes()
    with pytest.raises(StoreError, match=r"sessions\.db was written by a newer acpella .*99.*upgrade"):
        await SqliteStore(sqlite.path).open()
    assert sqlite.path.read_bytes() == before
    assert os.listdir(sqlite.path.parent) == ["sessions.db"]


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("Dear diary, " * 500, encoding="utf-8")
    with pytest.raises(StoreError, match=r"notes\.db is not a session database"):
        await SqliteStore(path).open()
    assert path.read_text(encoding="utf-8").startswith("Dear diary")


async def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cookies.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cookies (name)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"cookies\.db is the database of another program"):
        await SqliteStore(path).open()
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", ["", "file/s.db"])
async def test_a_path_that_cannot_be_a_file_is_named(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=str(tmp_path)):
        await SqliteStore(tmp_path / path).open()


async def test_a_store_that_failed_to_open_can_be_closed(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreError):
        await store.open()
    async with asyncio.timeout(60):
        await store.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


async def test_the_events_of_a_refused_append_are_not_kept(tmp_path: Path) -> None:
    """The error had a traceback, that the frames, and those the job with the events: a cycle."""
    store = SqliteStore(tmp_path / "s.db")
    await store.open()
    lease = await store.create(record())
    with nothing_large_kept():
        for _ in range(6):
            with pytest.raises(Fenced):
                await store.append(lease, 7, [("update", b'"' + b"x" * LARGE + b'"')])
        await store.get("a")
    await store.close()

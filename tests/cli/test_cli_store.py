"""`acpella store`: between SQLite and PostgreSQL and back, interrupted, and with damaged ones."""

import asyncio
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell
from terminal import Terminal

from acpella.sessions import PostgresStore, SessionRecord, SqliteStore
from postgres import PostgresServer

PRINCIPALS = ("", "alice", "bob")


@pytest.fixture
def file(shell: Shell) -> Path:
    """A store of 60 sessions of three people."""
    path = shell.repo / "sessions.db"

    async def fill(store: Any) -> None:
        for n in range(60):
            record = SessionRecord(
                id=f"s{n:02}",
                cwd=f"/{n % 4}",
                principal=PRINCIPALS[n % 3],
                title=f"Session {n} 🎉",
                created_at="2026-01-02T03:04:05.000001Z",
                updated_at=f"2026-01-02T03:{n:02}:05Z",
                state={"n": n},
                settings={"mode": "ask"},
            )
            await store.create(record, [("update", b"%d.%d \xff" % (n, i)) for i in range(n * 20)])

    use(SqliteStore(path), fill)
    return path


@pytest.fixture
def address(shell: Shell, postgres_server: PostgresServer, schema: str) -> str:
    """A database that the shell's ACPELLA_STORE names."""
    shell.env["ACPELLA_STORE"] = f"{postgres_server.dsn()}&schema={schema}"
    return shell.env["ACPELLA_STORE"]


def use(store: Any, call: Callable[[Any], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        await store.open()
        try:
            return await call(store)
        finally:
            await store.close()

    return asyncio.run(run())


async def contents(store: Any) -> dict[str, Any]:
    return {
        record.id: (
            record,
            [
                tuple(event)
                async for piece in store.read(record.id, principal=record.principal)
                for event in piece
            ],
        )
        async for record in store.every()
    }


def test_a_store_goes_to_postgresql_and_back_unchanged(shell: Shell, file: Path, address: str) -> None:
    done = shell("store", "copy", str(file), "env:ACPELLA_STORE")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "60 sessions copied; 35,400 events read back and compared\n"
    assert use(PostgresStore(address), contents) == use(SqliteStore(file), contents)
    done = shell("store", "copy", "env:ACPELLA_STORE", "back.db")
    assert done.returncode == 0
    assert use(SqliteStore(shell.repo / "back.db"), contents) == use(SqliteStore(file), contents)
    done = shell("store", "check")
    assert (done.returncode, done.stdout) == (0, "60 sessions, 35,400 events: all whole\n")


def test_a_copy_that_was_killed_goes_on_from_there(shell: Shell, file: Path, address: str) -> None:
    async def count(store: PostgresStore) -> int:
        return (await store.size())[0]

    def some(least: int) -> bool:
        return use(PostgresStore(address), count) >= least

    process = shell.start("store", "copy", str(file), "env:ACPELLA_STORE")
    shell.until(lambda: some(3), "three sessions in the target")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = shell("store", "copy", str(file), "env:ACPELLA_STORE")
    assert done.returncode == 0 and "were there; 35,400 events read back" in done.stdout, done
    assert use(PostgresStore(address), contents) == use(SqliteStore(file), contents)


def test_sessions_that_have_grown_are_copied_anew_and_others_are_left_alone(shell: Shell, file: Path) -> None:
    assert shell("store", "copy", str(file), "to.db").returncode == 0

    async def grow(store: SqliteStore) -> None:
        lease = await store.acquire("s03")
        await store.append(lease, 60, [("turn", b"{}")])

    async def diverge(store: SqliteStore) -> None:
        lease = await store.acquire("s06")
        await store.append(lease, 120, [("turn", b"theirs")])

    use(SqliteStore(file), grow)
    use(SqliteStore(shell.repo / "to.db"), diverge)
    done = shell("store", "copy", str(file), "to.db")
    assert done.returncode == 6
    assert done.stdout.startswith(
        "0 sessions copied, 1 had grown and were copied anew, 58 were there, 1 were"
    )
    assert "s06: the target has a session of this id that is newer" in done.stderr
    there = use(SqliteStore(shell.repo / "to.db"), contents)
    assert there["s03"][0].last_seq == 61 and there["s06"][1][-1][2] == b"theirs"


def test_the_tables_are_made_and_brought_up_to_date(
    shell: Shell, address: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acpella.sessions import _postgres_schema as tables

    async def nothing(store: Any) -> None:
        pass

    with monkeypatch.context() as patch:
        patch.setattr(tables, "VERSION", 1)
        use(PostgresStore(address), nothing)
    done = shell("store", "migrate")
    assert (done.returncode, done.stdout) == (0, f"layout 1 was brought up to date: now {tables.VERSION}\n")
    done = shell("store", "migrate", "env:ACPELLA_STORE")
    assert (done.returncode, done.stdout) == (0, f"layout {tables.VERSION}: up to date\n")
    shell.env["ACPELLA_STORE"] += "_new"
    assert shell("store", "migrate").stdout == f"the tables were made: layout {tables.VERSION}\n"


def test_a_log_with_a_hole_is_found(shell: Shell, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "DELETE FROM events WHERE seq = 7 AND sid = (SELECT k FROM sessions WHERE id = 's10')"
        )
        connection.execute(
            "DELETE FROM events WHERE seq > 5 AND sid = (SELECT k FROM sessions WHERE id = 's20')"
        )
    done = shell("store", "check", str(file))
    assert done.returncode == 8
    assert done.stdout == "60 sessions, 35,400 events: 2 are damaged\n"
    assert "s10: event 8 follows on 6" in done.stderr and "s20: the log" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "missing.db"), "there is no file missing.db"),
        (("check", "."), "is a directory; name the file of one agent"),
        (("check",), "the environment variable ACPELLA_STORE names no store"),
        (("copy", "a.db", "a.db"), "cannot be copied to itself"),
        (("copy", "missing.db", "b.db"), "there is no file missing.db"),
        (("migrate", "postgresql://me:hunter2@127.0.0.1:1/x"), "database x on 127.0.0.1:1 cannot be reached"),
        (("migrate", "postgresql://me:hunter2/1@db/x"), "the PostgreSQL address cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_without_secrets(
    shell: Shell, words: tuple[str, ...], message: str
) -> None:
    done = shell("store", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and "Traceback" not in done.stderr and "hunter2" not in done.stderr
    assert not (shell.repo / "b.db").exists()


def test_a_terminal_shows_a_bar(shell: Shell, file: Path) -> None:
    words = [sys.executable, "-m", "acpella", "store", "copy", str(file), "to.db"]
    with Terminal(words, cwd=shell.repo, **shell.env) as terminal:
        terminal.see("60 sessions copied;")
        assert "█" * 30 + " copied 60 of 60 sessions" in terminal.text()

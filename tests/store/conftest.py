"""Every kind of store, opened, and a second process to share one with."""

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from acpella.sessions import MemoryStore, PostgresStore, SqliteStore, Store
from postgres import PostgresServer, running_server

CHILD = Path(__file__).with_name("child.py")

Spawn = Callable[..., AbstractAsyncContextManager[asyncio.subprocess.Process]]


_schemas = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of this process that need no more than a schema of their own."""
    with running_server() as server:
        yield server


@pytest.fixture
def schema() -> str:
    """A name that no other test has."""
    return f"test_{os.getpid()}_{next(_schemas)}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes a store that is not open yet."""
    if request.param == "memory":
        return MemoryStore
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "sessions.db")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    schema: str = request.getfixturevalue("schema")
    return lambda: PostgresStore(server.dsn(), schema=schema)


@pytest.fixture
async def store(new_store: Callable[[], Store]) -> AsyncIterator[Store]:
    store = new_store()
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "sessions.db")
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def spawn() -> Spawn:
    """Runs `child.py` with arguments; kills it at the end if it still runs."""

    @asynccontextmanager
    async def spawn(*args: object) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(CHILD),
            *map(str, args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()

    return spawn

"""Every kind of store, opened, and a second process to share one with."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from acpella.sessions import MemoryStore, PostgresStore, SqliteStore, Store
from postgres import PostgresServer

CHILD = Path(__file__).with_name("child.py")

Spawn = Callable[..., AbstractAsyncContextManager[asyncio.subprocess.Process]]
NewNode = Callable[..., PostgresStore]


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


@pytest.fixture
async def sql(postgres_server: PostgresServer, schema: str) -> AsyncIterator[Any]:
    """A connection of the test's own, in the test's schema."""
    connection: Any = await asyncpg.connect(
        postgres_server.dsn(), server_settings={"search_path": schema, "client_min_messages": "error"}
    )
    yield connection
    await connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    await connection.close()


@pytest.fixture
def new_node(postgres_server: PostgresServer, schema: str) -> NewNode:
    """Makes a store on the test's schema that is not open yet."""

    def new(node_name: str | None = None, *, seconds: float = 30.0, **more: Any) -> PostgresStore:
        return PostgresStore(
            postgres_server.dsn(), schema=schema, node_name=node_name, lease_seconds=seconds, **more
        )

    return new


@pytest.fixture
async def one(new_node: NewNode) -> AsyncIterator[PostgresStore]:
    store = new_node("one")
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def two(one: PostgresStore, new_node: NewNode) -> AsyncIterator[PostgresStore]:
    """A second node, opened after the first."""
    store = new_node("two")
    await store.open()
    yield store
    await store.close()

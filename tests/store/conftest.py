"""Every kind of store, opened, and a second process to share one with."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from acpella.sessions import MemoryStore, SqliteStore, Store

CHILD = Path(__file__).with_name("child.py")

Spawn = Callable[..., AbstractAsyncContextManager[asyncio.subprocess.Process]]


@pytest.fixture(params=["memory", "sqlite"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes a store that is not open yet."""
    if request.param == "memory":
        return MemoryStore
    return lambda: SqliteStore(tmp_path / "sessions.db")


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

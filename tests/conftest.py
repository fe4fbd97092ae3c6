"""What all tests share."""

import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from postgres import PostgresServer, running_server

pytest_plugins = ("leftovers", "skips", "hang_watch")

settings.register_profile("acpella", deadline=None)  # a busy machine is no failure
settings.load_profile("acpella")


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


@pytest.fixture
def anyio_backend() -> str:
    """acpella is written for asyncio."""
    return "asyncio"

"""What all tests share."""

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from postgres import PostgresServer, running_server

pytest_plugins = ("failures", "leftovers", "skips", "hang_watch")

# Tests start thousands of programs: none of them should compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("acpella", deadline=None)  # a busy machine is no failure
settings.load_profile("acpella")


_schemas = itertools.count(1)

HERE = Path(__file__).parent

SLOW = (
    "agent/test_durability.py",
    "check",
    "docs",
    "cluster",
    "web",
    "store",
    "inspector",
    "testing",
    "interop",
)
"""Slow tests come first, so that no worker is left alone with a long file at the end of a run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order whole files; tests of a file stay together.

    Slow folders take turns, so that not every worker drives a browser, or a database, at the same time.
    """
    ranks: dict[Path, tuple[int, int]] = {}
    turns = [0] * (len(SLOW) + 1)
    for path in dict.fromkeys(item.path for item in items):
        name = path.relative_to(HERE).as_posix()
        folder = next((place for place, slow in enumerate(SLOW) if name.startswith(slow)), len(SLOW))
        ranks[path] = (len(items) if folder == len(SLOW) else turns[folder], folder)
        turns[folder] += 1
    items.sort(key=lambda item: ranks[item.path])


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

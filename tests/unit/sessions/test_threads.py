"""What holds for the whole interpreter is for programs to decide."""

import sys
from pathlib import Path

import pytest

from acpella.sessions import SqliteStore, quick_thread_switches

pytestmark = pytest.mark.anyio


async def test_a_store_leaves_the_interpreter_alone(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    store = SqliteStore(tmp_path / "sessions.db")
    await store.open()
    try:
        assert sys.getswitchinterval() == before
    finally:
        await store.close()
    assert sys.getswitchinterval() == before


def test_a_program_switches_more_often_for_a_while() -> None:
    before = sys.getswitchinterval()
    with pytest.raises(KeyError), quick_thread_switches():
        assert sys.getswitchinterval() < before
        raise KeyError
    assert sys.getswitchinterval() == before


def test_a_program_that_switches_even_more_often_stays_so() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)
    try:
        with quick_thread_switches():
            assert sys.getswitchinterval() < 0.0002
    finally:
        sys.setswitchinterval(before)

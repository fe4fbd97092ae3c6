"""One at a time for each name."""

import asyncio

import pytest

from acpella.server.cluster.named_locks import NamedLocks

pytestmark = pytest.mark.anyio


async def test_who_comes_while_the_next_one_wakes_up_waits_too() -> None:
    locks = NamedLocks()
    inside = most = 0

    async def enter(rounds: int) -> None:
        nonlocal inside, most
        async with locks.held("a"):
            inside += 1
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1
        if rounds:  # at once, before whoever waits has run
            await enter(rounds - 1)

    await asyncio.gather(*(enter(5) for _ in range(4)))
    assert most == 1
    assert len(locks) == 0


async def test_names_do_not_wait_for_each_other() -> None:
    locks = NamedLocks()
    async with asyncio.timeout(60), locks.held("a"), locks.held("b"):
        assert len(locks) == 2
    assert len(locks) == 0


async def test_who_fails_or_gives_up_leaves_nothing() -> None:
    locks = NamedLocks()
    with pytest.raises(ValueError):
        async with locks.held("a"):
            waiting = asyncio.create_task(locks.held("a").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            raise ValueError
    assert len(locks) == 0

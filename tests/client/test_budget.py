"""How much is served at once."""

import asyncio

import pytest

from acpella.client.budget import Budget

pytestmark = pytest.mark.anyio


async def test_requests_wait_for_room_in_their_order() -> None:
    budget = Budget(requests=2, size=10)
    began: list[str] = []

    async def hold(name: str, size: int, until: asyncio.Event) -> None:
        async with budget.share(size):
            began.append(name)
            if name == "c":
                third.set()
            await until.wait()

    first, others, third = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(hold("a", 8, first))
        tasks.create_task(hold("b", 5, others))
        tasks.create_task(hold("c", 1, others))
        tasks.create_task(hold("d", 99, others))  # more than there is: alone
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert began == ["a"]
        first.set()
        await third.wait()
        assert began == ["a", "b", "c"]
        others.set()
    assert began == ["a", "b", "c", "d"]


async def test_one_that_gives_up_leaves_its_room_to_the_next() -> None:
    budget = Budget(requests=1, size=10)
    async with asyncio.timeout(60), budget.share(10) as share:
        waiting = [asyncio.ensure_future(budget.take(3)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        share.shrink(2)
    await asyncio.sleep(0)
    assert waiting[1].done() and not waiting[2].done()
    waiting[2].cancel()
    budget.give_back(3)
    await budget.take(10)

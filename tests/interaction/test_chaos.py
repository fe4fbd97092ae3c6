"""Two sides do everything at once, in random order: every call ends, nothing is left over."""

import asyncio
import random
from typing import Any

import pytest

from acpella.errors import RpcError
from acpella.rpc import Connection, Limits
from interaction.ends import Connect, Side

pytestmark = pytest.mark.anyio

LIMITS = Limits(queue_low=2000, queue_high=10**7, write_high=2000, max_requests=50, close_grace=1)


class Chaos:
    """Handlers and callers of one side that behave as the dice say."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.connection: Connection
        self.told: list[int] = []
        self.side = Side({"do": self.do}, {"tell": self.tell})

    async def tell(self, params: list[Any]) -> None:
        self.told.append(params[0])
        if self.dice.random() < 0.2:
            await asyncio.sleep(0)
        if self.dice.random() < 0.1:
            raise ValueError("a handler fails")
        if self.dice.random() < 0.1:
            await self.call(1)

    async def do(self, depth: int) -> Any:
        roll = self.dice.random()
        if roll < 0.1:
            raise RpcError("no", code=7)
        if roll < 0.15:
            raise ValueError("a handler fails")
        if roll < 0.2:
            return object()
        if roll < 0.5 and depth:
            await self.call(depth - 1)
        for _ in range(self.dice.randrange(4)):
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                if self.dice.random() < 0.5:
                    raise
        return "x" * self.dice.choice([0, 10, 5000])

    async def call(self, depth: int) -> None:
        """A call that may be cut short in any way."""
        roll = self.dice.random()
        call = asyncio.create_task(
            self.connection.call(
                "do", depth, timeout=0.001 if roll < 0.1 else None, in_order=0.1 < roll < 0.15 and depth > 1
            )
        )
        try:
            if roll > 0.8:
                for _ in range(self.dice.randrange(6)):
                    await asyncio.sleep(0)
                call.cancel()
            await call
        except (RpcError, TimeoutError):
            pass
        except asyncio.CancelledError:
            if not call.cancelled():
                call.cancel()
                raise

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(150):
                await self.connection.notify("tell", [n, "x" * self.dice.choice([0, 500])])
                group.create_task(self.call(2))
                if self.dice.random() < 0.3:
                    await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(4))
async def test_every_call_ends_and_nothing_is_left(connect: Connect, seed: int) -> None:
    dice = random.Random(seed)
    one, other = Chaos(dice), Chaos(dice)
    async with connect(one.side, other.side, limits=LIMITS) as (here, there):
        one.connection, other.connection = here, there
        await asyncio.gather(one.run(), other.run())
        await asyncio.gather(here.call("do", 0), there.call("do", 0), return_exceptions=True)
    for chaos in (one, other):
        assert chaos.told == list(range(150))
        assert _left_open(chaos.connection) == {}


def _left_open(connection: Connection) -> dict[str, object]:
    """What a connection still counts or keeps, by name."""
    inbox, requests = connection._inbox, connection._requests
    kept = {
        "calls": connection._calls,
        "calls that are awaited": connection._awaited,
        "calls of handlers": connection._stuck_handlers,
        "requests": requests.running,
        "requests by id": requests._by_id,
        "bytes of large requests": requests._large_bytes,
        "inbox": inbox._queue,
        "bytes in the inbox": inbox.size,
        "requests in the inbox": inbox._requests,
    }
    return {name: value for name, value in kept.items() if value}

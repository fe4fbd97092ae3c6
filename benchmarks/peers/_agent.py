"""What every Python agent of the benchmarks does for a prompt, without an SDK.

The first text block of a prompt is the order: "stream 100000", "yield 30000", "roundtrip 3000",
"image 10000000", "ping". What the agent measured goes back in the `_meta` of its answer.
Imports are few, because they count in the start.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import NamedTuple

FILE_PATH = "/workspace/settings.toml"


class Client(NamedTuple):
    """What a turn asks of the SDK; each call is one message."""

    send_text: Callable[[str], Awaitable[object]]
    send_image: Callable[[str], Awaitable[object]]
    read_file: Callable[[str], Awaitable[str]]


async def perform(order: str, client: Client) -> dict[str, float]:
    """Do what the prompt says; gives the answer's `_meta`: CPU of this process and what the turn measured."""
    word, _, number = order.partition(" ")
    cpu = time.process_time()
    measured = await TURNS[word](client, int(number or 0))
    return {"cpu": time.process_time() - cpu, **measured}


async def _stream(client: Client, count: int) -> dict[str, float]:
    send = client.send_text
    for number in range(count):
        await send(f"token {number} ")
    return {}


async def _yielding(client: Client, count: int) -> dict[str, float]:
    send = client.send_text
    for number in range(count):
        await send(f"token {number} ")
        await asyncio.sleep(0)
    return {}


async def _roundtrip(client: Client, count: int) -> dict[str, float]:
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        await client.read_file(FILE_PATH)
        times.append(time.perf_counter() - start)
    return {"p50": sorted(times)[count // 2], "mean": sum(times) / count}


async def _image(client: Client, size: int) -> dict[str, float]:
    await client.send_image(image(size))
    return {}


async def _ping(client: Client, _number: int) -> dict[str, float]:
    return {}


TURNS = {"stream": _stream, "yield": _yielding, "roundtrip": _roundtrip, "image": _image, "ping": _ping}


@cache
def image(size: int) -> str:
    """So many characters that look like base64."""
    return ("iVBORw0KGgo+/AAA" * (size // 16 + 1))[:size]

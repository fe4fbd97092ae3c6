"""What every Python client of the benchmarks measures, without an SDK.

A client program is called with a case, its size and the agent's command, and prints one JSON line:
`client_acpella.py stream 100000 python agent_acpella.py`.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from statistics import mean, median
from typing import Any, Protocol

from _agent import image

IMAGES = 5
"""Images sent each way in one run; the median counts, so that the page faults of the first do not decide."""

FILE_TEXT = "name = 'acpella'\n" * 10

Measured = dict[str, float]


class Tally:
    """Counts what arrived, from values that only a typed update has."""

    def __init__(self) -> None:
        self.updates: defaultdict[str, int] = defaultdict(int)
        self.characters = 0

    def check(self, session_id: str, updates: int) -> None:
        """Fail unless the session got exactly so many updates since the last check."""
        got = self.updates.pop(session_id, 0)
        if got != updates:
            raise RuntimeError(f"session {session_id} got {got} updates instead of {updates}")


class Driver(Protocol):
    """An SDK's connection to an agent that has answered `initialize`."""

    tally: Tally

    async def open_session(self) -> str: ...

    async def prompt(self, session_id: str, text: str, data: str | None = None) -> Mapping[str, Any]:
        """Send the text and maybe an image; the `_meta` of the answer, after all updates were handled."""
        ...


Connect = Callable[[list[str]], AbstractAsyncContextManager[Driver]]


def main(connect: Connect) -> None:
    """Measure what the command line asks for, through the SDK's `connect`."""
    case, size, *command = sys.argv[1:]
    measured = asyncio.run(_measure(connect, case, size, command))
    sys.stdout.write(json.dumps(measured) + "\n")


async def _measure(connect: Connect, case: str, size: str, command: list[str]) -> Measured:
    async with connect(command) as driver:
        return await CASES[case](driver, size)


async def _stream(driver: Driver, size: str, *, word: str = "stream") -> Measured:
    count = int(size)
    session_id = await driver.open_session()
    characters = driver.tally.characters
    cpu, start = time.process_time(), time.perf_counter()
    meta = await driver.prompt(session_id, f"{word} {count}")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    driver.tally.check(session_id, count)
    if driver.tally.characters - characters != sum(len(f"token {number} ") for number in range(count)):
        raise RuntimeError("the text of the updates is not what was sent")
    return {
        "seconds": seconds,
        "updates_per_second": count / seconds,
        "client_cpu_us": cpu / count * 1e6,
        "agent_cpu_us": meta["cpu"] / count * 1e6,
    }


async def _yielding(driver: Driver, size: str) -> Measured:
    return await _stream(driver, size, word="yield")


async def _roundtrip(driver: Driver, size: str) -> Measured:
    session_id = await driver.open_session()
    cpu = time.process_time()
    meta = await driver.prompt(session_id, f"roundtrip {size}")
    cpu = time.process_time() - cpu
    return {
        "p50_us": meta["p50"] * 1e6,
        "mean_us": meta["mean"] * 1e6,
        "client_cpu_us": cpu / int(size) * 1e6,
        "agent_cpu_us": meta["cpu"] / int(size) * 1e6,
    }


async def _image(driver: Driver, size: str) -> Measured:
    session_id = await driver.open_session()
    data = image(int(size))
    to_agent = [await _timed(driver.prompt(session_id, "ping", data)) for _ in range(IMAGES)]
    characters = driver.tally.characters
    to_client = [await _timed(driver.prompt(session_id, f"image {size}")) for _ in range(IMAGES)]
    driver.tally.check(session_id, IMAGES)
    if driver.tally.characters - characters != IMAGES * len(data):
        raise RuntimeError("an image arrived shortened")
    return {"to_agent_ms": median(to_agent) * 1e3, "to_client_ms": median(to_client) * 1e3}


async def _fairness(driver: Driver, size: str) -> Measured:
    sessions, updates = map(int, size.split("x"))
    alone = await _stream(driver, str(sessions * updates))
    session_ids = [await driver.open_session() for _ in range(sessions)]
    start = time.perf_counter()
    ends = await asyncio.gather(*(_ended(driver, session_id, updates) for session_id in session_ids))
    times = [end - start for end in ends]
    return {
        "seconds": max(times),
        "updates_per_second": sessions * updates / max(times),
        "one_session_seconds": alone["seconds"],
        "to_one_session": max(times) / alone["seconds"],
        "slowest_to_mean": max(times) / mean(times),
    }


async def _ended(driver: Driver, session_id: str, updates: int) -> float:
    await driver.prompt(session_id, f"stream {updates}")
    end = time.perf_counter()
    driver.tally.check(session_id, updates)
    return end


async def _timed(answer: Awaitable[object]) -> float:
    start = time.perf_counter()
    await answer
    return time.perf_counter() - start


CASES: dict[str, Callable[[Driver, str], Awaitable[Measured]]] = {
    "stream": _stream,
    "yield": _yielding,
    "roundtrip": _roundtrip,
    "image": _image,
    "fairness": _fairness,
}

"""What the client SDK costs: updates through `connect()` and iteration, against the protocol core.

    python benchmarks/clients.py [--repeat N] [--updates N]

One JSON line a way of reading on standard output. The agent is the core's, a real process; the ways take
turns. Rates are of wall time; `cpu_of_core` compares the CPU time of this process alone, which other work
on the machine disturbs less.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from acpella.client import connect
from acpella.rpc import Connection
from acpella.schema import (
    AgentMessageChunk,
    ContentBlock,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    TextContent,
    methods,
)
from acpella.transport import ProcessChannel

AGENT = [sys.executable, str(Path(__file__).parent / "peers" / "agent_acpella.py")]

Measured = tuple[float, float]
"""Seconds and CPU seconds."""


class Counter:
    """Counts updates and their characters, as a consumer of the core does."""

    def __init__(self) -> None:
        self.updates = 0
        self.characters = 0

    def take(self, update: Any) -> None:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            self.updates += 1
            self.characters += len(update.content.text)


async def through_core(updates: int) -> Measured:
    """A notification handler on the bare connection."""
    counter = Counter()
    connection = Connection(
        ProcessChannel(AGENT),
        methods.CLIENT,
        notifications={"session/update": lambda params: counter.take(params.update)},
    )
    async with connection:
        await connection.call(methods.INITIALIZE, InitializeRequest(protocol_version=1))
        request = NewSessionRequest(cwd="/workspace", mcp_servers=[])
        session_id = (await connection.call(methods.NEW_SESSION, request)).session_id

        async def prompt(count: int) -> None:
            words: list[ContentBlock] = [TextContent(text=f"stream {count}")]
            await connection.call(
                methods.PROMPT, PromptRequest(session_id=session_id, prompt=words), in_order=True
            )

        await prompt(1000)
        return await _timed(lambda: prompt(updates), counter, updates)


async def through_iteration(updates: int) -> Measured:
    """`async for update in session.prompt(...)`."""
    counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        async with connect(AGENT) as agent:
            session = await agent.new_session(folder)

            async def prompt(count: int) -> None:
                async for update in session.prompt(f"stream {count}"):
                    counter.take(update)

            await prompt(1000)
            return await _timed(lambda: prompt(updates), counter, updates)


async def through_await(updates: int) -> Measured:
    """`await session.prompt(...)`, where only the result counts."""
    counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        async with connect(AGENT) as agent:
            session = await agent.new_session(folder)

            async def prompt(count: int) -> None:
                result = await session.prompt(f"stream {count}")
                counter.updates += count
                counter.characters += len(result.text)

            await prompt(1000)
            return await _timed(lambda: prompt(updates), counter, updates)


async def _timed(work: Callable[[], Awaitable[None]], counter: Counter, updates: int) -> Measured:
    counter.updates = counter.characters = 0
    start, cpu = time.perf_counter(), time.process_time()
    await work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if counter.updates != updates or counter.characters != sum(len(f"token {n} ") for n in range(updates)):
        raise RuntimeError("the updates are not what was sent")
    return seconds, cpu


WAYS: dict[str, Callable[[int], Awaitable[Measured]]] = {
    "core": through_core,
    "iterate": through_iteration,
    "await": through_await,
}


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--updates", type=int, default=100_000)
    arguments = parser.parse_args()
    found: dict[str, list[Measured]] = {name: [] for name in WAYS}
    for _ in range(arguments.repeat):
        for name, way in WAYS.items():  # in turns, so that a noisy moment hits all alike
            found[name].append(await way(arguments.updates))
    core_wall, core_cpu = (statistics.median(column) for column in zip(*found["core"], strict=True))
    for name, runs in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        line = {
            "case": "client stream",
            "through": name,
            "updates_per_second": round(arguments.updates / wall),
            "of_core": round(core_wall / wall, 3),
            "cpu_us": round(cpu / arguments.updates * 1e6, 2),
            "cpu_of_core": round(core_cpu / cpu, 3),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

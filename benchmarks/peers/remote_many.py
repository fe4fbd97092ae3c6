"""Many clients at once on acpella: `remote_many.py URL CONNECTIONS UPDATES`.

Prints a line when all are connected with a session each, waits for a line on stdin, lets all stream, prints
one JSON line.
"""

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from statistics import median

import acpella
from acpella.client import ClientSession


async def main(url: str, connections: int, updates: int) -> None:
    errors = 0
    async with AsyncExitStack() as stack:
        sessions: list[ClientSession] = []
        for _ in range(connections):
            agent = await stack.enter_async_context(acpella.connect(url, reconnect=False))
            sessions.append(await agent.new_session("/tmp"))
        print("connected", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        start = time.perf_counter()

        async def stream(session: ClientSession) -> float:
            nonlocal errors
            result = await session.prompt(f"stream {updates}")
            if len(result.text) != updates * len("update 00000000 of a stream of text"):
                errors += 1
            return time.perf_counter() - start

        outcomes = await asyncio.gather(*map(stream, sessions), return_exceptions=True)
        finished = [one for one in outcomes if isinstance(one, float)]
        errors += len(outcomes) - len(finished)
        total = time.perf_counter() - start
        report = {
            "connections": connections,
            "errors": errors,
            "updates_per_second": connections * updates / total,
            "median_finish": median(finished),
            "max_finish": max(finished),
            "max_over_median": max(finished) / median(finished),
        }
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

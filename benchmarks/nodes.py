"""Nodes on PostgreSQL: how late clients of another node have an update, how soon a dead one is replaced.

    python benchmarks/nodes.py [--updates N] [--kills N] [--lease SECONDS]

`delay`: an agent says the time, every 20 ms; a client reads the stream at the node that runs the agent, then
at another one. Promised: half of the time at most twice the first, and one round trip to the database.
`takeover`: a node is killed with -9 while its agent streams; the time until another node has closed the turn
and told the client. Promised: half of the time at most the lease and 2 seconds. One JSON line a case.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import asyncpg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cluster"))

from cluster_clients import Plain, plain
from cluster_nodes import TTL, Cluster, Node, running

from postgres import running_server

NEW = {"cwd": "/", "mcpServers": []}


async def new_session(client: Plain, node: Node) -> str:
    assert await client.post(node, "session/new", NEW, number=1, key=1) == 202
    events = await client.events(node, until='"id":1')
    return events[-1][1]["result"]["sessionId"]


def prompt(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


async def delays(home: Node, reader: Node, updates: int) -> list[float]:
    """Milliseconds from the agent to a client that reads there, each."""
    found: list[float] = []
    async with plain(home) as client:
        session = await new_session(client, home)
        async with client.stream(reader, session=session, after=0) as response:
            text = f"stamp {updates} 0.02"
            assert await client.post(home, "session/prompt", prompt(session, text), number=2, key=2) == 202
            async for line in response.aiter_lines():
                now = time.monotonic_ns()
                found += [(now - int(stamp)) / 1e6 for stamp in re.findall(r"<(\d+)>", line)]
                if "stopReason" in line:
                    return found
    raise AssertionError("the stream ended before the turn")


async def round_trip(dsn: str) -> float:
    """Milliseconds, half of the time."""
    connection: Any = await asyncpg.connect(dsn)
    times: list[float] = []
    for _ in range(500):
        start = time.perf_counter()
        await connection.fetchval("SELECT 1")
        times.append((time.perf_counter() - start) * 1000)
    await connection.close()
    return statistics.median(times)


async def takeover(cluster: Cluster, home: Node, other: Node) -> float:
    """Seconds from the death of a node until the client hears that its turn is interrupted."""
    async with plain(home) as client:
        session = await new_session(client, home)
        text = f"count 100000 0.02 {session}"
        assert await client.post(home, "session/prompt", prompt(session, text), number=2, key=2) == 202
        await client.events(home, session=session, until="<20>")
        await home.kill()
        died = time.monotonic()
        while True:
            try:
                events = await client.events(other, session=session, until='"id":2')
                break
            except (AssertionError, TimeoutError):  # 503 while it is not clear whose it is
                await asyncio.sleep(0.02)
        assert "interrupted" in json.dumps(events[-1][1]), events[-1]
        return time.monotonic() - died


async def measure(updates: int, kills: int, lease: float) -> None:
    with running_server(options=()) as database, tempfile.TemporaryDirectory() as place:
        dsn = f"{database.dsn()}&schema=bench"
        cluster = Cluster(dsn, Path(place), count=2, requests_per_second=0, lease_seconds=lease)
        async with running(cluster):
            first, second = cluster.nodes
            await delays(first, second, 20)  # warms up
            own, other = await delays(first, first, updates), await delays(first, second, updates)
            trip = await round_trip(database.dsn())
            here, there = statistics.median(own), statistics.median(other)
            line = {
                "case": "delay",
                "updates": updates,
                "owner_p50_ms": round(here, 2),
                "other_p50_ms": round(there, 2),
                "owner_p99_ms": round(statistics.quantiles(own, n=100)[-1], 2),
                "other_p99_ms": round(statistics.quantiles(other, n=100)[-1], 2),
                "round_trip_ms": round(trip, 2),
                "limit_ms": round(2 * here + trip, 2),
                "ok": there <= 2 * here + trip,
            }
            print(json.dumps(line), flush=True)
            times: list[float] = []
            for number in range(kills):
                home, rest = (first, second) if number % 2 else (second, first)
                times.append(await takeover(cluster, home, rest))
                await home.start()
            if times:
                line = {
                    "case": "takeover",
                    "kills": kills,
                    "lease_s": lease,
                    "median_s": round(statistics.median(times), 2),
                    "longest_s": round(max(times), 2),
                    "limit_s": lease + 2,
                    "ok": statistics.median(times) <= lease + 2,
                }
                print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--kills", type=int, default=9)
    parser.add_argument("--lease", type=float, default=TTL, help="seconds until others take over from a node")
    given = parser.parse_args()
    asyncio.run(measure(given.updates, given.kills, given.lease))


if __name__ == "__main__":
    main()

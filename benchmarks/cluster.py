"""A cluster under faults: nodes are killed, frozen and restarted, the database too, while clients stream.

    python benchmarks/cluster.py [--minutes N] [--clients N] [--seed N]

Three node processes with a lease of two seconds, behind a load balancer that keeps nobody anywhere. Clients
over WebSocket and HTTP ask for numbered updates, over and over. Each answer must be whole and in order, or
fail as interrupted; each prompt must have begun once. One JSON line at the end, and exit code 1 if anything
was lost, doubled, out of order, or answered with another error.
"""

import argparse
import asyncio
import json
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cluster"))

from cluster_clients import numbers, opened
from cluster_nodes import TTL, Balancer, Cluster, Node, running

import acpella
from postgres import PostgresServer, running_server

CALM = 2 * TTL
"""Seconds between two faults, on average: time for the one before to be healed."""


class Load:
    """What the clients asked, and how it ended."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.gaps: list[float] = []
        """Seconds from an interruption to the next whole answer."""
        self.asked: list[str] = []

    async def run(self, balancer: Balancer, name: str, transport: str, until: float) -> None:
        count = 0
        interrupted_at: float | None = None
        async with opened(balancer, transport) as session:
            while time.monotonic() < until:
                count += 1
                word = f"count 60 0.02 {name}-{count}"
                self.asked.append(word)
                try:
                    text = (await session.prompt(word)).text
                except acpella.RpcError as error:
                    data: Any = error.data
                    if isinstance(data, dict) and data.get("reason") == "interrupted":
                        self.outcomes["interrupted"] += 1
                        interrupted_at = interrupted_at or time.monotonic()
                    else:
                        self.outcomes["error"] += 1
                        self.problems.append(f"{word}: {error}")
                    continue
                if text == numbers(60):
                    self.outcomes["whole"] += 1
                else:
                    self.outcomes["wrong"] += 1
                    self.problems.append(f"{word}: {text[:200]}")
                if interrupted_at is not None:
                    self.gaps.append(time.monotonic() - interrupted_at)
                    interrupted_at = None


async def disturb(
    cluster: Cluster, database: PostgresServer, chance: random.Random, until: float, faults: Counter[str]
) -> None:
    """One fault after the other, until the time is up; then everything runs again."""
    while time.monotonic() < until - 3 * CALM:
        await asyncio.sleep(chance.uniform(0.5 * CALM, 1.5 * CALM))
        node: Node = chance.choice(cluster.nodes)
        fault = chance.choices(["kill", "freeze", "stop", "database"], [10, 2, 2, 1])[0]
        faults[fault] += 1
        if fault == "kill":
            await node.kill()
            await node.start()
        elif fault == "freeze":
            node.send(signal.SIGSTOP)
            await asyncio.sleep(chance.uniform(0.5, 2.5) * TTL)
            node.send(signal.SIGCONT)
        elif fault == "stop":
            node.send(signal.SIGTERM)
            await node.ended()
            await node.start()
        else:
            await asyncio.to_thread(database.kill)
            await asyncio.to_thread(database.start)


async def measure(minutes: float, clients: int, seed: int) -> bool:
    load, faults = Load(), Counter[str]()
    with running_server(options=()) as database, tempfile.TemporaryDirectory() as place:
        cluster = Cluster(f"{database.dsn()}&schema=bench", Path(place), requests_per_second=0)
        async with running(cluster) as balancer:
            until = time.monotonic() + 60 * minutes
            async with asyncio.TaskGroup() as group:
                for number in range(clients):
                    transport = ("ws", "http")[number % 2]
                    group.create_task(load.run(balancer, f"c{number}", transport, until))
                group.create_task(disturb(cluster, database, random.Random(seed), until, faults))
        begun = {word: cluster.started(word) for word in load.asked}
    twice = [word for word, times in begun.items() if times > 1]
    print(
        json.dumps(
            {
                "case": "cluster",
                "minutes": minutes,
                "seed": seed,
                "faults": dict(faults),
                "outcomes": dict(load.outcomes),
                "begun_twice": len(twice),
                "healed_after_s": round(statistics.median(load.gaps), 2) if load.gaps else None,
                "problems": load.problems[:10],
            }
        ),
        flush=True,
    )
    return not load.problems and not twice


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return 0 if asyncio.run(measure(arguments.minutes, arguments.clients, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Durable events a second through `PostgresStore`, against a bare asyncpg loop with the same statement.

    python benchmarks/postgres_store.py [--repeat N] [--seconds S]

Both append one event to each of 1, 50 or 200 sessions, over and over, into a server that flushes to disk. The
bare loop fills the arrays of one batch and awaits the statement: no queue, no callers that wait, no retries.
One JSON line a case on standard output; `ratio` is the median of the pairs.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import asyncpg

from acpella.sessions import PostgresStore, SessionRecord, SqliteStore, Store
from acpella.sessions._postgres_writer import SESSIONS, append_statement

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres import running_server

BODY = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}' % (b"word " * 20)

_names = itertools.count(1)


async def through_store(store: Store, sessions: int, seconds: float) -> float:
    """Events a second when each session has a task that appends one event after the other."""
    leases = [await store.create(SessionRecord(id=f"s{next(_names)}", cwd="/x")) for _ in range(sessions)]
    count = 0
    end = time.perf_counter() + seconds

    async def write(lease: Any) -> None:
        nonlocal count
        last = 0
        while time.perf_counter() < end:
            last = await store.append(lease, last, [("update", BODY)])
            count += 1

    start = time.perf_counter()
    await asyncio.gather(*map(write, leases))
    return count / (time.perf_counter() - start)


async def bare(dsn: str, schema: str, store: PostgresStore, sessions: int, seconds: float) -> float:
    """The same statement in a loop."""
    leases = [await store.create(SessionRecord(id=f"s{next(_names)}", cwd="/x")) for _ in range(sessions)]
    leases.sort()
    connection: Any = await asyncpg.connect(dsn, server_settings={"search_path": schema, "jit": "off"})
    owner = await connection.fetchval("SELECT owner FROM sessions WHERE id = $1", leases[0].session_id)
    query = append_statement(SESSIONS)
    ids, epochs = [lease.session_id for lease in leases], [lease.epoch for lease in leases]
    numbers, ones = list(range(1, sessions + 1)), [1] * sessions
    kinds, bodies = ["update"] * sessions, [BODY] * sessions
    count = last = 0
    start = time.perf_counter()
    end = start + seconds
    while time.perf_counter() < end:
        rows = await connection.fetch(
            query, owner, ids, epochs, [last] * sessions, ones, numbers, [last + 1] * sessions, kinds, bodies
        )
        assert len(rows) == sessions
        last += 1
        count += sessions
    elapsed = time.perf_counter() - start
    await connection.close()
    return count / elapsed


async def measure(dsn: str, folder: Path, repeat: int, seconds: float) -> None:
    store = PostgresStore(dsn)
    sqlite = SqliteStore(folder / "sessions.db")
    await store.open()
    await sqlite.open()
    for sessions in (1, 50, 200):
        ours, theirs, files = [], [], []
        for number in range(repeat + 1):  # the first warms up
            pair = [
                await through_store(store, sessions, seconds),
                await bare(dsn, "acpella", store, sessions, seconds),
                await through_store(sqlite, sessions, seconds),
            ]
            if number:
                for values, value in zip((ours, theirs, files), pair, strict=True):
                    values.append(value)
        line = {
            "case": f"{sessions} sessions",
            "postgres": round(statistics.median(ours)),
            "bare": round(statistics.median(theirs)),
            "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2),
            "sqlite": round(statistics.median(files)),
        }
        print(json.dumps(line), flush=True)
    await store.close()
    await sqlite.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    with running_server(options=()) as server, tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(server.dsn(), Path(folder), arguments.repeat, arguments.seconds))


if __name__ == "__main__":
    main()

"""What the log costs a server: the same stream without a store, and shown only after it was kept.

    python benchmarks/hosting.py [--updates N] [--repeat N]

One JSON line a store; PostgreSQL also as a share of SQLite's rate, with the bytes that it logs for an update.
The server is a process of its own, read by a client without an SDK. What the whole way costs, with a client
and beside the official SDK, is measured by remote.py.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from postgres import running_server

OURS = """
import asyncio, random, sys
import acpella
from acpella.server import serve, ServerSettings
agent = acpella.Agent("bench", store=sys.argv[2] or None)

# as varied as what a model says: a database packs what repeats itself
chance = random.Random(1)
texts = ["".join(chance.choices("etaoinshrdlcumwfgypbvk      ", k=48)) for _ in range(4096)]

@agent.on_prompt
async def reply(turn):
    for number in range(int(turn.text)):
        yield texts[number % 4096]

asyncio.run(serve(agent, port=int(sys.argv[1]), settings=ServerSettings(requests_per_second=0)))
"""


@contextmanager
def server(program: str, *args: str) -> Any:
    """A server process; gives its port and its pid."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "server.py"
        file.write_text(program, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, str(file), str(port), *args], env={**os.environ, "HOME": home}
        )
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port, process.pid
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:  # some keep waiting for streams that nobody reads
                process.kill()
                process.wait()


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request(id: int, method: str, params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def prompt(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


# -- clients ------------------------------------------------------------------------------------------


async def raw_websocket(port: int, updates: int) -> float:
    import websockets

    async with websockets.connect(f"ws://127.0.0.1:{port}/acp", max_size=None, compression=None) as ws:
        await ws.send(request(0, "initialize", {"protocolVersion": 1}))
        await ws.recv()
        await ws.send(request(1, "session/new", {"cwd": "/tmp", "mcpServers": []}))
        session = json.loads(await ws.recv())["result"]["sessionId"]
        started = time.perf_counter()
        await ws.send(request(2, "session/prompt", prompt(session, str(updates))))
        while b'"stopReason"' not in await ws.recv(decode=False):
            pass
        return time.perf_counter() - started


def tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


async def written(dsn: str) -> int:
    """Bytes that a PostgreSQL server has logged so far."""
    connection: Any = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
    finally:
        await connection.close()


def log_first(updates: int, repeat: int) -> None:
    """The same stream without a store, and shown after it is in a store."""
    with tempfile.TemporaryDirectory() as place, running_server(options=()) as database:
        stores = {
            "none": "",
            "memory": "memory",
            "sqlite": f"{place}/sessions.db",
            "postgres": database.dsn(),
        }
        per_second: dict[str, float] = {}
        for name, store in stores.items():
            with server(OURS, store) as (port, pid):
                asyncio.run(raw_websocket(port, updates // 10))
                before, logged = cpu(pid), asyncio.run(written(database.dsn()))
                rates = [updates / asyncio.run(raw_websocket(port, updates)) for _ in range(repeat)]
                used, logged = cpu(pid) - before, asyncio.run(written(database.dsn())) - logged
                few = statistics.median([asyncio.run(raw_websocket(port, 1)) for _ in range(20)])
                per_second[name] = statistics.median(rates)
                more: dict[str, Any] = {}
                if name == "postgres":
                    more["share_of_sqlite"] = round(per_second[name] / per_second["sqlite"], 2)
                    more["wal_bytes_per_update"] = round(logged / (updates * repeat))
                tell(
                    case="log_first",
                    store=name,
                    per_second=round(per_second[name]),
                    server_cpu_us_per_update=round(used / (updates * repeat) * 1e6, 1),
                    one_update_turn_ms=round(few * 1000, 2),
                    **more,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    log_first(arguments.updates, arguments.repeat)


if __name__ == "__main__":
    main()

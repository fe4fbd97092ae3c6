"""Minutes of streaming through a network that cuts: does anything grow, is anything lost?

`python benchmarks/soak.py --minutes 10` runs our server in a process of its own, and clients over WebSocket
and HTTP in this one; between them a proxy cuts connections at random. Clients come and go, too. Every few
seconds one JSON line says what both processes hold. The exit code is 1 when an update was lost, doubled or
out of order, or when a task is left at the end.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import acpella

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "remote"))
from proxy import Proxy

SERVER = Path(__file__).parent / "peers" / "remote_server_acpella.py"
CUT_EVERY = (20_000, 400_000)
"""Bytes that a connection carries before it is cut, from and to."""


class Soak:
    """Clients without rest."""

    def __init__(self, port: int, *, clients: int, seed: int) -> None:
        self._port = port
        self._clients = clients
        self._random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def client(self, scheme: str, until: float) -> None:
        """Connects, streams a few turns, leaves, comes back."""
        while time.monotonic() < until and not self.wrong:
            try:
                async with acpella.connect(
                    f"{scheme}://127.0.0.1:{self._port}/acp", on_state=self._changed
                ) as agent:
                    session = await agent.new_session("/tmp")
                    for _ in range(self._random.randrange(1, 6)):
                        await self._turn(session)
            except (acpella.AcpellaError, TimeoutError) as error:
                self.counts[f"{scheme} {type(error).__name__}"] += 1  # such as a cut initialize
                print(f"{scheme}: {error}", file=sys.stderr)
            await asyncio.sleep(self._random.random() / 10)

    async def _turn(self, session: acpella.client.ClientSession) -> None:
        wanted = self._random.randrange(10, 2000)
        async with asyncio.timeout(120):
            result = await session.prompt(f"stream {wanted}")
        expected = "".join(f"update {number:08d} of a stream of text" for number in range(wanted))
        self.counts["turns"] += 1
        self.counts["updates"] += wanted
        if result.text != expected:
            self.wrong.append(
                f"{wanted} updates wanted, {len(result.text)} of {len(expected)} characters came"
            )

    def _changed(self, agent: acpella.client.RemoteAgent) -> None:
        self.counts[agent.state] += 1

    async def run(self, minutes: float) -> None:
        until = time.monotonic() + minutes * 60
        async with asyncio.TaskGroup() as group:
            for number in range(self._clients):
                group.create_task(self.client("ws" if number % 2 else "http", until))


def _held(pid: int) -> dict[str, int]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return {"kib": int(resident), "fds": len(os.listdir(f"/proc/{pid}/fd"))}


async def _watch(soak: Soak, proxy: Proxy, server: int, every: float) -> None:
    start = time.monotonic()
    while True:
        gc.collect()
        tasks = len(asyncio.all_tasks())
        line = {
            "seconds": round(time.monotonic() - start),
            "server": _held(server),
            "clients": {**_held(os.getpid()), "tasks": tasks},
            "cuts": proxy.cuts,
            **soak.counts,
        }
        print(json.dumps(line), flush=True)
        await asyncio.sleep(every)


def _start_server() -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)


async def _run(arguments: argparse.Namespace) -> int:
    process = _start_server()
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        async with Proxy(port) as proxy:
            proxy.span = CUT_EVERY
            proxy.cut_randomly(arguments.seed, sys.maxsize)
            soak = Soak(proxy.port, clients=arguments.clients, seed=arguments.seed)
            watching = asyncio.create_task(_watch(soak, proxy, process.pid, arguments.every))
            await soak.run(arguments.minutes)
            watching.cancel()
            await asyncio.wait([watching])
        gc.collect()
        left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        end = {"server": _held(process.pid), "clients": _held(os.getpid()), "tasks_left": left}
        print(json.dumps({"end": end, "wrong": soak.wrong, **soak.counts}))
        return int(bool(soak.wrong or left))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run for as long as asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two lines")
    parser.add_argument("--seed", type=int, default=1)
    return asyncio.run(_run(parser.parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())

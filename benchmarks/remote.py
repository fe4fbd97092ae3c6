"""Measure agents behind a URL: our server and client beside the official Python SDK's, in one run.

`python benchmarks/remote.py` prints a JSON line a case, then one a budget; stderr gets the same as a table.
Slow is never a failure: the exit code is 1 only when a program broke.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from table import align

PEERS = Path(__file__).parent / "peers"
RUN_TIMEOUT = 180
"""Seconds after which a run is broken; without it a hanging peer stops everything."""

STREAM_BUDGET = {"ws": 3.0, "http": 2.0}
FAIR_BUDGET = 2.0
MEMORY_BUDGET = 150.0

Record = dict[str, Any]


@contextmanager
def server(name: str) -> Generator[tuple[int, int], None, None]:
    """A server process: its port and its process id."""
    process = subprocess.Popen(
        [sys.executable, str(PEERS / f"remote_server_{name}.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def stream(name: str, scheme: str, port: int, updates: int) -> Record:
    """One client process that takes one stream."""
    client = [sys.executable, str(PEERS / f"remote_client_{name}.py"), f"{scheme}://127.0.0.1:{port}/acp"]
    ran = subprocess.run([*client, str(updates)], capture_output=True, text=True, timeout=RUN_TIMEOUT)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip()[-600:])
    return json.loads(ran.stdout)


def many(connections: int, updates: int, scheme: str) -> Record:
    """Many clients, each with a session that streams: who waits, and what it costs the server."""
    with server("acpella") as (port, pid):
        url = f"{scheme}://127.0.0.1:{port}/acp"
        stream("acpella", scheme, port, 200)  # so that everything is loaded
        idle = resident(pid)
        command = [sys.executable, str(PEERS / "remote_many.py"), url, str(connections), str(updates)]
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert client.stdin is not None and client.stdout is not None
        try:
            if client.stdout.readline().strip() != "connected":
                raise RuntimeError("not all clients could connect")
            connected = resident(pid)
            client.stdin.write("go\n")
            client.stdin.flush()
            report: Record = json.loads(client.stdout.readline())
            after = resident(pid)
            client.wait(RUN_TIMEOUT)
        finally:
            client.kill()
            client.wait()
            client.stdin.close()
            client.stdout.close()
    each = {"connected": (connected - idle) / connections, "after": (after - idle) / connections}
    return {**report, "idle_kib": idle, **{f"kib_each_{name}": value for name, value in each.items()}}


def resident(pid: int) -> int:
    """KiB of memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


def main(argv: Sequence[str] | None = None) -> int:
    """Run everything that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--updates", type=int, default=30_000, help="of one stream")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each pair; medians count")
    parser.add_argument("--connections", type=int, default=500, help="of the crowd; 0 leaves it out")
    parser.add_argument("--crowd-updates", type=int, default=200, help="of each stream of the crowd")
    arguments = parser.parse_args(argv)
    _print(
        {
            "case": "machine",
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load": os.getloadavg(),
        }
    )
    lines = [["case", "who", "updates/s", "µs client CPU"]]
    budgets = [["budget", "measured", "wanted", ""]]
    broken = False
    for scheme in ("ws", "http"):
        runs: dict[str, list[Record]] = {"acpella": [], "official": []}
        try:
            with server("acpella") as (ours, _), server("official") as (theirs, _):
                for _ in range(arguments.repeat):
                    for name, port in (("acpella", ours), ("official", theirs)):
                        runs[name].append(stream(name, scheme, port, arguments.updates))
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
            _print({"case": f"stream-{scheme}", "broken": str(error)})
            broken = True
            continue
        speed = {name: median(run["updates_per_second"] for run in done) for name, done in runs.items()}
        for name, done in runs.items():
            cpu = median(run["client_cpu_us"] for run in done)
            _print(
                {
                    "case": f"stream-{scheme}",
                    "who": name,
                    "updates_per_second": round(speed[name]),
                    "cpu": cpu,
                }
            )
            lines.append([f"stream-{scheme}", name, f"{speed[name]:.0f}", f"{cpu:.1f}"])
        ratio, wanted = speed["acpella"] / speed["official"], STREAM_BUDGET[scheme]
        budgets.append(
            _budget(f"stream-{scheme} against the official pair", ratio, wanted, "×", at_most=False)
        )
    if arguments.connections:
        try:
            crowd = many(arguments.connections, arguments.crowd_updates, "ws")
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            _print({"case": "crowd-ws", "broken": str(error)})
            broken = True
        else:
            _print({"case": "crowd-ws", **crowd})
            lines.append(["crowd-ws", "acpella", f"{crowd['updates_per_second']:.0f}", "-"])
            budgets.append(
                _budget("slowest of the crowd / median", crowd["max_over_median"], FAIR_BUDGET, "×")
            )
            budgets.append(
                _budget(
                    "memory a connection of the crowd", crowd["kib_each_connected"], MEMORY_BUDGET, " KiB"
                )
            )
            budgets.append(
                _budget("the same after it streamed", crowd["kib_each_after"], MEMORY_BUDGET, " KiB")
            )
            budgets.append(_budget("errors in the crowd", crowd["errors"], 0, ""))
    for block in (align(lines, text_columns=2), align(budgets, text_columns=1)):
        print("\n".join(block), end="\n\n", file=sys.stderr)
    return int(broken)


def _budget(text: str, value: float, limit: float, unit: str, *, at_most: bool = True) -> list[str]:
    met = value <= limit if at_most else value >= limit
    verdict = "ok" if met else "MISSED"
    _print({"budget": text, "measured": round(value, 2), "limit": limit, "verdict": verdict})
    return [text, f"{value:.2f}{unit}", f"{'≤' if at_most else '≥'} {limit:g}{unit}", verdict]


def _print(record: Record) -> None:
    print(json.dumps(record, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""What a tap costs: the same agent alone, behind `cat` and behind `acpella record`, in turns, in one run.

    python benchmarks/tap.py [--updates N] [--rounds N] [--repeat N]

All agents run at the same time and stream in turns, so that all meet the same machine; the recorder writes
what it has before the next turn. The client only reads and counts. `cat` in both pipes is the least that any
process in between can cost. One JSON line a case:

stream    the rate with the tap, and with cat, as a share of the rate without: the median of the rounds, its
          quartiles, and the best rounds against each other, which other work on the machine disturbs least;
          and the rate with the tap as a share of that with cat
message   milliseconds that a message takes longer, with each
cpu       milliseconds of CPU time for each message: of the tap, and of the recorder beside it, which has
          a low priority and need not keep up
dropped   frames that were not recorded

Promised: at most 0.2 ms a message, and at least 0.95 of the rate.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from programs import PEERS, environment

AGENT = [sys.executable, str(PEERS / "agent_acpella.py")]


def request(number: int, method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


class Client:
    """Writes requests and reads until their answers, with as little work as can be."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        assert self.process.stdin and self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._number = 0
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        answer = json.loads(self.ask("session/new", {"cwd": "/", "mcpServers": []}))
        self.session = answer["result"]["sessionId"]

    def ask(self, method: str, params: Any) -> bytes:
        """The answer, which is the last line; updates before it are read and dropped."""
        self._number += 1
        os.write(self._in, request(self._number, method, params))
        wanted = b'"id":%d,' % self._number
        tail = b""
        while True:
            data = os.read(self._out, 1 << 18)
            if not data:
                raise EOFError("the agent is gone")
            tail = (tail + data)[-65536:]
            if (
                tail.endswith(b"\n")
                and wanted in (line := tail[:-1].rpartition(b"\n")[2])
                and b'"method"' not in line
            ):
                return line

    def prompt(self, text: str) -> float:
        start = time.perf_counter()
        self.ask("session/prompt", {"sessionId": self.session, "prompt": [{"type": "text", "text": text}]})
        return time.perf_counter() - start

    def close(self) -> None:
        os.close(self._in)
        self.process.wait(60)


def cpu_of(pid: int) -> float:
    """Seconds of a running program."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def writer_of(path: Path) -> int:
    """The process that has a file open: the recorder is nobody's child."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.samefile(path):
                return int(link.parts[2])
        except OSError:
            continue  # it has ended, or is somebody else's
    raise RuntimeError(f"nobody writes {path}")


def catch_up(recorder: int) -> None:
    """Wait until the recorder has nothing to do: it waits for more, longer than for a burst to end."""
    idle = 0
    while idle < 8:
        state = Path(f"/proc/{recorder}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        idle = idle + 1 if state == "S" else 0
        time.sleep(0.01)


def dropped(path: Path) -> int:
    """Frames that the recording lacks; it ends with their number."""
    for _ in range(3000):
        last = path.read_bytes().splitlines()[-1]
        if b'"ev":"end"' in last:
            return json.loads(last).get("dropped", 0)
        time.sleep(0.1)
    raise TimeoutError("the recording was not ended")


def measure(updates: int, rounds: int, path: Path) -> dict[str, Any]:
    """All agents in turns."""
    clients = {
        "tap": Client([sys.executable, "-m", "acpella", "record", "-o", str(path), "--", *AGENT]),
        "cat": Client(["/bin/sh", "-c", 'cat | "$@" | cat', "sh", *AGENT]),
        "alone": Client(AGENT),
    }
    names = list(clients)
    rates: dict[str, list[float]] = {name: [] for name in names}
    pings: dict[str, list[float]] = {name: [] for name in names}
    tap = clients["tap"].process.pid
    try:
        clients["tap"].prompt("ping")
        recorder = writer_of(path)
        before = 0.0, 0.0
        for number in range(-1, rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                rate = updates / clients[name].prompt(f"stream {updates}")
                ping = min(clients[name].prompt("ping") for _ in range(20))
                if number >= 0:  # the first round is for warming up
                    rates[name].append(rate)
                    pings[name].append(ping)
                catch_up(recorder)
            if number < 0:
                before = cpu_of(tap), cpu_of(recorder)
        used = cpu_of(tap) - before[0], cpu_of(recorder) - before[1]
    finally:
        for client in clients.values():
            client.close()
    messages = rounds * (updates + 2 + 40)
    return {
        "rates": rates,
        "pings": pings,
        "tap": used[0] * 1000 / messages,
        "recorder": used[1] * 1000 / messages,
        "dropped": dropped(path),
    }


def compared(runs: list[dict[str, Any]], name: str, other: str) -> dict[str, Any]:
    """The rates of one as shares of those of another."""
    shares = [a / b for run in runs for a, b in zip(run["rates"][name], run["rates"][other], strict=True)]
    best = statistics.median(max(run["rates"][name]) / max(run["rates"][other]) for run in runs)
    low, middle, high = statistics.quantiles(shares, n=4)
    return {
        "case": "stream",
        "of": f"{name} / {other}",
        "share": round(middle, 3),
        "quartiles": [round(low, 3), round(high, 3)],
        "best": round(best, 3),
    }


def longer(runs: list[dict[str, Any]], name: str) -> float:
    """Milliseconds; a ping is a request and its answer: two messages."""
    each = [
        (a - b) * 500 for run in runs for a, b in zip(run["pings"][name], run["pings"]["alone"], strict=True)
    ]
    return round(statistics.median(each), 4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        runs = [
            measure(arguments.updates, arguments.rounds, Path(place) / f"{number}.jsonl")
            for number in range(arguments.repeat)
        ]

    def middle(name: str, digits: int) -> float:
        return round(statistics.median(run[name] for run in runs), digits)

    for line in (
        compared(runs, "tap", "alone"),
        compared(runs, "cat", "alone"),
        compared(runs, "tap", "cat"),
        {"case": "message", "tap ms": longer(runs, "tap"), "cat ms": longer(runs, "cat")},
        {"case": "cpu", "tap ms": middle("tap", 5), "recorder ms": middle("recorder", 5)},
        {"case": "dropped", "frames": sum(run["dropped"] for run in runs)},
    ):
        print(json.dumps(line))


if __name__ == "__main__":
    main()

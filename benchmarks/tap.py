"""What a tap costs: the same agent alone and behind `acpella record`, in turns, in one run.

    python benchmarks/tap.py [--updates N] [--pings N] [--repeat N]

The client only reads and counts. One JSON line a case: the rate of a stream with the tap as a share of the
rate without; what a message takes longer, and what CPU time it costs beside the recorder's, in milliseconds.
Promised: at least 0.95 of the rate, at most 0.2 ms a message. Beside other work, only CPU time means much.
"""

import argparse
import json
import os
import resource
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
        self.process.wait(30)


def cpu() -> float:
    """Seconds of all programs that were waited for: the tap and the agent, not the recorder."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command: list[str], updates: int, pings: int) -> tuple[float, float, float]:
    before = cpu()
    client = Client(command)
    try:
        client.prompt(f"stream {updates // 10}")
        rate = updates / client.prompt(f"stream {updates}")
        ping = statistics.median([client.prompt("ping") for _ in range(pings)])
    finally:
        client.close()
    return rate, ping, cpu() - before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--pings", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    shares: list[float] = []
    longer: list[float] = []
    more_cpu: list[float] = []
    lost = 0
    with tempfile.TemporaryDirectory() as place:
        for number in range(arguments.repeat):
            path = Path(place) / f"{number}.jsonl"
            tapped = [sys.executable, "-m", "acpella", "record", "-o", str(path), "--", *AGENT]
            rate, ping, used = measure(AGENT, arguments.updates, arguments.pings)
            tap_rate, tap_ping, tap_used = measure(tapped, arguments.updates, arguments.pings)
            shares.append(tap_rate / rate)
            more_cpu.append((tap_used - used) * 1000 / (arguments.updates * 1.1 + arguments.pings * 2))
            longer.append((tap_ping - ping) * 1000)
            for _ in range(600):
                if b'"ev":"end"' in path.read_bytes()[-4096:]:
                    break
                time.sleep(0.1)
            lost += json.loads(path.read_bytes().splitlines()[-1]).get("dropped", 0)
    print(
        json.dumps(
            {
                "case": "stream",
                "share": round(statistics.median(shares), 3),
                "all": [round(s, 3) for s in shares],
            }
        )
    )
    # a ping is a request and its answer: two messages
    each = [round(value / 2, 4) for value in longer]
    print(json.dumps({"case": "message", "ms": statistics.median(each), "all": each}))
    print(json.dumps({"case": "cpu", "ms": round(statistics.median(more_cpu), 4)}))
    print(json.dumps({"case": "dropped", "frames": lost}))


if __name__ == "__main__":
    main()

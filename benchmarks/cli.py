"""What the command line costs: CPU and wall time of whole processes, the agent's own subtracted.

    python benchmarks/cli.py [ROUNDS]

Prints one JSON line a case, the median of the rounds. The agent is `examples/echo.py`.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ECHO = Path(__file__).parents[1] / "examples" / "echo.py"
CONVERSATION = [
    ("initialize", {"protocolVersion": 1}),
    ("session/new", {"cwd": "/tmp", "mcpServers": []}),
    ("session/prompt", {"prompt": [{"type": "text", "text": "hi"}]}),
]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory(prefix="acpella-bench-") as home:
        # with PYTHONDONTWRITEBYTECODE, modules that were edited are compiled in every round
        env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "ACPELLA_", "PYTHON"))}
        env["HOME"] = home

        def acpella(*words: str) -> Callable[[], None]:
            command = [sys.executable, "-m", "acpella", *words]
            return lambda: _finish(subprocess.Popen(command, cwd=home, env=env, stdout=subprocess.PIPE))

        agent = median(lambda: bare_agent(env), rounds)
        report("python -c pass", median(lambda: _python(env), rounds))
        report("the agent alone", agent)
        report("acpella --help", median(acpella("--help"), rounds))
        report("acpella --version", median(acpella("--version"), rounds))
        whole = median(acpella("run", "-a", str(ECHO), "hi"), rounds)
        report("acpella run", whole, over=agent)
        acpella("run", "-a", str(ECHO), "-s", "warm", "hi")()
        try:
            report("acpella run -s, warm", median(acpella("run", "-s", "warm", "hi"), rounds))
            report("acpella status", median(acpella("status"), rounds))
        finally:
            acpella("status", "--stop")()


def median(work: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Milliseconds of CPU in the processes that were started, and of wall time."""
    work()  # warms the caches
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(rounds):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)
    return statistics.median(cpu), statistics.median(wall)


def report(case: str, took: tuple[float, float], *, over: tuple[float, float] | None = None) -> None:
    line = {"case": case, "cpu_ms": round(took[0]), "wall_ms": round(took[1])}
    if over is not None:
        line |= {"cpu_ms_over_the_agent": round(took[0] - over[0])}
    print(json.dumps(line))


def bare_agent(env: dict[str, str]) -> None:
    """The agent with a client that costs nothing: this process."""
    agent = subprocess.Popen(
        [sys.executable, str(ECHO)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert agent.stdin is not None and agent.stdout is not None
    session: dict[str, str] = {}
    for number, (method, params) in enumerate(CONVERSATION):
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, **session}}
        agent.stdin.write(json.dumps(body) + "\n")
        agent.stdin.flush()
        for line in agent.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                if method == "session/new":
                    session = {"sessionId": answer["result"]["sessionId"]}
                break
    agent.communicate()


def _python(env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)


def _finish(process: "subprocess.Popen[bytes]") -> None:
    process.communicate()
    assert process.returncode == 0, process.args


if __name__ == "__main__":
    main()

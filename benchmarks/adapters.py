"""What an adapter costs: `python benchmarks/adapters.py`, in an environment with pydantic-ai.

It compares the rate of events of a framework's own stream with the rate of updates that an editor gets
through the adapter, and the CPU time of a start with that of the framework's import. One JSON line a case.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PIECES = 20_000

PROGRAM = """
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel


async def stream(messages: Any, info: Any) -> AsyncIterator[str]:
    for _ in range({pieces}):
        yield "word "


agent = Agent(FunctionModel(stream_function=stream), name="bench")
"""


def load() -> Any:
    names: dict[str, Any] = {}
    exec(PROGRAM.format(pieces=PIECES), names)
    return names["agent"]


async def own_rate(agent: Any) -> float:
    """Events a second of CPU, of the framework alone."""
    began = time.process_time()
    count = 0
    async with agent.run_stream_events("go") as events:
        async for _ in events:
            count += 1
    return count / (time.process_time() - began)


async def adapted_rate(agent: Any) -> float:
    """Updates a second of CPU, through the adapter and both SDKs in one process."""
    import acpella

    async with acpella.connect(acpella.adapt(agent, store="memory")) as connected:
        session = await connected.new_session(cwd=tempfile.gettempdir())
        began = time.process_time()
        count = 0
        async for _ in session.prompt("go"):
            count += 1
        return count / (time.process_time() - began)


def cpu_of(*words: str) -> float:
    """Seconds of CPU of a command, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    agent = load()
    asyncio.run(own_rate(agent))  # warm
    own = max(asyncio.run(own_rate(agent)) for _ in range(3))
    adapted = max(asyncio.run(adapted_rate(agent)) for _ in range(3))
    print(
        json.dumps(
            {"case": "stream", "own": round(own), "adapted": round(adapted), "ratio": round(adapted / own, 2)}
        )
    )
    with tempfile.TemporaryDirectory() as place:
        program = Path(place, "my.py")
        program.write_text(PROGRAM.format(pieces=1), encoding="utf-8")
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = place
        alone = min(cpu_of(sys.executable, str(program)) for _ in range(5))
        served = min(
            cpu_of(sys.executable, "-m", "acpella", "agent", f"{program}:agent", "--store", "memory")
            for _ in range(5)
        )
    print(
        json.dumps(
            {
                "case": "start",
                "import": round(alone, 3),
                "agent": round(served, 3),
                "added": round(served - alone, 3),
            }
        )
    )


if __name__ == "__main__":
    main()

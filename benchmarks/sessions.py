"""What the agent SDK and its sessions cost, against the protocol core in the same run.

    python benchmarks/sessions.py [--repeat N]

One JSON line a case on standard output. Streams run between two real processes; the rest in one.
"""

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from acpella import Agent
from acpella.rpc import Connection
from acpella.schema import (
    AgentMessageChunk,
    InitializeRequest,
    LoadSessionRequest,
    NewSessionRequest,
    PromptRequest,
    TextContent,
    encode,
    methods,
)
from acpella.sessions import SessionRecord, SqliteStore
from acpella.transport import ProcessChannel, memory_pair

PEERS = Path(__file__).parent / "peers"
UPDATES = 100_000
EVENTS = 50_000


def tell(case: str, **numbers: Any) -> None:
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in numbers.items()}
    print(json.dumps({"case": case, **shown}), flush=True)


class Editor:
    """The client's end: counts updates."""

    def __init__(self, channel: Any) -> None:
        self.updates = 0
        self.connection = Connection(channel, methods.CLIENT, notifications={"session/update": self._count})

    def _count(self, params: Any) -> None:
        self.updates += 1

    async def hello(self) -> None:
        await self.connection.call(methods.INITIALIZE, InitializeRequest(protocol_version=1))

    async def open(self) -> str:
        request = NewSessionRequest(cwd="/workspace", mcp_servers=[])
        return (await self.connection.call(methods.NEW_SESSION, request)).session_id

    async def prompt(self, session_id: str, text: str) -> None:
        request = PromptRequest(session_id=session_id, prompt=[TextContent(text=text)])
        await self.connection.call(methods.PROMPT, request, in_order=True)


async def stream(command: list[str]) -> float:
    """Updates a second through a real child process."""
    editor = Editor(ProcessChannel([sys.executable, *command]))
    async with editor.connection:
        await editor.hello()
        session_id = await editor.open()
        await editor.prompt(session_id, "stream 1000")
        start = time.perf_counter()
        await editor.prompt(session_id, f"stream {UPDATES}")
        return UPDATES / (time.perf_counter() - start)


async def streams(repeat: int, folder: Path) -> None:
    """100k yields through the SDK, without and with SQLite, as a share of the core's rate."""
    programs = {
        "core": [str(PEERS / "agent_acpella.py")],
        "sdk": [str(PEERS / "agent_sdk.py")],
        "sdk with sqlite": [str(PEERS / "agent_sdk.py"), str(folder / "stream.db")],
    }
    rates: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeat):
        for name, command in programs.items():
            rates[name].append(await stream(command))
    core = statistics.median(rates["core"])
    for name, found in rates.items():
        rate = statistics.median(found)
        tell("stream", through=name, updates_per_second=round(rate), of_core=rate / core)


async def with_editor(agent: Agent, work: Callable[[Editor], Awaitable[None]]) -> None:
    one, other = memory_pair()
    serving = asyncio.create_task(agent.serve_on(one))
    editor = Editor(other)
    async with editor.connection:
        await editor.hello()
        await work(editor)
    await serving
    await agent.close()


async def replay(folder: Path) -> None:
    """Load of a session with 50k events."""
    path = folder / "replay.db"
    store = SqliteStore(path)
    await store.open()
    lease = await store.create(SessionRecord(id="long", cwd="/workspace"))
    events: list[Any] = [
        ("update", encode(AgentMessageChunk(content=TextContent(text=f"message {n} "))))
        for n in range(EVENTS)
    ]
    await store.append(lease, 0, events)
    await store.close()

    async def work(editor: Editor) -> None:
        start = time.perf_counter()
        request = LoadSessionRequest(session_id="long", cwd="/workspace", mcp_servers=[])
        await editor.connection.call(methods.LOAD_SESSION, request, in_order=True)
        assert editor.updates == EVENTS
        tell("load", events=EVENTS, events_per_second=round(EVENTS / (time.perf_counter() - start)))

    agent = Agent("bench", store=path)
    await with_editor(agent, work)


async def listing(folder: Path) -> None:
    """A page of the list, with 100 sessions and with 10,000."""
    store = SqliteStore(folder / "list.db")
    await store.open()
    for total in (100, 10_000):
        page = await store.list(limit=1000)
        made = len(page.sessions) if total == 100 else 100
        creating = [store.create(SessionRecord(id=f"s{n}", cwd="/w")) for n in range(made, total)]
        for start in range(0, len(creating), 500):
            await asyncio.gather(*creating[start : start + 500])
        times: list[float] = []
        for _ in range(50):
            begin = time.perf_counter()
            await store.list(limit=50)
            times.append(time.perf_counter() - begin)
        tell("list", sessions=total, page_ms=statistics.median(times) * 1e3)
    await store.close()


async def many_sessions() -> None:
    """Memory of 1,000 idle sessions; time to open the first and the 10,000th."""

    async def work(editor: Editor) -> None:
        await editor.open()
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(1000):
            await editor.open()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        tell("idle sessions", sessions=1000, kib_each=(after - before) / 1000 / 1024)
        first = await open_times(editor, 200)
        await open_times(editor, 8600)
        last = await open_times(editor, 200)
        tell("open a session", at_1000_us=first, at_10000_us=last, ratio=last / first)

    await with_editor(Agent("bench", store="memory", settings={"max_sessions": 100_000}), work)


async def open_times(editor: Editor, count: int) -> float:
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        await editor.open()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await streams(arguments.repeat, folder)
        await replay(folder)
        await listing(folder)
        await many_sessions()


if __name__ == "__main__":
    asyncio.run(main())

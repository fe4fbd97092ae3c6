"""What hosting costs: updates a second over WebSocket and HTTP, connections at once, and log first.

    python benchmarks/hosting.py [--updates N] [--connections N] [--only stream,connections,log]
    python benchmarks/hosting.py --soak SECONDS     random disconnects; memory and files must stay flat

One JSON line a case. The server is a process of its own. The official Python SDK's server and client are
measured in the same run, on the same uvicorn; our server is read by a client without an SDK (`raw`), which
also reads theirs, and by theirs.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEXT = "a few words of a sentence that a model would say "

OURS = """
import asyncio, sys
import acpella
from acpella.server import serve, ServerSettings
agent = acpella.Agent("bench", store=sys.argv[2] or None)

@agent.on_prompt
async def reply(turn):
    count, _, how = turn.text.partition(" ")
    for number in range(int(count)):
        yield {text!r}
        if how and number % 20 == 19:
            await asyncio.sleep(0.001)

settings = ServerSettings(
    max_connections=5000, max_connections_per_user=5000, requests_per_second=0,
    detach_seconds=float(sys.argv[3]) if len(sys.argv) > 3 else 1800,
)
asyncio.run(serve(agent, port=int(sys.argv[1]), settings=settings))
""".replace("{text!r}", repr(TEXT))

OFFICIAL = """
import asyncio, sys
import acp, uvicorn
from acp.http.asgi import create_asgi_app

class Agent(acp.Agent):
    def on_connect(self, conn): self._client = conn
    async def initialize(self, protocol_version, **_): return acp.InitializeResponse(protocol_version=1)
    async def new_session(self, cwd, **_): return acp.NewSessionResponse(session_id="s1")
    async def prompt(self, session_id, prompt, **_):
        for _ in range(int(prompt[0].text)):
            await self._client.session_update(session_id, acp.update_agent_message_text({text!r}))
        return acp.PromptResponse(stop_reason="end_turn")

uvicorn.run(create_asgi_app(lambda conn: Agent()), port=int(sys.argv[1]), log_level="error", ws="auto")
""".replace("{text!r}", repr(TEXT))


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


def memory(pid: int) -> int:
    """Resident KiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0])


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


async def raw_http(port: int, updates: int) -> float:
    import httpx2

    url = f"http://127.0.0.1:{port}/acp"
    async with httpx2.AsyncClient(timeout=60) as http:

        async def post(headers: dict[str, str], *args: Any) -> Any:
            return await http.post(
                url, content=request(*args), headers={"Content-Type": "application/json", **headers}
            )

        hello = await post({}, 0, "initialize", {"protocolVersion": 1})
        named = {"Acp-Connection-Id": hello.headers["acp-connection-id"]}
        events = {"Accept": "text/event-stream", **named}
        async with http.stream("GET", url, headers=events) as stream:
            await post(named, 1, "session/new", {"cwd": "/tmp", "mcpServers": []})
            text = b""
            async for chunk in stream.aiter_raw():
                text += chunk
                if b'"sessionId"' in text:
                    break
            session = json.loads(text[text.index(b"data: ") + 6 :].split(b"\n")[0])["result"]["sessionId"]
            in_session = {"Acp-Session-Id": session}
            async with http.stream("GET", url, headers={**events, **in_session}) as of_session:
                started = time.perf_counter()
                await post({**named, **in_session}, 2, "session/prompt", prompt(session, str(updates)))
                async for chunk in of_session.aiter_raw():
                    if b'"stopReason"' in chunk:
                        break
                return time.perf_counter() - started


async def official(port: int, updates: int, kind: str) -> float:
    import acp

    class Client(acp.Client):
        def on_connect(self, conn: Any) -> None:
            pass

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            pass

    if kind == "http":
        from acp.http import create_http_stream

        transport = create_http_stream(f"http://127.0.0.1:{port}/acp")
    else:
        from acp.ws import create_websocket_stream

        transport = await create_websocket_stream(f"ws://127.0.0.1:{port}/acp")
    connection = acp.connect_to_agent(Client(), transport)
    await connection.initialize(protocol_version=1)
    session = (await connection.new_session(cwd="/tmp", mcp_servers=[])).session_id
    started = time.perf_counter()
    await connection.prompt(session_id=session, prompt=[acp.text_block(str(updates))])
    took = time.perf_counter() - started
    await connection.close()
    return took


# -- cases --------------------------------------------------------------------------------------------


def tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def stream(updates: int, repeat: int) -> None:
    """Updates a second over one connection."""
    readers: dict[str, Any] = {
        "raw websocket": raw_websocket,
        "raw http": raw_http,
        "official websocket": lambda port, n: official(port, n, "websocket"),
        "official http": lambda port, n: official(port, n, "http"),
    }
    medians: dict[tuple[str, str], float] = {}
    for name, program, args in (("acpella", OURS, ("",)), ("official", OFFICIAL, ())):
        with server(program, *args) as (port, pid):
            for reader, run in readers.items():
                count = updates if name == "acpella" and "raw" in reader else updates // 10
                asyncio.run(run(port, count // 10))
                before = cpu(pid)
                rates = [count / asyncio.run(run(port, count)) for _ in range(repeat)]
                spent = (cpu(pid) - before) / (count * repeat) * 1e6
                medians[name, reader] = statistics.median(rates)
                tell(
                    case="stream",
                    server=name,
                    client=reader,
                    per_second=round(medians[name, reader]),
                    server_cpu_us_per_update=round(spent, 1),
                )
    for kind in ("websocket", "http"):
        pair = medians["official", f"official {kind}"]
        tell(
            case="ratio",
            transport=kind,
            ours_raw_to_official_pair=round(medians["acpella", f"raw {kind}"] / pair, 1),
        )


def connections(count: int, updates: int) -> None:
    """Many connections, each with a session that streams as a model does."""
    with server(OURS, "") as (port, pid):
        asyncio.run(raw_websocket(port, 100))
        idle = memory(pid)
        finishes, started, held = asyncio.run(_many(port, pid, count, updates))
        tell(
            case="connections",
            count=count,
            updates_each=updates,
            open_kib_each=round((started - idle) / count, 1),
            streaming_kib_each=round((held - idle) / count, 1),
            max_to_median_finish=round(max(finishes) / statistics.median(finishes), 2),
            total_per_second=round(count * updates / max(finishes)),
        )


async def _many(port: int, pid: int, count: int, updates: int) -> tuple[list[float], int, int]:
    import websockets

    sockets: list[tuple[Any, str]] = []

    async def open_one() -> None:
        ws = await websockets.connect(
            f"ws://127.0.0.1:{port}/acp", max_size=None, compression=None, open_timeout=60
        )
        await ws.send(request(0, "initialize", {"protocolVersion": 1}))
        await ws.recv()
        await ws.send(request(1, "session/new", {"cwd": "/tmp", "mcpServers": []}))
        sockets.append((ws, json.loads(await ws.recv())["result"]["sessionId"]))

    for start in range(0, count, 50):
        await asyncio.gather(*(open_one() for _ in range(min(50, count - start))))
    opened = memory(pid)
    began = time.perf_counter()

    async def run_one(ws: Any, session: str) -> float:
        await ws.send(request(2, "session/prompt", prompt(session, f"{updates} slowly")))
        while b'"stopReason"' not in await ws.recv(decode=False):
            pass
        return time.perf_counter() - began

    finishes = await asyncio.gather(*(run_one(ws, session) for ws, session in sockets))
    held = memory(pid)
    await asyncio.gather(*(ws.close() for ws, _ in sockets))
    return finishes, opened, held


def log_first(updates: int, repeat: int) -> None:
    """The same stream without a store, and shown after it is in SQLite."""
    with tempfile.TemporaryDirectory() as place:
        for name, store in (("none", ""), ("memory", "memory"), ("sqlite", f"{place}/sessions.db")):
            with server(OURS, store) as (port, pid):
                asyncio.run(raw_websocket(port, updates // 10))
                before = cpu(pid)
                rates = [updates / asyncio.run(raw_websocket(port, updates)) for _ in range(repeat)]
                few = statistics.median([asyncio.run(raw_websocket(port, 1)) for _ in range(20)])
                tell(
                    case="log_first",
                    store=name,
                    per_second=round(statistics.median(rates)),
                    server_cpu_us_per_update=round((cpu(pid) - before) / (updates * repeat) * 1e6, 1),
                    one_update_turn_ms=round(few * 1000, 2),
                )


def soak(seconds: float) -> None:
    """Clients that come, stream, and vanish at random."""
    with tempfile.TemporaryDirectory() as place, server(OURS, f"{place}/sessions.db", "5") as (port, pid):
        asyncio.run(_soak(port, pid, seconds))


async def _soak(port: int, pid: int, seconds: float) -> None:
    import websockets

    deadline = time.monotonic() + seconds
    turns = cuts = 0

    async def client() -> None:
        nonlocal turns, cuts
        while time.monotonic() < deadline:
            headers = {"Acpella-Resume": "1"} if random.random() < 0.3 else {}
            ws = await websockets.connect(
                f"ws://127.0.0.1:{port}/acp",
                max_size=None,
                compression=None,
                additional_headers=headers,
                close_timeout=0.2,
            )
            await ws.send(request(0, "initialize", {"protocolVersion": 1}))
            await ws.recv()
            await ws.send(request(1, "session/new", {"cwd": "/tmp", "mcpServers": []}))
            session = json.loads(await ws.recv())["result"]["sessionId"]
            await ws.send(request(2, "session/prompt", prompt(session, "300 slowly")))
            for _ in range(random.randint(1, 400)):
                if b'"stopReason"' in await ws.recv(decode=False):
                    turns += 1
                    break
            if random.random() < 0.5:
                cuts += 1
                ws.transport.abort()
            else:
                await ws.close()

    async def watch() -> None:
        while time.monotonic() < deadline:
            await asyncio.sleep(min(10.0, seconds / 5))
            files = len(os.listdir(f"/proc/{pid}/fd"))
            tell(case="soak", turns=turns, cuts=cuts, memory_kib=memory(pid), files=files)

    await asyncio.gather(watch(), *(client() for _ in range(20)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="stream,connections,log")
    parser.add_argument("--soak", type=float, default=0.0)
    arguments = parser.parse_args()
    if arguments.soak:
        soak(arguments.soak)
        return
    if "stream" in arguments.only:
        stream(arguments.updates, arguments.repeat)
    if "connections" in arguments.only:
        connections(arguments.connections, 200)
    if "log" in arguments.only:
        log_first(arguments.updates, arguments.repeat)


if __name__ == "__main__":
    main()

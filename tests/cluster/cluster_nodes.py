"""Nodes as real processes, and a load balancer in front of them without sticky sessions."""

import asyncio
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["TTL", "Balancer", "Cluster", "Node", "running", "until"]

TTL = 2.0
"""Seconds after which nodes take over from one that has gone silent."""

START_SECONDS = 60.0

_AGENT = Path(__file__).with_name("cluster_agent.py")


class Node:
    """One server process."""

    def __init__(self, name: str, dsn: str, directory: Path, **settings: object) -> None:
        self.name = name
        self.port = 0
        self.log = directory / f"{name}.log"
        self._dsn = dsn
        self._directory = directory
        self.settings = settings
        self.words: list[str] = []
        """More arguments of `acpella serve`."""
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves."""
        place = self._spawn()
        assert self._process is not None
        async with asyncio.timeout(START_SECONDS):
            while True:
                text = self.log.read_text(encoding="utf-8")[place:]
                if found := re.search(r"http://127\.0\.0\.1:(\d+)", text):
                    self.port = int(found[1])
                    if await self.status("/readyz") == 200:
                        return
                assert self._process.poll() is None, text
                await asyncio.sleep(0.05)

    def _spawn(self) -> int:
        """Start the process; returns where its output in the log begins."""
        self._log = self.log.open("ab")
        place = self._log.tell()
        environment = {
            **os.environ,
            **dict.fromkeys(
                ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"), str(self._directory)
            ),
            "STORE_URL": self._dsn,
            "NOTES": str(self._directory / "notes"),
            **{f"ACPELLA_SERVER_{name.upper()}": str(value) for name, value in self.settings.items()},
        }
        words = ["-m", "acpella", "serve", "--store", "env:STORE_URL", "--node-name", self.name]
        words += [*self.words, "--port", str(self.port), f"{_AGENT}:agent"]
        self._process = subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment,
            cwd=self._directory,
        )
        return place

    async def until_logged(self, words: str) -> None:
        """Wait until its log has these words."""
        await until(lambda: words in self.log.read_text(encoding="utf-8"))

    async def until_status(self, path: str, status: int) -> None:
        """Wait until a GET is answered with this status."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                if await self.status(path) == status:
                    return
                await asyncio.sleep(0.05)

    async def status(self, path: str) -> int:
        """The status of a plain GET; 0 if nobody answers."""
        return (await self.request("GET", path))[0]

    async def request(
        self, method: str, path: str, body: str = "", **headers: str
    ) -> tuple[int, dict[str, str]]:
        """The status and the headers of an answer; 0 if there is none."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **headers}
        if body:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        try:
            async with asyncio.timeout(60):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write("\r\n".join([*lines, "", body]).encode())
                head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
                writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return 0, {}
        pairs = (line.partition(":") for line in head[1:] if line)
        return int(head[0].split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        """kill -9."""
        self.send(signal.SIGKILL)
        await self.ended()

    async def ended(self) -> None:
        assert self._process is not None
        await asyncio.to_thread(self._process.wait, 60)
        if self._log is not None:
            self._log.close()

    async def stop(self) -> None:
        """Make sure that it has ended."""
        if self.is_running:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
            await self.ended()


class Balancer:
    """Sends each TCP connection to the next node that accepts it, no matter which client it comes from."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._turn = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.left_out: set[str] = set()
        """Nodes that get no new connections, as a health check would have it."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/acp"

    @property
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_all(self) -> None:
        """Cut every connection between a client and a node."""
        for task in self._tasks:
            task.cancel()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            far = await self._connect()
            if far is None:
                return
            far_reader, far_writer = far
            try:
                ways = [
                    asyncio.ensure_future(_forward(reader, far_writer)),
                    asyncio.ensure_future(_forward(far_reader, writer)),
                ]
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                    await asyncio.wait(ways, timeout=0.2)
                finally:
                    for way in ways:
                        way.cancel()
            finally:
                far_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._nodes:
            node = self._nodes[next(self._turn) % len(self._nodes)]
            if node.port and node.name not in self.left_out:
                with suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", node.port)
        return None


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


class Cluster:
    """Some nodes on one database, and what their agents noted."""

    def __init__(
        self, dsn: str, directory: Path, *, count: int = 3, dsns: tuple[str, ...] = (), **settings: object
    ) -> None:
        """`dsns` are for the first nodes, in place of `dsn`."""
        self.directory = directory
        self._notes = directory / "notes"
        # clients of a test share one user, whose limit is not what it is about
        settings = {"lease_seconds": TTL, "requests_per_second": 0, **settings}
        ways = [*dsns, *[dsn] * (count - len(dsns))]
        self.nodes = [Node(f"n{n}", way, directory, **settings) for n, way in enumerate(ways, 1)]

    async def start(self) -> None:
        """Start the nodes that do not run."""
        for node in self.nodes:  # one after the other: the first makes the tables
            if not node.is_running:
                await node.start()

    async def stop(self) -> None:
        for node in self.nodes:
            await node.stop()

    @asynccontextmanager
    async def balanced(self) -> AsyncGenerator[Balancer]:
        """A load balancer in front of the nodes; those that do not run are started first."""
        await self.start()
        balancer = Balancer(self.nodes)
        await balancer.start()
        try:
            yield balancer
        finally:
            await balancer.stop()

    def started(self, word: str) -> int:
        """How often a prompt with these words was begun."""
        return sum(line.partition(" ")[2] == word for line in self._lines())

    def noted(self, beginning: str) -> list[str]:
        """The rest of each note with this beginning."""
        notes = [line.partition(" ")[2] for line in self._lines()]
        return [note.removeprefix(beginning) for note in notes if note.startswith(beginning)]

    async def runs(self, word: str) -> Node:
        """Wait until a node has begun a prompt with these words; returns that node."""
        async with asyncio.timeout(30):
            while True:
                for line in self._lines():
                    pid, _, what = line.partition(" ")
                    if what == word:
                        return next(node for node in self.nodes if node.pid == int(pid))
                await asyncio.sleep(0.02)

    def _lines(self) -> list[str]:
        return self._notes.read_text(encoding="utf-8").splitlines() if self._notes.exists() else []


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(30):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncGenerator[Balancer]:
    """Nodes of one test, behind a load balancer."""
    try:
        async with cluster.balanced() as balancer:
            yield balancer
    finally:
        await cluster.stop()

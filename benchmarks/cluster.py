"""A cluster under faults: nodes are killed, frozen, cut off and restarted, the database too, under load.

    python benchmarks/cluster.py [--minutes N] [--clients N] [--seed N] [--lease SECONDS]

Three node processes, behind a load balancer that keeps nobody anywhere. Clients of ours over WebSocket and
HTTP, and the official ones for Python and TypeScript, ask for numbered updates, over and over; one starts
processes and cancels them. One fault after the other, while at least one node is well:

    kill      kill -9 of a node, which is started again
    freeze    SIGSTOP of a node for half a lease to two and a half, then SIGCONT
    cut       nothing gets through between a node and the database, and nobody is told, for as long
    restart   the database is stopped, or killed with -9, and started again
    roll      all nodes are stopped with SIGTERM and started again, one after the other

Each answer to our clients must be whole and in order, or fail as interrupted; each prompt must have begun at
most once; what a client saw must be in the log, once; epochs must grow; no process may be left. One JSON line
at the end, and exit code 1 if anything was lost, doubled, out of order, or answered with another error.
`tests/cluster/test_faults_short.py` is the same with a few faults.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cluster"))

from cluster_clients import numbers, opened
from cluster_nodes import TTL, Balancer, Cluster, Node, running, until

import acpella
from acpella.schema import AgentMessageChunk, TextContent
from cluster_checks import Asked, check_database, processes_of
from cuttable import CuttableProxy, cuttable_proxy
from interop.conftest import peer
from postgres import PostgresServer, running_server

STUCK = 120.0
"""Seconds after which a prompt that is not answered counts as lost."""

GIVES_UP = 30.0
"""Seconds for an official client. Over HTTP it does not open a broken stream again, and waits for ever."""

FAULTS = {"kill": 10, "freeze": 2.5, "cut": 2.5, "restart": 1.2, "roll": 0.4}
"""How often each comes, in proportion."""

SCHEMA = "bench"

UPDATES = 60

OFFICIAL = ("client_official.py", "client_typescript.mjs")


class Load:
    """What the clients asked, and how it ended."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []
        self.gaps: list[float] = []
        """Seconds from an interruption to the next whole answer."""
        self.asked: list[Asked] = []

    @asynccontextmanager
    async def _opened(self, balancer: Balancer, transport: str) -> AsyncGenerator[Any]:
        """A session. Clients do not repeat their first connect by themselves; here they are told to."""
        async with AsyncExitStack() as stack:
            while True:
                try:
                    session = await stack.enter_async_context(opened(balancer, transport))
                    break
                except acpella.AcpellaError:
                    self.outcomes["first connect refused"] += 1
                    await asyncio.sleep(1)
            yield session

    async def watch(self, client: Awaitable[None]) -> None:
        """A client that fails is a finding, and no reason for the others to stop."""
        try:
            await client
        except Exception as error:
            self.problems.append(f"a client ended: {error!r}")

    async def ours(self, balancer: Balancer, name: str, transport: str, goes_on: Callable[[], bool]) -> None:
        """A client of ours that streams."""
        interrupted_at: float | None = None
        async with self._opened(balancer, transport) as session:
            count = 0
            while goes_on():
                count += 1
                asked = Asked(session.id, f"count {UPDATES} 0.02 {name}-{count}")
                await self._ask(asked, session.prompt(asked.word))
                if asked.outcome in ("stuck", "error"):
                    self.problems.append(f"{name} gave up at {time.strftime('%H:%M:%S')}")
                    return
                if asked.outcome == "whole":
                    if asked.seen != numbers(UPDATES):
                        self.problems.append(f"{asked.word}: {asked.seen[:200]!r}")
                    if interrupted_at is not None:
                        self.gaps.append(time.monotonic() - interrupted_at)
                        interrupted_at = None
                elif not numbers(UPDATES).startswith(asked.seen):
                    self.problems.append(f"{asked.word}, interrupted: {asked.seen[:200]!r}")
                elif asked.outcome == "interrupted":
                    interrupted_at = interrupted_at or time.monotonic()

    async def processes(self, balancer: Balancer, goes_on: Callable[[], bool]) -> None:
        """A client of ours whose turns start a process, and are cancelled."""
        async with self._opened(balancer, "ws") as session:
            count = 0
            while goes_on():
                count += 1
                asked = Asked(session.id, f"shell {self.mark} {count}")
                turn = session.prompt(asked.word)
                task = asyncio.create_task(self._ask(asked, turn))
                await asyncio.wait([task], timeout=3.0)
                if not task.done():
                    with suppress(acpella.AcpellaError, TimeoutError):  # `_ask` hears of it, too
                        await turn.cancel(within=STUCK)
                await task
                if asked.outcome in ("stuck", "error"):
                    return

    async def _ask(self, asked: Asked, turn: Any) -> None:
        self.asked.append(asked)
        try:
            async with asyncio.timeout(STUCK):
                async for update in turn:
                    if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                        asked.seen += update.content.text
            asked.outcome = "cancelled" if turn.stop_reason == "cancelled" else "whole"
        except acpella.AcpellaError as error:
            data: Any = getattr(error, "data", None)
            is_interrupted = isinstance(data, dict) and data.get("reason") == "interrupted"
            asked.outcome = "interrupted" if is_interrupted else "error"
            if not is_interrupted:
                self.problems.append(f"{asked.word}: {error!r}")
        except TimeoutError:
            asked.outcome = "stuck"
            self.problems.append(f"{asked.word} was not answered in {STUCK:g} seconds")
        self.outcomes[asked.outcome] += 1

    async def official(
        self, cluster: Cluster, client: str, url: str, name: str, goes_on: Callable[[], bool]
    ) -> None:
        """A client that knows nothing of nodes: what it shows is in order, though a fault may end it."""
        count = 0
        while goes_on():
            count += 1
            word = f"count 30 0.02 {name}-{count}"
            steps = [{"do": "new"}, {"do": "prompt", "text": word}, {"do": "again"}]
            steps.append({"do": "load", "until": numbers(30)[-4:]})
            process = await asyncio.create_subprocess_exec(
                *peer(client), json.dumps(steps), url,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                cwd=cluster.directory, env={**os.environ, "HOME": str(cluster.directory)},
            )  # fmt: skip
            ended = asyncio.create_task(process.communicate())
            done, _ = await asyncio.wait([ended], timeout=GIVES_UP)
            if not done:
                process.kill()
            out, _ = await ended
            self._check_official(word, process.returncode == 0, out)

    def _check_official(self, word: str, succeeded: bool, out: bytes) -> None:
        seen = ["", ""]
        half = 0
        session = ""
        for line in out.splitlines():
            try:
                event = json.loads(line)
            except ValueError:  # it was killed in the middle
                break
            if event["event"] == "new":
                session = event["sessionId"]
            elif event["event"] == "stop":
                half = 1
            elif event["event"] == "update" and event["update"]["sessionUpdate"] == "agent_message_chunk":
                seen[half] += event["update"]["content"]["text"]
        self.outcomes["official whole" if succeeded else "official failed"] += 1
        whole = numbers(30)
        if (succeeded and seen != [whole, whole]) or not all(whole.startswith(each) for each in seen):
            self.problems.append(f"{word}: {seen}")
        if succeeded:
            self.asked.append(Asked(session, word, whole, "whole"))


class Faults:
    """Disturbs a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        database: PostgresServer,
        proxies: list[CuttableProxy],
        chance: random.Random,
        lease: float,
    ) -> None:
        self._cluster = cluster
        self._database = database
        self._proxies = proxies
        self._chance = chance
        self._lease = lease
        self._unwell: set[int] = set()
        self._healed = asyncio.Event()
        self.done: Counter[str] = Counter()

    def until(self, end: float) -> Iterator[str]:
        """Faults for as long, as they come."""
        while time.monotonic() < end:
            yield from self._chance.choices([*FAULTS], [*FAULTS.values()])

    async def run(self, faults: Iterable[str]) -> None:
        """One fault after the other; then everything runs again."""
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await asyncio.sleep(self._chance.uniform(0.3, 1.2) * self._lease)
                if fault == "restart":
                    await self._restart()
                elif fault == "roll":
                    await self._all_well()
                    for number in range(len(self._proxies)):
                        await self._stop(number)
                else:
                    number = await self._a_node()
                    self._unwell.add(number)
                    group.create_task(self._heal(number, getattr(self, f"_{fault}")))

    async def _a_node(self) -> int:
        """One that is well, when another is, too."""
        while len(well := [n for n in range(len(self._proxies)) if n not in self._unwell]) < 2:
            await self._next_healed()
        return self._chance.choice(well)

    async def _all_well(self) -> None:
        while self._unwell:
            await self._next_healed()

    async def _next_healed(self) -> None:
        self._healed.clear()
        await self._healed.wait()

    async def _heal(self, number: int, fault: Callable[[int], Awaitable[None]]) -> None:
        await fault(number)
        self._unwell.discard(number)
        self._healed.set()

    async def _kill(self, number: int) -> None:
        self.done["kill -9 of a node"] += 1
        node = self._cluster.nodes[number]
        await node.kill()
        await self._start(node)

    async def _freeze(self, number: int) -> None:
        self.done["freeze"] += 1
        node = self._cluster.nodes[number]
        node.send(signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(0.5, 2.5) * self._lease)
        node.send(signal.SIGCONT)

    async def _cut(self, number: int) -> None:
        self.done["cut from the database"] += 1
        proxy = self._proxies[number]
        proxy.set("cut")
        await asyncio.sleep(self._chance.uniform(0.5, 2.5) * self._lease)
        proxy.set("open")
        if self._chance.random() < 0.5:
            proxy.drop_all()  # else they stay silent for ever

    async def _restart(self) -> None:
        kills = self._chance.random() < 0.5
        self.done["kill -9 of the database" if kills else "stop of the database"] += 1
        await asyncio.to_thread(self._database.kill if kills else self._database.stop)
        await asyncio.to_thread(self._database.start)

    async def _stop(self, number: int) -> None:
        self.done["SIGTERM of a node"] += 1
        node = self._cluster.nodes[number]
        node.send(signal.SIGTERM)
        await node.ended()
        await self._start(node)

    @staticmethod
    async def _start(node: Node) -> None:
        """As a service manager does: again, if it gave up because the database was away."""
        while True:
            try:
                await node.start()
                return
            except (AssertionError, TimeoutError):
                await node.stop()
                await asyncio.sleep(1)


def claim(directory: Path) -> None:
    """Have a directory for this run alone: what nodes of another one note there would be taken for ours."""
    directory.mkdir(parents=True, exist_ok=True)
    try:
        if any(directory.iterdir()):
            raise FileExistsError
        (directory / "run").open("x", encoding="utf-8").close()
    except FileExistsError:
        raise SystemExit(f"{directory} is of another run; name an empty directory, or none") from None


async def measure(
    minutes: float,
    clients: int,
    seed: int,
    lease: float,
    directory: str | None,
    *,
    plan: Sequence[str] = (),
    official: Sequence[str] = OFFICIAL,
) -> bool:
    """Whether all is well. With a `plan` it has these faults, and ends with them, whatever the time."""
    load = Load(f"600.{os.getpid()}")
    async with AsyncExitStack() as stack:
        database = stack.enter_context(running_server(options=()))
        place = directory or stack.enter_context(tempfile.TemporaryDirectory())
        proxies = [await stack.enter_async_context(cuttable_proxy(database.socket)) for _ in range(3)]
        ways = [f"postgresql://acpella@127.0.0.1:{p.port}/postgres?schema={SCHEMA}" for p in proxies]
        cluster = Cluster("", Path(place), dsns=tuple(ways), requests_per_second=0, lease_seconds=lease)
        faults = Faults(cluster, database, proxies, random.Random(seed), lease)
        async with running(cluster) as balancer:
            end = time.monotonic() + 60 * minutes
            planned = asyncio.Event()

            def goes_on() -> bool:
                return not planned.is_set() if plan else time.monotonic() < end

            async def disturb() -> None:
                await faults.run(plan or faults.until(end - 4 * lease))
                planned.set()

            async with asyncio.TaskGroup() as group:
                for number in range(clients):
                    transport = ("ws", "http")[number % 2]
                    group.create_task(load.watch(load.ours(balancer, f"c{number}", transport, goes_on)))
                group.create_task(load.watch(load.processes(balancer, goes_on)))
                for number, client in enumerate(official):
                    url = (balancer.url, balancer.ws_url)[(number + seed) % 2]
                    talks = load.official(cluster, client, url, f"o{number}", goes_on)
                    group.create_task(load.watch(talks))
                group.create_task(disturb())
            load.problems += await check_database(database.dsn(), SCHEMA, load.asked)
        try:
            await until(lambda: not processes_of(load.mark))
        except TimeoutError:
            load.problems.append(f"processes are left: {processes_of(load.mark)}")
        begun = [cluster.started(each.word) for each in load.asked]
    twice = sum(times > 1 for times in begun)
    print(
        json.dumps(
            {
                "case": "cluster",
                "minutes": minutes,
                "seed": seed,
                "lease": lease,
                "faults": dict(faults.done),
                "outcomes": dict(load.outcomes),
                "begun_twice": twice,
                "healed_after_s": round(statistics.median(load.gaps), 2) if load.gaps else None,
                "problems": len(load.problems),
                "first_problems": load.problems[:10],
            }
        ),
        flush=True,
    )
    return not load.problems and not twice


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--clients", type=int, default=6, help="clients of ours that stream")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lease", type=float, default=TTL, help="seconds until others take over from a node")
    parser.add_argument("--directory", help="an empty one, where the nodes' logs stay")
    given = parser.parse_args()
    if given.directory:
        claim(Path(given.directory))
    case = measure(given.minutes, given.clients, given.seed, given.lease, given.directory)
    return 0 if asyncio.run(case) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Nodes that offer the page: pages stay where they are, and know what people decided on any of them."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cluster_clients import plain
from cluster_nodes import Cluster, Node, running
from websockets.asyncio.client import ClientConnection, connect

from postgres import PostgresServer

pytestmark = pytest.mark.anyio

SCHEMA = "test_page_nodes"
TOKEN = "0123456789abcdef" * 4
GUEST = "fedcba9876543210" * 4
PAGE = {"acpella": {"page": True}}

NEW = {"cwd": "/", "mcpServers": []}


@pytest.fixture(scope="module")
def cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp(SCHEMA)
    (directory / "tokens").write_text(f"ann {TOKEN}\nbob {GUEST}\n")
    (directory / "tokens").chmod(0o600)
    nodes = Cluster(f"{postgres_server.dsn()}&schema={SCHEMA}", directory, count=2)
    for node in nodes.nodes:
        node.words = ["--web", "--token-file", str(directory / "tokens")]
    yield nodes
    asyncio.run(nodes.stop())


async def test_clients_of_a_server_with_a_page_are_served_by_every_node(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        async with plain(first, token=TOKEN) as client:
            assert await client.post(second, "session/new", NEW, number=1, key=1) == 202
            ((_, answer),) = await client.events(second, until='"id":1')
            session = answer["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "flood 20"}]}
            assert await client.post(second, "session/prompt", prompt, number=2, key=2) == 202
            events = await client.events(second, session=session, until="stopReason")
            assert [number for number, _ in events] == list(range(1, len(events) + 1))


async def test_a_page_stays_at_its_node_and_opens_its_session_on_another(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        async with plain(first, token=TOKEN, meta=PAGE) as client:
            assert await client.post(first, "session/new", NEW, number=1, key=1) == 202
            events = await client.events(first, until='"id":1')
            session = events[-1][1]["result"]["sessionId"]
            assert await client.post(second, "session/list", {}, number=2, key=2) == 404
        await first.kill()
        async with plain(second, token=TOKEN, meta=PAGE) as client:
            assert (
                await client.post(second, "session/load", {"sessionId": session, **NEW}, number=1, key=1)
                == 202
            )
            events = await client.events(second, until='"id":1')
            assert "result" in events[-1][1]


class Page:
    """A page over a WebSocket, which asks one thing after the other."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    async def ask(self, method: str, params: Any) -> Any:
        """The result, or the error."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._socket.send(json.dumps(message))
        answer = await self.told(lambda told: told.get("id") == self._number)
        return answer.get("result", answer.get("error"))

    async def told(self, is_it: Callable[[Any], object]) -> Any:
        """The next message that is so."""
        async with asyncio.timeout(30):
            while True:
                if is_it(message := json.loads(await self._socket.recv())):
                    return message


@asynccontextmanager
async def page(node: Node, token: str) -> AsyncGenerator[Page]:
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(f"ws://127.0.0.1:{node.port}/acp", additional_headers=headers) as socket:
        opened = Page(socket)
        await opened.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}, "_meta": PAGE})
        yield opened


def tells(session: str, *, people: int = 0) -> Callable[[Any], object]:
    """Whether a message is about this session in the list, with so many people in it."""
    return lambda told: any(
        entry["sessionId"] == session and entry["people"] == people
        for entry in told.get("params", {}).get("sessions", ())
    )


async def test_who_was_invited_at_one_node_comes_in_at_another_until_it_is_over(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        async with page(first, TOKEN) as ann, page(second, GUEST) as bob, page(second, TOKEN) as again:
            session = (await ann.ask("session/new", NEW))["sessionId"]
            await ann.ask("_acpella/session/rename", {"sessionId": session, "title": "Our plan"})
            watch = {"sessionId": session}
            assert "no such session" in (await bob.ask("_acpella/session/watch", watch))["message"]
            invitation = {"sessionId": session, "user": "bob"}
            assert await ann.ask("_acpella/session/invite", {**invitation, "role": "controller"}) == {}
            await bob.told(tells(session))  # by itself
            (entry,) = (await bob.ask("_acpella/sessions", {}))["sessions"]
            assert (entry["sessionId"], entry["owner"], entry["title"]) == (session, "ann", "Our plan")
            assert (await again.ask("_acpella/sessions", {}))["names"] == {session: "Our plan"}
            assert await bob.ask("session/load", {"sessionId": session, **NEW}) == {}
            assert (await bob.ask("_acpella/session/watch", watch))["role"] == "controller"
            await again.told(tells(session, people=1))
            prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "flood 3"}]}
            assert (await bob.ask("session/prompt", prompt))["stopReason"] == "end_turn"
            assert await ann.ask("_acpella/session/invite", {**invitation, "role": "nobody"}) == {}
            await again.told(tells(session))  # he had to leave
            assert (await bob.ask("_acpella/sessions", {}))["sessions"] == []
            assert "no such session" in (await bob.ask("session/prompt", prompt))["message"]


async def test_an_invitation_outlives_the_node_where_it_was_made(cluster: Cluster) -> None:
    async with cluster.balanced():
        first, second = cluster.nodes
        async with page(first, TOKEN) as ann:
            session = (await ann.ask("session/new", NEW))["sessionId"]
            invitation = {"sessionId": session, "user": "bob", "role": "observer"}
            assert await ann.ask("_acpella/session/invite", invitation) == {}
            await first.kill()
        await second.stop()
        await second.start()
        async with page(second, GUEST) as bob:
            entries = (await bob.ask("_acpella/sessions", {}))["sessions"]
            assert session in {entry["sessionId"] for entry in entries}
            assert await bob.ask("session/load", {"sessionId": session, **NEW}) == {}
            assert (await bob.ask("_acpella/session/watch", {"sessionId": session}))["role"] == "observer"


async def test_a_link_works_once_at_any_node_and_its_browser_everywhere(dsn: str, tmp_path: Path) -> None:
    nodes = Cluster(dsn, tmp_path, count=2)
    for node in nodes.nodes:
        node.words = ["--web"]
    async with running(nodes), httpx2.AsyncClient(timeout=30) as client:
        first, second = nodes.nodes

        async def log_in(node: Node, code: str) -> httpx2.Response:
            return await client.post(f"http://127.0.0.1:{node.port}/acp/login", json={"code": code})

        codes = [re.findall(r"/#(\S+)", node.log.read_text(encoding="utf-8"))[-1] for node in nodes.nodes]
        answers = await asyncio.gather(*(log_in(node, codes[0]) for node in (second, first, second)))
        assert sorted(answer.status_code for answer in answers) == [200, 401, 401]
        token = next(answer.json()["token"] for answer in answers if answer.status_code == 200)
        for node in nodes.nodes:
            async with page(node, token) as opened:
                assert "sessions" in await opened.ask("_acpella/sessions", {})
        assert (await log_in(first, "x" * 43)).status_code == 401
        await second.kill()
        assert (await log_in(first, codes[1])).json()["user"] == "you"

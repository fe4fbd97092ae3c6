"""A session whose turn runs on one node, looked on at and worked with from another."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cluster_clients import numbers
from cluster_nodes import Cluster

import acpella
from acpella.client import Permissions
from acpella.errors import RpcError

pytestmark = pytest.mark.anyio

PATIENCE = 60.0


class Person:
    """Our client at one node: what it was shown, and how it answers questions."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.session: Any = None
        self.updates: list[Any] = []
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.asked = asyncio.Event()
        self.unasked = asyncio.Event()
        self._news = asyncio.Event()

    def heard(self, update: Any) -> None:
        self.updates.append(update)
        self._news.set()

    async def permit(self, request: Any) -> Any:
        """Waits for what the test wants it to say."""
        self.asked.set()
        try:
            kind = await asyncio.shield(self.answer)
        finally:
            self.unasked.set()
        return next(option for option in request.options if option.kind == kind)

    def text(self, kind: str = "agent_message_chunk") -> str:
        chunks = [u for u in self.updates if u.__struct_config__.tag == kind]
        return "".join(chunk.content.text for chunk in chunks)

    def is_over(self) -> bool:
        ends = [u.meta for u in self.updates if u.__struct_config__.tag == "session_info_update"]
        return any(meta and meta.get("acpella", {}).get("turnRunning") is False for meta in ends)

    async def until(self, is_so: Any) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    async def new(self) -> str:
        self.session = await self.agent.new_session(cwd="/")
        self.session.on_update = self.heard
        return self.session.id

    async def load(self, session_id: str) -> None:
        self.session = await self.agent.load_session(session_id, cwd="/", on_update=self.heard)

    async def prompt(self, text: str) -> str:
        """The stop reason; what is said is in `updates`."""
        async with asyncio.timeout(PATIENCE):
            turn = self.session.prompt(text)
            async for update in turn:
                self.heard(update)
            return turn.stop_reason


@asynccontextmanager
async def person(port: int) -> AsyncGenerator[Person]:
    there: list[Person] = []

    async def permit(request: Any) -> Any:
        return await there[0].permit(request)

    permissions = Permissions("ask", ask=permit)
    async with acpella.connect(f"ws://127.0.0.1:{port}/acp", permissions=permissions) as agent:
        there.append(Person(agent))
        yield there[0]


async def test_each_update_once_and_in_order_on_both_nodes(cluster: Cluster) -> None:
    await cluster.start()
    async with person(cluster.nodes[0].port) as ann, person(cluster.nodes[1].port) as ben:
        session = await ann.new()
        turn = asyncio.create_task(ann.prompt("count 60 0.02"))
        await ann.until(lambda: "<5>" in ann.text())
        await ben.load(session)
        assert await turn == "end_turn"
        await ben.until(ben.is_over)
        assert ann.text() == ben.text() == numbers(60)
        assert ben.text("user_message_chunk") == "count 60 0.02"
        assert cluster.started("count 60 0.02") == 1


async def test_cancel_then_prompt_from_either_node(cluster: Cluster) -> None:
    await cluster.start()
    async with person(cluster.nodes[0].port) as ann, person(cluster.nodes[1].port) as ben:
        session = await ann.new()
        turn = asyncio.create_task(ann.prompt("tool 3600 watched"))
        await ann.until(lambda: "working" in ann.text())
        await ben.load(session)
        with pytest.raises(RpcError) as caught:
            await ben.prompt("too early")
        assert caught.value.code == -32600
        await ben.session.cancel()
        assert await turn == "cancelled"
        await ben.until(ben.is_over)
        for one, other, text in ((ben, ann, "from b"), (ann, ben, "from a"), (ben, ann, "b again")):
            assert await one.prompt(text) == "end_turn"
            await other.until(lambda other=other, text=text: other.text().endswith(text))
            assert other.text("user_message_chunk").endswith(text)
            assert cluster.started(text) == 1
        assert ann.text() == ben.text() == "workingfrom bfrom ab again"


@pytest.mark.parametrize("answers", ["owner", "watcher"])
async def test_a_permission_is_answered_from_either_node(cluster: Cluster, answers: str) -> None:
    """The first answer counts; the other is not asked any more."""
    await cluster.start()
    async with person(cluster.nodes[0].port) as ann, person(cluster.nodes[1].port) as ben:
        session = await ann.new()
        turn = asyncio.create_task(ann.prompt("ask"))
        async with asyncio.timeout(PATIENCE):
            await ann.asked.wait()
            await ben.load(session)
            await ben.asked.wait()
            one, other = (ann, ben) if answers == "owner" else (ben, ann)
            one.answer.set_result("allow_once")
            assert await turn == "end_turn"
            await other.unasked.wait()
        await ben.until(ben.is_over)
        assert ann.text() == ben.text() == "yes"


async def test_the_owner_is_killed_while_it_is_watched(cluster: Cluster) -> None:
    """The turn is closed as interrupted for everybody, and who looked on can go on with the session."""
    async with cluster.balanced() as balancer:
        balancer.left_out |= {"n2", "n3"}
        async with person(cluster.nodes[1].port) as ben, person(balancer.port) as ann:
            session = await ann.new()
            turn = asyncio.create_task(ann.prompt("tool 3600 to be killed"))
            await ann.until(lambda: "working" in ann.text())
            await ben.load(session)
            balancer.left_out.clear()
            await cluster.nodes[0].kill()
            await ben.until(ben.is_over)
            with pytest.raises(RpcError) as caught:
                await turn
            assert caught.value.data == {"reason": "interrupted"}
            failed = [each for each in ben.updates if getattr(each, "status", None) == "failed"]
            assert len(failed) == 1
            assert await ben.prompt("after") == "end_turn"
            assert cluster.started("tool 3600 to be killed") == cluster.started("after") == 1
            await ann.until(lambda: ann.text().endswith("after"))

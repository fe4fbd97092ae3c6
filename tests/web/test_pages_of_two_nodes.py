"""The pages of two nodes on one session: each node has a host of its own, at agents that share a store."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec import Raw

import acpella
from acpella.server.agent_factories import InProcessFactory
from acpella.sessions import MemoryStore
from acpella.web.shared.about import About
from acpella.web.shared.agent_host import AgentHost
from acpella.web.shared.records import SessionRecords
from acpella.web.shared.session import SharedSession

pytestmark = pytest.mark.anyio


class Changes:
    """Lets a test wait for something that changes with a session."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def __call__(self, session: object) -> None:
        self._news.set()

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not is_so():
                self._news.clear()
                await self._news.wait()


def told(session: SharedSession) -> bytes:
    """What pages of it read."""
    return b"\n".join(session.log.after(0, 1 << 20)[1])


async def test_a_question_that_is_answered_at_one_node_is_asked_at_the_other_no_more() -> None:
    agent = acpella.Agent("asking", store=MemoryStore())

    @agent.on_prompt
    async def reply(turn: acpella.Turn) -> None:
        await turn.say("yes" if await turn.permit(None, "Do it?") else "no")

    changes = Changes()
    hosts = [
        AgentHost(InProcessFactory(agent), "ann", About(cwd="/"), records=SessionRecords(), on_change=changes)
        for _ in range(2)
    ]
    here, there = hosts
    try:
        for host in hosts:
            await host.ready()
        name: str = (await here.call("session/new", {"cwd": "/", "mcpServers": []}))["sessionId"]
        own, other = here.session(name, cwd="/"), there.session(name, cwd="/")
        prompt = {"sessionId": name, "prompt": [{"type": "text", "text": "go"}]}
        turn = asyncio.create_task(here.call("session/prompt", prompt))
        await changes.until(lambda: own.questions)
        await there.reopen(other, replay=True)
        await changes.until(lambda: other.questions)
        assert other.turn_elsewhere is not None and b'"running":true' in told(other)
        number = next(iter(other.questions))
        chosen = Raw(b'{"outcome":{"outcome":"selected","optionId":"allow_once"}}')
        there.answer(other, number, by="ann", result=chosen)
        assert (await turn)["stopReason"] == "end_turn"
        await changes.until(lambda: not own.questions)
        assert b'"elsewhere":true' in told(own)
        await changes.until(lambda: other.state == "done")
        assert b'"running":false,"result":{"stopReason":"end_turn"}' in told(other)
    finally:
        for host in hosts:
            await host.close()
        await agent.close()

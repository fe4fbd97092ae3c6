"""An attempt to come back that hung on the way arrives late, and takes the connection from its own client."""

import asyncio
from collections.abc import Callable

import pytest
from test_cuts import hosting
from websockets.asyncio.client import connect

import acpella
from acpella import Agent, Turn
from acpella.client import RemoteAgent
from acpella.server import Runner

pytestmark = pytest.mark.anyio


def counting(go: asyncio.Event, begun: asyncio.Event) -> Agent:
    agent = Agent("counting", store="memory")

    @agent.on_prompt
    async def answer(turn: Turn) -> None:
        for number in range(20):
            await turn.say(f"<{number}>")
            if number == 10:
                begun.set()
                await go.wait()

    return agent


async def take_over(runner: Runner) -> None:
    """What another socket of the same client would do, and then it is gone."""
    (connection,) = runner.app.connections
    headers = {
        "Acp-Connection-Id": connection.id,
        "Acpella-Resume": "1",
        "Last-Event-ID": f"{runner.app.connections.generation}-2",
    }
    async with connect(runner.url.replace("http", "ws"), additional_headers=headers, proxy=None) as socket:
        socket.transport.abort()


async def test_a_client_comes_back_from_its_own_late_attempt() -> None:
    go, begun = asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(60), hosting(counting(go, begun)) as runner:
        async with acpella.connect(runner.url.replace("http", "ws")) as agent:
            session = await agent.new_session("/")
            turn = asyncio.ensure_future(session.prompt("go"))
            await begun.wait()
            await take_over(runner)
            await take_over(runner)
            go.set()
            assert (await turn).text == "".join(f"<{number}>" for number in range(20))


async def test_two_that_would_take_turns_for_ever_do_not() -> None:
    """Somebody else has the same connection: after a few times, the client makes a new one."""
    lost = asyncio.Event()

    def changed(agent: RemoteAgent) -> None:
        if agent.state == "reconnecting":
            lost.set()

    async with asyncio.timeout(60), hosting(counting(asyncio.Event(), asyncio.Event())) as runner:
        async with acpella.connect(runner.url.replace("http", "ws"), on_state=changed) as agent:
            await agent.new_session("/")
            (connection,) = runner.app.connections
            while not lost.is_set():
                await take_over(runner)
                await eventually(lambda: lost.is_set() or connection.readers == 1)  # the client is back


async def eventually(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.01)

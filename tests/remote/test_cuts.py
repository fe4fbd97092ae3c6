"""A bad network between our client and our server: nothing is lost, nothing comes twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy

import acpella
from acpella import Agent, Turn
from acpella.server import Runner, ServerSettings

pytestmark = pytest.mark.anyio

PADDING = "·" * 40


def counting_agent() -> Agent:
    """Counts as far as it is told, asks in between, and waits to be told to go on."""
    agent = Agent("counter")

    @agent.on_prompt
    async def count(turn: Turn) -> None:
        words = turn.text.split()
        for number in range(int(words[0])):
            await turn.say(f"{number}{PADDING} ")
            if len(words) > 1 and number % int(words[1]) == 0:
                await asyncio.sleep(0.002)

    return agent


@asynccontextmanager
async def hosting(
    agent: Agent | list[str], *, token: str | None = None, **settings: Any
) -> AsyncIterator[Runner]:
    runner = Runner(agent, port=0, settings=ServerSettings(**settings), token=token)
    runner.bind()
    running = asyncio.create_task(runner.run(signals=False))
    await runner.started.wait()
    try:
        yield runner
    finally:
        runner.stop()
        await running


def numbers(text: str) -> list[int]:
    return [int(word.removesuffix(PADDING)) for word in text.split()]


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_every_update_arrives_once_and_in_order_through_200_cuts(scheme: str, tmp_path: Path) -> None:
    """T-070 and beyond: both directions are cut in the middle of frames, events, POSTs and handshakes."""
    states: list[str] = []
    total = 0
    async with asyncio.timeout(120), hosting(counting_agent(), requests_per_second=0) as runner:
        async with Proxy(runner.port) as proxy:
            url = f"{scheme}://127.0.0.1:{proxy.port}/acp"
            async with acpella.connect(url, on_state=lambda agent: states.append(agent.state)) as agent:
                session = await agent.new_session(tmp_path)
                proxy.cut_randomly(seed=20261115, cuts=200)
                while proxy.cuts_left:
                    result = await session.prompt("500 20 " + "x" * 3000)
                    assert numbers(result.text) == list(range(500))
                    assert result.stop_reason == "end_turn"
                    total += 500
                assert proxy.cuts == 200
                assert numbers((await session.prompt("50")).text) == list(range(50))
    assert "reconnecting" not in states and states.count("interrupted") > 20


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_prompt_goes_on_while_its_client_is_away(scheme: str, tmp_path: Path) -> None:
    async with asyncio.timeout(60), hosting(counting_agent()) as runner, Proxy(runner.port) as proxy:
        away = asyncio.Event()

        def changed(agent: Any) -> None:
            if agent.state == "interrupted":
                away.set()

        url = f"{scheme}://127.0.0.1:{proxy.port}/acp"
        async with acpella.connect(url, on_state=changed) as agent:
            session = await agent.new_session(tmp_path)
            turn = session.prompt("200 1")
            heard = 0
            async for _ in turn:
                heard += 1
                if heard == 10:
                    proxy.refusing = True
                    proxy.cut_all()
                    await away.wait()
                    asyncio.get_running_loop().call_later(0.5, setattr, proxy, "refusing", False)
            assert numbers(turn.text) == list(range(200))


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_frozen_line_is_left_for_a_new_one(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-066: half-open sockets show by their silence."""
    monkeypatch.setattr(
        "acpella.transport.websocket.WebSocketChannel.__init__.__kwdefaults__",
        {"ping_every": 0.2, "on_link": None},
    )
    monkeypatch.setattr(
        "acpella.transport.http.HttpChannel.__init__.__kwdefaults__", {"silent_after": 0.6, "on_link": None}
    )
    async with asyncio.timeout(60), hosting(counting_agent(), keepalive_seconds=0.2) as runner:
        async with Proxy(runner.port) as proxy:
            back = asyncio.Event()

            def changed(agent: Any) -> None:
                if agent.state == "interrupted":
                    proxy.thaw()
                    back.set()

            async with acpella.connect(f"{scheme}://127.0.0.1:{proxy.port}/acp", on_state=changed) as agent:
                session = await agent.new_session(tmp_path)
                turn = session.prompt("300 1")
                async for _ in turn:
                    if not back.is_set():
                        proxy.freeze()
                await back.wait()
                assert numbers(turn.text) == list(range(300))


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_client_that_says_goodbye_leaves_nothing_at_the_server(scheme: str, tmp_path: Path) -> None:
    """CASE-9: it will not come back, so nothing is kept for it."""
    async with asyncio.timeout(20), hosting(counting_agent()) as runner:
        async with acpella.connect(f"{scheme}://127.0.0.1:{runner.port}/acp") as agent:
            await (await agent.new_session(tmp_path)).prompt("5")
            assert len(runner.app.connections) == 1
            (connection,) = runner.app.connections
            ended = asyncio.Event()
            close = connection.close
            connection.close = lambda *why, **more: (close(*why, **more), ended.set())  # type: ignore[method-assign]
        await ended.wait()
        assert len(runner.app.connections) == 0

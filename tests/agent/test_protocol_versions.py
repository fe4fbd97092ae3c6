"""`initialize` chooses the protocol version; a second one is a codec beside the first, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from acpella.agent import Agent, Turn
from acpella.agent.codec import CODECS
from acpella.transport import memory_pair
from agent.editor import CWD, PATIENCE, agent_of, editing
from agent.toy_codec import VERSION, ToyCodec
from interaction.ends import RawEnd
from interaction.wire import notification, request

pytestmark = pytest.mark.anyio


async def greet(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that speaks version 99 beside the first."""
    monkeypatch.setitem(CODECS, VERSION, ToyCodec)


@asynccontextmanager
async def raw(agent: Agent) -> AsyncIterator[RawEnd]:
    here, there = memory_pair()
    end = RawEnd(here)
    async with asyncio.timeout(PATIENCE):
        await here.open(end, write_high=2**20)
        serving = asyncio.create_task(agent.serve_on(there), name="serving")
        try:
            yield end
        finally:
            await here.close()
            await serving
            await agent.close()


HELLO = request(0, "initialize", {"protocolVersion": VERSION, "who": "me"})


async def test_the_newest_version_that_the_editor_knows_is_spoken(toy: None) -> None:
    async with raw(agent_of(greet)) as end:
        end.send(HELLO, request(1, "open", {"where": CWD}))  # at once: what follows is of the same version
        hello, opened = await end.messages(2)
        assert hello["result"] == {"protocolVersion": 99, "hello": "me", "from": "tested"}
        room = opened["result"]["room"]
        end.send(request(2, "say", {"room": room, "words": "hi"}))
        heard, ended = await end.messages(2)
        assert heard["method"] == "heard"
        assert heard["params"] == {"room": room, "words": "You said: hi"}
        assert ended["result"] == {"because": "end_turn"}


async def test_a_prompt_of_a_second_version_is_cancelled_in_its_words(toy: None) -> None:
    started = asyncio.Event()

    async def wait(turn: Turn) -> None:
        started.set()
        await asyncio.get_running_loop().create_future()

    async with raw(agent_of(wait)) as end:
        end.send(HELLO, request(1, "open", {"where": CWD}))
        room = (await end.messages(2))[1]["result"]["room"]
        end.send(request(2, "say", {"room": room, "words": "hi"}))
        await started.wait()
        end.send(notification("hush", {"room": room}))
        assert (await end.messages(1))[0]["result"] == {"because": "cancelled"}


async def test_the_methods_of_another_version_do_not_exist(toy: None) -> None:
    async with raw(agent_of(greet)) as end:
        end.send(HELLO, request(1, "session/new", {"cwd": CWD, "mcpServers": []}))
        answers = {answer["id"]: answer for answer in await end.messages(2)}
        assert "result" in answers[0] and answers[1]["error"]["code"] == -32601


@pytest.mark.parametrize("asked", [1, 2, 98])
async def test_an_editor_that_knows_only_older_versions_gets_the_newest_of_those(
    toy: None, asked: int
) -> None:
    async with editing(agent_of(greet), initialize=False) as editor:
        assert (await editor.initialize(asked))["protocolVersion"] == 1
        session = await editor.new()
        await editor.prompt(session, "hi")
        assert editor.said() == "You said: hi"
        assert (await editor.fails("open", {"where": CWD})).code == -32601


async def test_a_request_before_initialize_is_told_to_wait(toy: None) -> None:
    async with raw(agent_of(greet)) as end:
        end.send(request(1, "open", {"where": CWD}), HELLO, request(2, "open", {"where": CWD}))
        answers = {answer["id"]: answer for answer in await end.messages(3)}
        assert answers[1]["error"]["code"] == -32600
        assert "initialize first" in answers[1]["error"]["message"]
        assert "result" in answers[0] and "result" in answers[2]


async def test_an_unreadable_initialize_chooses_nothing(toy: None) -> None:
    async with raw(agent_of(greet)) as end:
        end.send(request(0, "initialize", {"protocolVersion": VERSION, "who": 5}))
        assert (await end.messages(1))[0]["error"]["code"] == -32602
        end.send(request(1, "initialize", {"protocolVersion": 1}))
        assert (await end.messages(1))[0]["result"]["protocolVersion"] == 1


async def test_the_choice_stays_when_initialize_is_repeated(toy: None) -> None:
    async with editing(agent_of(greet)) as editor:
        assert (await editor.initialize(VERSION))["protocolVersion"] == 1
        assert await editor.new()


@pytest.mark.parametrize("asked", [0, 1, 2, 65535])
async def test_with_one_version_whoever_asks_for_another_gets_that_one(asked: int) -> None:
    """R-102"""
    async with editing(agent_of(greet), initialize=False) as editor:
        assert (await editor.initialize(asked))["protocolVersion"] == 1

"""Scripted agents and clients: what a script says happens, over every transport."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.client import Timeouts, Workspace, connect
from acpella.errors import ConnectionClosed, RpcError, TransportError
from acpella.testing import (
    TRANSPORTS,
    ScriptedAgent,
    ScriptedClient,
    Transport,
    ask,
    call,
    crash,
    fail,
    garbage,
    plan,
    raw,
    reach,
    repeat,
    reply,
    say,
    say_answers,
    stall,
    stderr,
    stop,
    think,
    tool,
    update,
    wait,
)

pytestmark = pytest.mark.anyio

PATIENCE = 30


@pytest.fixture(params=TRANSPORTS)
def over(request: pytest.FixtureRequest) -> Transport:
    return request.param


async def test_a_script_is_followed_over_every_transport(over: Transport, tmp_path: Path) -> None:
    script = ScriptedAgent("parrot").on(
        "hello",
        think("a greeting"),
        plan("answer"),
        say("hi "),
        tool("Read a.txt", kind="read"),
        ask("Write b.txt", allowed=(say("written"),), refused=(say("not written"),)),
    )
    async with asyncio.timeout(PATIENCE), reach(script, over) as target:
        async with connect(target, permissions="allow-all") as agent:
            assert agent.info is not None and agent.info.name == "parrot"
            session = await agent.new_session(tmp_path)
            result = await session.prompt("well, hello there")
            assert result.text == "hi \n\nwritten"
            assert result.stop_reason == "end_turn"
            assert [(c.title, c.status) for c in result.tool_calls.values()] == [
                ("Read a.txt", "completed"),
                ("Write b.txt", "completed"),
            ]
            assert (await session.prompt("other words")).text == "You said: other words"
        async with connect(target, permissions="deny-all") as agent:
            session = await agent.new_session(tmp_path)
            assert (await session.prompt("hello")).text == "hi \n\nnot written"


async def test_a_turn_that_waits_is_cancelled(over: Transport, tmp_path: Path) -> None:
    script = ScriptedAgent().on("count", repeat(3, say("x")), wait(), say("never"))
    async with asyncio.timeout(PATIENCE), reach(script, over) as target, connect(target) as agent:
        session = await agent.new_session(tmp_path)
        async with session.prompt("count") as turn:
            async for _ in turn:
                if turn.text == "xxx":
                    break
        assert turn.stop_reason == "cancelled"
        assert (await session.prompt("still there?")).text == "You said: still there?"


async def test_a_crash_is_told(over: Transport, tmp_path: Path) -> None:
    script = ScriptedAgent().on("die", say("ouch"), crash(7))
    async with asyncio.timeout(PATIENCE), reach(script, over) as target:
        with pytest.raises((ConnectionClosed, RpcError)) as caught:
            async with connect(target, reconnect=False) as agent:
                session = await agent.new_session(tmp_path)
                await session.prompt("die")
    if over == "stdio":
        assert "code 7" in str(caught.value)


async def test_errors_stop_reasons_and_other_requests(tmp_path: Path) -> None:
    script = (
        ScriptedAgent(hello={"agentCapabilities": {"loadSession": True}})
        .on("refuse", stop("refusal"))
        .on("fail", fail("out of order", code=-32000, hint="later"))
        .on("", say("anything else"))
        .on_request("session/load", update("agent_message_chunk", content={"type": "text", "text": "before"}))
        .on_request("_my/method", reply(answer=42))
    )
    async with asyncio.timeout(PATIENCE), connect(script) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("refuse")).stop_reason == "refusal"
        with pytest.raises(RpcError, match="out of order") as caught:
            await session.prompt("fail")
        assert caught.value.data == {"hint": "later"}
        assert (await session.prompt("!")).text == "anything else"
        await agent.load_session("old", tmp_path)
    prompts = [
        m["params"]["prompt"][0]["text"] for m in script.received if m.get("method") == "session/prompt"
    ]
    assert prompts == ["refuse", "fail", "!"]
    async with asyncio.timeout(PATIENCE), ScriptedClient(script) as client:
        await client.initialize()
        assert (await client.call("_my/method"))["result"] == {"answer": 42}
        assert (await client.call("_other/method"))["error"]["code"] == -32601
        with pytest.raises(RpcError, match="no session"):
            raise RpcError((await client.prompt("nonsense", "x")).answer["error"]["message"], code=0)


async def test_a_script_names_its_session_and_says_what_it_was_answered(tmp_path: Path) -> None:
    script = (
        ScriptedAgent()
        .on_request("session/new", reply(sessionId="mine"))
        .on(
            "go",
            call("_my/unknown"),
            call("fs/read_text_file", path=str(tmp_path / "a")),
            say_answers("got "),
        )
    )
    (tmp_path / "a").write_text("kiwi", encoding="utf-8")
    async with asyncio.timeout(PATIENCE), connect(script.command, files=Workspace()) as agent:
        session = await agent.new_session(tmp_path)
        assert session.id == "mine"
        unknown, read = json.loads((await session.prompt("go")).text.removeprefix("got "))
        assert unknown["code"] == -32601 and read == {"content": "kiwi"}


async def test_an_agent_reads_the_clients_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("kiwi", encoding="utf-8")
    script = ScriptedAgent().on("read", call("fs/read_text_file", path=str(tmp_path / "a.txt")))
    async with asyncio.timeout(PATIENCE), connect(script, files=Workspace()) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("read")
    assert [m["result"] for m in script.received if "result" in m] == [{"content": "kiwi"}]


async def test_garbage_and_raw_lines_between_messages_are_survived(tmp_path: Path) -> None:
    script = (
        ScriptedAgent()
        .on_start(raw("Welcome to the agent!\n"), stderr("starting"))
        .on("mess", raw(b"{\n"), garbage(5000), raw('{"jsonrpc":"2.0","id":99,"result":{}}\n'), say("fine"))
    )
    async with asyncio.timeout(PATIENCE), connect(script.command) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("mess")).text == "fine"


async def test_a_flood_on_stderr_stops_nobody(tmp_path: Path) -> None:
    script = ScriptedAgent().on("flood", stderr("x" * 1000, times=5000), say("done"))
    async with asyncio.timeout(PATIENCE), connect(script.command) as agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("flood")).text == "done"


@pytest.mark.parametrize("over", ["stdio", "memory"])
async def test_an_agent_that_never_answers_is_told_as_such(over: Transport) -> None:
    script = ScriptedAgent().on_start(stall())
    async with asyncio.timeout(PATIENCE), reach(script, over) as target:
        with pytest.raises((TransportError, TimeoutError)):
            async with connect(target, timeouts=Timeouts(startup=1)):
                pass
        async with ScriptedClient(target, patience=0.2) as client:
            with pytest.raises(TimeoutError, match=r"did not answer initialize within 0.2 s"):
                await client.initialize()


SILENT = "import time; time.sleep(60)"
BAD = {
    "dies at once": ("import sys; sys.exit('no licence')", ConnectionClosed, "code 1[^$]*no licence"),
    "forks away": (f"import os\nif os.fork(): os._exit(0)\n{SILENT}", ConnectionClosed, "code 0"),
    "prints a banner": (f"print('Welcome!', flush=True); {SILENT}", TimeoutError, "printed 'Welcome!'"),
    "prints a banner and dies": ("print('Please log in')", ConnectionClosed, "printed 'Please log in'"),
    "binary": ("import os; os.write(1, bytes(range(256)) * 99)", ConnectionClosed, "printed .*not a message"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_program_that_is_no_agent_is_told_as_what_it_is(name: str) -> None:
    code, kind, words = BAD[name]
    async with asyncio.timeout(PATIENCE), ScriptedClient([sys.executable, "-c", code], patience=2) as client:
        with pytest.raises(kind, match=words):
            await client.initialize()


async def test_a_frame_of_a_hundred_megabytes_passes(tmp_path: Path) -> None:
    head = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":'
    chunk = '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
    big = repeat(2000, raw("x" * 50_000))
    script = ScriptedAgent().on("big", raw(head + chunk), big, raw('"}}}}\n'), say("!"))
    async with asyncio.timeout(PATIENCE), ScriptedClient(script) as client:
        await client.initialize()
        talk = await client.prompt(await client.new_session(str(tmp_path)), "big")
        assert len(talk.text) == 100_000_001


async def test_a_script_runs_as_a_program_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(
        "from acpella.testing import ScriptedAgent, say\nScriptedAgent().on('hi', say('program')).run()\n",
        encoding="utf-8",
    )
    async with asyncio.timeout(PATIENCE), connect(program) as agent:
        assert (await (await agent.new_session(tmp_path)).prompt("hi")).text == "program"


def test_a_script_that_is_too_long_for_a_command_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"write a program that ends with agent.run\(\)"):
        _ = ScriptedAgent().on("x", say("y" * 200_000)).command


# -- the client ------------------------------------------------------------------------------------------


def asking_agent() -> acpella.Agent:
    agent = acpella.Agent("asker", store="memory")

    @agent.on_prompt
    async def reply(turn: acpella.Turn) -> None:  # pyright: ignore[reportUnusedFunction] - it is registered
        if turn.text == "slow":
            for number in range(10_000):
                await turn.say(f"{number} ")
                await asyncio.sleep(0.01)
        await turn.say("yes" if await turn.permit(None, "May I?") else "no")

    return agent


async def test_a_client_in_plain_messages(over: Transport) -> None:
    if over == "stdio":
        pytest.skip("an agent object has no process")
    async with asyncio.timeout(PATIENCE), reach(asking_agent(), over) as target:
        async with ScriptedClient(target) as client:
            hello = await client.initialize()
            assert hello["agentInfo"]["name"] == "asker"
            session = await client.new_session(os.getcwd())
            talk = await client.prompt(session, "hi")
            assert (talk.text, talk.stop_reason) == ("yes", "end_turn")
            talk = await client.prompt(session, "slow", cancel_after=3)
            assert talk.stop_reason == "cancelled"
            assert len(talk.updates) >= 3


async def test_a_client_that_refuses(tmp_path: Path) -> None:
    answers: dict[str, Any] = {
        "session/request_permission": lambda params: {  # pyright: ignore[reportUnknownLambdaType]
            "outcome": {"outcome": "selected", "optionId": params["options"][-1]["optionId"]}
        }
    }
    async with asyncio.timeout(PATIENCE), ScriptedClient(asking_agent(), answers=answers) as client:
        await client.initialize()
        talk = await client.prompt(await client.new_session(str(tmp_path)), "hi")
        assert talk.text == "no"


async def test_a_client_that_never_answers_and_then_cancels(tmp_path: Path) -> None:
    answers: dict[str, Any] = {"session/request_permission": None}
    async with asyncio.timeout(PATIENCE), ScriptedClient(asking_agent(), answers=answers) as client:
        await client.initialize()
        session = await client.new_session(str(tmp_path))
        asking = asyncio.create_task(client.prompt(session, "hi"))
        await client.until(lambda: any("request_permission" in m.get("method", "") for m in client.received))
        await client.notify("session/cancel", {"sessionId": session})
        assert (await asking).stop_reason == "cancelled"


async def test_a_client_that_writes_nonsense_and_hangs_up() -> None:
    async with asyncio.timeout(PATIENCE), ScriptedClient(asking_agent()) as client:
        await client.write("{nonsense\n")
        await client.until(lambda: client.received)
        assert client.received[0]["error"]["code"] == -32700
        await client.hang_up()


# -- what cannot be reached ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "agent, over, words",
    [
        ([sys.executable], "memory", "a command is another process"),
        (acpella.Agent("here"), "stdio", "lives in this process"),
        ("http://127.0.0.1:1/acp", "stdio", "behind a URL"),
        ([sys.executable], "pigeon", "a transport is one of stdio, memory"),
    ],
)
async def test_what_cannot_be_reached_says_why(agent: Any, over: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        async with reach(agent, over):
            pass


@pytest.mark.parametrize("over", ["websocket", "http"])
async def test_a_hosted_command_gets_its_variables(over: Transport, tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(
        "import os\nfrom acpella.testing import ScriptedAgent, say\n"
        "ScriptedAgent().on('', say(os.environ['FRUIT'])).run()\n",
        encoding="utf-8",
    )
    async with asyncio.timeout(PATIENCE), reach(program, over, env={"FRUIT": "kiwi"}) as target:
        async with connect(target) as agent:
            assert (await (await agent.new_session(tmp_path)).prompt("?")).text == "kiwi"

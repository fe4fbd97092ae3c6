"""The client SDK against agents of ours, in this process and in others."""

import asyncio
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella import Agent, Mode, Permissions, Rule, Select, Terminals, Timeouts, Toggle, Workspace, connect
from acpella.client import ClientSession, ConnectedAgent, PromptTurn
from acpella.client.connect import AskOptions, ConnectOptions
from acpella.errors import (
    AuthRequired,
    ConnectionClosed,
    LocalProtocolError,
    RpcError,
    TransportError,
    Unsupported,
)
from acpella.schema import AgentMessageChunk, ImageContent, PlanEntry
from acpella.sync import SyncAgent, SyncSession, SyncTurn

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings or remembered answers of whoever runs it."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)


def agent_that(handler: Any, **options: Any) -> Agent:
    agent = Agent("tested", **options)
    agent.on_prompt(handler)
    return agent


async def test_a_turn_is_iterated_for_its_updates(tmp_path: Path) -> None:
    async def reply(turn: Any) -> Any:
        yield "one "
        yield "two"

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt("hi")
        texts = [u.content.text async for u in turn if isinstance(u, AgentMessageChunk)]  # type: ignore[union-attr]
        assert texts == ["one ", "two"]
        assert (turn.text, turn.stop_reason) == ("one two", "end_turn")


async def test_a_turn_is_awaited_for_its_result(tmp_path: Path) -> None:
    async def reply(turn: Any) -> None:
        plan = await turn.plan("think")
        await plan.done("think")
        async with turn.tool("Look", kind="read", locations=["a.txt"]) as call:
            call.show("found")
        await turn.think("hm")
        await turn.say("answer")
        await turn.usage(used=10, size=100)

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        result = await (await agent.new_session(tmp_path)).prompt("hi")
    assert (result.text, result.thoughts, result.stop_reason) == ("answer", "hm", "end_turn")
    (call,) = result.tool_calls.values()
    assert (call.title, call.kind, call.status) == ("Look", "read", "completed")
    assert call.locations[0].path == str(tmp_path / "a.txt")
    assert result.plan == [PlanEntry(content="think", priority="medium", status="completed")]
    assert result.context is not None and result.context.used == 10


async def test_leaving_the_block_cancels_the_turn(tmp_path: Path) -> None:
    async def reply(turn: Any) -> Any:
        async with turn.tool("Work for ever"):
            yield "started"
            await asyncio.Event().wait()

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        session = await agent.new_session(tmp_path)
        async with session.prompt("hi") as turn:
            async for _ in turn:
                if turn.text:
                    break
        assert turn.stop_reason == "cancelled"
        assert (await session.prompt("again").cancel()).stop_reason is None  # never started


async def test_cancelling_the_caller_cancels_the_turn(tmp_path: Path) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def reply(turn: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        session = await agent.new_session(tmp_path)

        async def ask() -> None:
            await session.prompt("hi")

        task = asyncio.create_task(ask())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()


async def test_a_pending_permission_is_answered_when_the_turn_is_cancelled(tmp_path: Path) -> None:
    """R-208"""
    asked = asyncio.Event()

    async def reply(turn: Any) -> str:
        return str(await turn.permit(None, "Delete everything"))

    async def nobody(request: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    permissions = Permissions("ask", ask=nobody)
    async with asyncio.timeout(60), connect(agent_that(reply), permissions=permissions) as agent:
        session = await agent.new_session(tmp_path)
        async with session.prompt("hi") as turn:
            await asked.wait()
            result = await turn.cancel()
        assert result.stop_reason == "cancelled"


@pytest.mark.parametrize(
    "permissions, kind, path, allowed",
    [
        (Permissions("allow-all"), "edit", "a.py", True),
        (Permissions("deny-all"), "read", "a.py", False),
        (Permissions("allow-reads"), "read", "a.py", True),
        (Permissions("allow-reads"), "edit", "a.py", False),
        (Permissions("ask"), "edit", "a.py", False),
        (
            Permissions("deny-all", rules=[Rule("allow", kinds=["edit"], paths=["*.py"])]),
            "edit",
            "a.py",
            True,
        ),
        (
            Permissions("deny-all", rules=[Rule("allow", kinds=["edit"], paths=["*.md"])]),
            "edit",
            "a.py",
            False,
        ),
        (Permissions("allow-all", rules=[Rule("deny", paths=["*/a.py"])]), "edit", "a.py", False),
    ],
)
async def test_policies_and_rules(
    tmp_path: Path, permissions: Permissions, kind: Any, path: str, allowed: bool
) -> None:
    async def reply(turn: Any) -> str:
        async with turn.tool("Touch", kind=kind, locations=[path]) as call:
            return str(await turn.permit(call, "Touch it"))

    async with asyncio.timeout(60), connect(agent_that(reply), permissions=permissions) as agent:
        result = await (await agent.new_session(tmp_path)).prompt("hi")
    assert result.text == str(allowed)


async def test_files_are_served_inside_the_roots_only(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "in.txt").write_text("inside", encoding="utf-8")
    (tmp_path / "out.txt").write_text("outside", encoding="utf-8")

    async def reply(turn: Any) -> str:
        read = await turn.files.read("in.txt")
        try:
            return read + await turn.files.read("../out.txt")
        except RpcError as error:
            return read + f" {error.code}"

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        result = await (await agent.new_session(root)).prompt("hi")
    assert result.text == "inside -32602"


async def test_writing_must_be_allowed(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        try:
            await turn.files.write("new.txt", "text")
        except Unsupported:
            return "refused"
        return "written"

    for files, said in ((Workspace(), "refused"), (Workspace(write=True), "written")):
        async with asyncio.timeout(60), connect(agent_that(reply), files=files) as agent:
            assert (await (await agent.new_session(tmp_path)).prompt("hi")).text == said
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "text"


async def test_terminals_run_real_commands(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        result = await turn.shell.run("echo $GREETING; exit 3", env={"GREETING": "hello"})
        return f"{result.output.strip()} {result.exit_code}"

    async with asyncio.timeout(60), connect(agent_that(reply), terminals=Terminals()) as agent:
        result = await (await agent.new_session(tmp_path)).prompt("hi")
    assert result.text == "hello 3"


async def test_modes_options_and_commands_are_known(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return f"{turn.session.mode} {turn.session.option('model')} {turn.session.option('loud')}"

    agent_object = agent_that(
        reply,
        modes=[Mode("a", "A"), Mode("b", "B")],
        options=[Select("model", "Model", ["x", "y"], category="model"), Toggle("loud", "Loud")],
    )
    agent_object.command("hello", "Says hello")(reply)
    async with asyncio.timeout(60), connect(agent_object) as agent:
        session = await agent.new_session(tmp_path)
        await session.set_mode("b")
        await session.set_option("loud", True)
        await session.set_model("y")
        assert (await session.prompt("hi")).text == "b y True"
        assert session.mode == "b"
        assert [command.name for command in session.commands] == ["hello"]
        with pytest.raises(ValueError, match="no mode 'c'; there are: a, b"):
            await session.set_mode("c")
        with pytest.raises(ValueError, match="it can be: x, y"):
            await session.set_option("model", "z")


async def test_sessions_are_loaded_resumed_forked_listed_and_deleted(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return f"heard {turn.text}"

    agent_object = agent_that(reply, store="memory")
    async with asyncio.timeout(60), connect(agent_object) as agent:
        first = await agent.new_session(tmp_path)
        await first.prompt("one")
        await first.close()
        heard: list[Any] = []
        loaded = await agent.load_session(first.id, tmp_path, on_update=lambda u: heard.append(u))
        assert [u.content.text for u in heard if hasattr(u, "content")] == ["one", "heard one"]
        assert (await loaded.prompt("two")).text == "heard two"
        forked = await agent.fork_session(first.id, tmp_path)
        assert {info.session_id for info in await agent.list_sessions(cwd=tmp_path)} == {first.id, forked.id}
        await agent.delete_session(first.id)
        await agent.delete_session(first.id)
        assert [info.session_id for info in await agent.list_sessions()] == [forked.id]
        await agent.resume_session(forked.id, tmp_path)


async def test_what_the_agent_does_not_offer_is_said_before_it_is_asked(tmp_path: Path) -> None:
    async def reply(turn: Any) -> None: ...

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(Unsupported, match="tested does not load sessions"):
            await agent.load_session("x")
        with pytest.raises(Unsupported, match="does not list sessions"):
            await agent.list_sessions()
        with pytest.raises(Unsupported, match="no modes"):
            await session.set_mode("a")
        with pytest.raises(Unsupported, match="takes no images"):
            session.prompt(ImageContent(data="AA==", mime_type="image/png"))


async def test_a_login_that_is_missing_is_named(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return "in"

    async def log_in() -> None: ...

    agent_object = agent_that(reply, logins=[acpella.Login("oauth", "Browser", run=log_in)])
    async with asyncio.timeout(60), connect(agent_object) as agent:
        with pytest.raises(AuthRequired, match=r"log in first with one of: oauth \(Browser\)"):
            await agent.new_session(tmp_path)
        await agent.authenticate("oauth")
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("hi")).text == "in"
        await agent.logout()
        with pytest.raises(AuthRequired):
            await agent.new_session(tmp_path)


async def test_an_agent_that_dies_in_a_turn_says_how(tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text(
        "import acpella, os, sys\n"
        "async def reply(turn):\n"
        "    await turn.say('last words')\n"
        "    print('the reason', file=sys.stderr, flush=True)\n"
        "    os._exit(9)\n"
        "acpella.run(reply)\n",
        encoding="utf-8",
    )
    async with asyncio.timeout(20), connect(program) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(ConnectionClosed, match="exited with code 9") as caught:
            await session.prompt("hi")
        assert caught.value.exit_code == 9
        assert "the reason" in str(caught.value)


async def test_an_agent_that_never_answers_is_given_up(tmp_path: Path) -> None:
    silent = [sys.executable, "-c", "import sys; sys.stderr.write('thinking\\n'); sys.stdin.read()"]
    with pytest.raises(TransportError, match="did not answer within 1 s; is it an ACP agent") as caught:
        async with connect(silent, timeouts=Timeouts(startup=1)):
            pass
    assert "thinking" in str(caught.value)


async def test_a_silent_turn_is_cancelled(tmp_path: Path) -> None:
    async def reply(turn: Any) -> None:
        await asyncio.Event().wait()

    timeouts = Timeouts(idle_turn=0.2, cancel=5)
    async with asyncio.timeout(60), connect(agent_that(reply), timeouts=timeouts) as agent:
        result = await (await agent.new_session(tmp_path)).prompt("hi")
        assert result.stop_reason == "cancelled"


async def test_a_silent_turn_may_take_its_time_to_stop(tmp_path: Path) -> None:
    """Zero means no limit; the agent was killed at once."""

    async def reply(turn: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)

    timeouts = Timeouts(idle_turn=0.2, cancel=0)
    async with asyncio.timeout(60), connect(agent_that(reply), timeouts=timeouts) as agent:
        result = await (await agent.new_session(tmp_path)).prompt("hi")
        assert result.stop_reason == "cancelled"


@pytest.mark.parametrize("overflow, all_arrive", [("block", True), ("drop_oldest", False)])
async def test_a_slow_consumer_gets_what_the_policy_says(
    tmp_path: Path, overflow: Any, all_arrive: bool
) -> None:
    """D7"""

    async def reply(turn: Any) -> Any:
        for number in range(20_000):
            yield f"{number} "

    async with asyncio.timeout(30), connect(agent_that(reply)) as agent:
        turn = (await agent.new_session(tmp_path)).prompt("hi", overflow=overflow)
        seen = 0
        async for update in turn:
            seen += isinstance(update, AgentMessageChunk)
            if seen == 1:
                for _ in range(1000 if overflow == "drop_oldest" else 30):
                    await asyncio.sleep(0.01)
                    if turn.dropped:
                        break
        assert (seen == 20_000) is all_arrive
        assert (turn.dropped == 0) is all_arrive


async def test_extension_methods_go_both_ways(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return str(await turn.extension("_test/back", {"n": 1}))

    agent_object = agent_that(reply)

    @agent_object.on_request("_test/there")
    async def there(params: Any) -> Any:
        return {"got": params}

    requests = {"_test/back": lambda params: {"n": params["n"] + 1}}
    async with asyncio.timeout(60), connect(agent_object, requests=requests) as agent:
        assert await agent.extension("_test/there", [1, 2]) == {"got": [1, 2]}
        assert (await (await agent.new_session(tmp_path)).prompt("hi")).text == "{'n': 2}"


def test_the_blocking_twin(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(
        "import acpella\nasync def reply(turn):\n    yield 'a'\n    yield turn.text\nacpella.run(reply)\n",
        encoding="utf-8",
    )
    assert acpella.ask(program, "hi").text == "ahi"
    with acpella.sync.connect(program) as agent:
        session = agent.new_session(tmp_path)
        assert [type(update).__name__ for update in session.prompt("x")][:2] == ["AgentMessageChunk"] * 2
        assert session.prompt("y").wait().text == "ay"


@pytest.mark.parametrize(
    "kind, twin, apart",
    [
        (ConnectedAgent, SyncAgent, {"connection", "note_stderr", "remembered_as"}),
        (ClientSession, SyncSession, set[str]()),
        (PromptTurn, SyncTurn, set[str]()),
    ],
)
def test_the_blocking_twin_has_all_that_the_client_has(kind: type, twin: type, apart: set[str]) -> None:
    public = {name for name in vars(kind) if not name.startswith("_")}
    assert public - set(vars(twin)) == apart


def test_the_options_of_connect_are_typed_for_those_who_pass_them_on() -> None:
    options = set(inspect.signature(connect).parameters) - {"target"}
    assert set(ConnectOptions.__annotations__) == options == set(AskOptions.__annotations__) | {"cwd"}


def test_a_blocking_turn_waits_when_it_is_read(tmp_path: Path) -> None:
    """`.text` and its like send the prompt; while a turn is iterated they tell what is known so far."""
    program = tmp_path / "agent.py"
    program.write_text(
        "import acpella\nasync def reply(turn):\n    yield 'a'\n    yield turn.text\nacpella.run(reply)\n",
        encoding="utf-8",
    )
    with acpella.sync.connect(program) as agent:
        session = agent.new_session(tmp_path)
        assert session.prompt("1").text == "a1"
        assert session.prompt("2").result.text == "a2"
        assert session.prompt("3").stop_reason == "end_turn"
        assert session.prompt("4").tool_calls == {}
        turn = session.prompt("5")
        seen = [turn.text for update in turn if isinstance(update, AgentMessageChunk)]
        assert seen[-1] == turn.text == turn.wait().text == "a5" and seen[0] in ("a", "a5")
        with session.prompt("6") as turn:
            assert turn.wait().text == "a6"
        heard: list[Any] = []
        session.on_update = heard.append
        assert session._session.on_update == heard.append, "it is set on the session itself"
        assert session.agent.new_session(tmp_path).prompt("7").text == "a7"
        with pytest.warns(RuntimeWarning, match="iterate it, call wait"):
            session.prompt("8")


async def test_a_result_that_nobody_sent_for_is_no_empty_one(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return "answer"

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        turn = (await agent.new_session(tmp_path)).prompt("hi")
        for name in ("result", "text"):
            with pytest.raises(LocalProtocolError, match=r"await session\.prompt"):
                getattr(turn, name)
        assert (await turn) is turn.result


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: Timeouts(startup=-1), ValueError, "Timeouts.startup is a number of seconds"),
        (lambda: Timeouts(cancel=float("nan")), ValueError, "Timeouts.cancel"),
        (lambda: Timeouts(request="5"), TypeError, "Timeouts.request"),  # type: ignore[arg-type]
        (lambda: Terminals(timeout=-5), ValueError, "timeout is a number of seconds"),
        (lambda: connect("x", timeouts=5), TypeError, r"Timeouts\(request=5\)"),  # type: ignore[arg-type]
        (lambda: connect("x", files="yes"), TypeError, r"Workspace\(write=True\)"),  # type: ignore[arg-type]
        (lambda: connect("x", terminals=1), TypeError, "terminals="),  # type: ignore[arg-type]
        (lambda: connect("x", permissions=True), TypeError, "permissions="),  # type: ignore[arg-type]
        (lambda: connect("x", permissions="yes"), ValueError, "allow-reads"),  # type: ignore[arg-type]
        (lambda: connect("x", reconnect=3), TypeError, r"Restarts\(budget"),  # type: ignore[arg-type]
    ],
)
def test_options_that_are_none_are_refused_in_words(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


async def test_an_overflow_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        return "answer"

    async with asyncio.timeout(60), connect(agent_that(reply)) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(ValueError, match="'block' or 'drop_oldest', not 'bogus'"):
            session.prompt("hi", overflow="bogus")  # type: ignore[arg-type] - that is the mistake

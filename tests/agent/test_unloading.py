"""Not too many sessions in memory (C16), and the hooks that tell of their coming and going."""

import asyncio
from typing import Any

import pytest

from acpella.agent import Mode, Select
from acpella.errors import RpcError
from acpella.sessions import Store
from agent.conversation import conversing
from agent.editor import agent_of, editing, opened, prompt_params

pytestmark = pytest.mark.anyio


async def test_the_longest_unused_session_is_unloaded_and_comes_back_on_use(store: Store) -> None:
    """C16: with its state, mode, options, directories and place."""
    opened_sessions: list[str] = []
    closed_sessions: list[str] = []

    async def reply(turn: Any) -> str:
        session = turn.session
        session.state["count"] = session.state.get("count", 0) + 1
        roots = " ".join(map(str, session.roots))
        return f"{session.state['count']} {session.mode} {session.option('model')} {roots};"

    agent = agent_of(
        reply,
        store=store,
        modes=[Mode("ask", "Ask"), Mode("code", "Code")],
        options=[Select("model", "Model", ["small", "large"])],
        settings={"max_sessions": 2},
    )
    agent.on_session(lambda session: opened_sessions.append(session.id))
    agent.on_close(lambda session: closed_sessions.append(session.id))
    async with editing(agent) as editor:
        first = await editor.new(additionalDirectories=["/more"])
        await editor.call("session/set_mode", {"sessionId": first, "modeId": "code"})
        await editor.set_option(first, "model", "large")
        await editor.prompt(first)
        for _ in range(3):
            await editor.new()
        assert len(in_memory(agent)) == 2 and first not in in_memory(agent)
        assert first in closed_sessions
        await editor.prompt(first)
        assert editor.said(first) == "1 code large /project /more;2 code large /project /more;"
        assert opened_sessions.count(first) == 2
        assert len(in_memory(agent)) == 2


def in_memory(agent: Any) -> list[str]:
    return [session.id for session in agent._open_sessions.all()]


async def test_the_directory_of_a_load_holds_after_an_unload(store: Store) -> None:
    async def reply(turn: Any) -> str:
        return f"{turn.session.cwd};"

    async with editing(agent_of(reply, store=store, settings={"max_sessions": 1})) as editor:
        session = await editor.new(cwd="/first")
        await editor.load(session, cwd="/second")
        await editor.prompt(session)
        await editor.new()
        await editor.prompt(session)
        assert editor.said(session) == "/second;/second;"


@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option", "session/close"])
async def test_every_request_finds_an_unloaded_session(method: str, store: Store) -> None:
    async with editing(conversing(store, settings={"max_sessions": 1})) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        await editor.new()
        params = {"sessionId": session, "modeId": "code", "configId": "model", "value": "large"}
        await editor.call(method, params)
        if method != "session/close":
            await editor.prompt(session, "two")
            assert editor.said(session).endswith("two is number 2")
        else:
            assert (await editor.prompt_fails(session)).code == -32002


async def test_requests_at_once_bring_an_unloaded_session_back_once(store: Store) -> None:
    async with editing(conversing(store, settings={"max_sessions": 1})) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        for number in range(2, 6):
            await editor.new()
            mode = {"sessionId": session, "modeId": "code"}
            await asyncio.gather(
                editor.call("session/set_mode", mode),
                editor.prompt(session, "more"),
                editor.call("session/set_mode", mode),
                editor.set_option(session, "model", "large"),
            )
            assert editor.said(session).endswith(f"more is number {number}")
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "onemoremoremoremore"


async def test_many_sessions_at_once_in_little_room_lose_nothing(store: Store) -> None:
    """More are used than may be in memory: each comes and goes, none is taken away while it is needed."""
    async with editing(conversing(store, settings={"max_sessions": 1}), patience=30) as editor:
        sessions = [await editor.new() for _ in range(6)]
        for number in range(1, 6):
            await asyncio.gather(*(editor.prompt(session, "again") for session in sessions))
            for session in sessions:
                assert editor.said(session).endswith(f"again is number {number}")


async def test_a_busy_session_is_never_unloaded(store: Store) -> None:
    go_on = asyncio.Event()

    async def reply(turn: Any) -> str:
        await turn.say("begun ")
        await go_on.wait()
        return "ended"

    async with editing(agent_of(reply, store=store, settings={"max_sessions": 1})) as editor:
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until_said("begun")
        for _ in range(5):
            await editor.new()
        go_on.set()
        assert (await prompt)["stopReason"] == "end_turn"
        assert editor.said() == "begun ended"


async def test_an_idle_session_is_unloaded_and_comes_back(store: Store) -> None:
    """C16: the reaper."""
    gone = asyncio.Event()
    agent = conversing(store, settings={"session_idle_timeout": 0.05})
    agent.on_close(lambda session: gone.set())
    async with editing(agent) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        await gone.wait()
        await editor.prompt(session, "two")
        assert editor.said().endswith("two is number 2")


async def test_without_a_store_sessions_are_never_unloaded(store: Store) -> None:
    async def reply(turn: Any) -> str:
        turn.session.state["count"] = turn.session.state.get("count", 0) + 1
        return str(turn.session.state["count"])

    unloaded = asyncio.Event()
    settings = {"max_sessions": 1, "session_idle_timeout": 0.02}
    stored = conversing(store, settings={"session_idle_timeout": 0.05})
    stored.on_close(lambda session: unloaded.set())
    async with editing(agent_of(reply, settings=settings)) as editor, editing(stored) as other:
        session = await editor.new()
        await editor.prompt(session)
        await asyncio.gather(*(editor.new() for _ in range(5)))
        await other.prompt(await other.new())
        await unloaded.wait()  # by then, one with a store would have been unloaded twice
        await editor.prompt(session)
        assert editor.said(session) == "12"


async def test_an_unloaded_session_that_another_connection_took_comes_back_with_what_was_missed(
    store: Store,
) -> None:
    agent = conversing(store, settings={"max_sessions": 1})
    async with opened(agent) as one, opened(agent) as other:
        session = await one.new()
        await one.prompt(session, "one")
        await one.new()  # unloads it
        await other.load(session)
        assert await other.prompt(session, "two") == "end_turn"
        assert await one.prompt(session, "three") == "end_turn"
        assert one.said(session) == "one is number 1two is number 2three is number 3"
        await other.until_said("three is number 3")
        assert await other.prompt(session, "four") == "end_turn"
    await agent.close()


async def test_a_hook_that_fails_leaves_no_half_open_session(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    agent = conversing(store)
    broken = True

    @agent.on_session
    async def check(session: Any) -> None:
        if broken:
            raise RuntimeError("no database")

    async with editing(agent) as editor:
        assert (await editor.fails("session/new", {"cwd": "/a", "mcpServers": []})).code == -32603
        assert in_memory(agent) == []
        broken = False
        session = await editor.new()
        broken = True
        with pytest.raises(RpcError):
            await editor.load(session)
        broken = False
        await editor.load(session)
        assert await editor.prompt(session) == "end_turn"
    assert "no database" in caplog.text


async def test_a_hook_that_hangs_does_not_keep_a_session_open(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acpella.agent.open_sessions.CLOSE_GRACE", 1.0)
    agent = conversing(store)

    @agent.on_close
    async def hang(session: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async with asyncio.timeout(30):  # all 60 at once, not one after the other
        async with editing(agent) as editor:
            session = await editor.new()
            await editor.prompt(session, "one")
            await editor.call("session/close", {"sessionId": session})
            await editor.load(session)
            for _ in range(60):
                await editor.new()


async def test_hooks_tell_what_happens_to_sessions(store: Store) -> None:
    seen: list[tuple[str, Any]] = []
    agent = conversing(store)
    agent.on_session(lambda session: seen.append(("open", session.id)))
    agent.on_close(lambda session: seen.append(("close", session.id)))
    agent.on_mode(lambda session, mode: seen.append(("mode", mode)))
    agent.on_option(lambda session, option, value: seen.append((option, value)))
    async with editing(agent) as editor:
        session = await editor.new()
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        await editor.set_option(session, "model", "large")
        await editor.call("session/close", {"sessionId": session})
        assert seen == [("open", session), ("mode", "code"), ("model", "large"), ("close", session)]


async def test_the_sessions_of_a_user_in_the_store_can_be_limited(store: Store) -> None:
    """HOSTING 6: new, forked and imported ones; what was deleted makes room."""
    agent = conversing(store, settings={"max_stored_sessions": 3})
    async with editing(agent) as editor:
        first, *_ = [await editor.new() for _ in range(3)]
        document = await editor.call("_session/export", {"sessionId": first})
        place = {"cwd": "/project", "mcpServers": []}
        for method, params in (
            ("session/new", place),
            ("session/fork", {"sessionId": first, **place}),
            ("_session/import", {"document": document}),
        ):
            with pytest.raises(RpcError, match="3 sessions are kept for you already") as refusal:
                await editor.call(method, params)
            assert refusal.value.code == -32001, method
        await editor.prompt(first)
        await editor.call("session/load", {"sessionId": first, **place})
        await editor.call("session/delete", {"sessionId": first})
        assert await editor.new()
        assert await agent.import_session(document, principal="somebody else")

"""Sessions of one agent are independent: none waits for another (A7, A8, B4, C3)."""

import asyncio
import threading
from typing import Any

import pytest

from acpella.sessions import Store
from agent.editor import agent_of, editing, opened, prompt_params

pytestmark = pytest.mark.anyio


async def test_fifty_sessions_at_once_never_mix() -> None:
    """C3."""

    async def reply(turn: Any) -> Any:
        for number in range(20):
            yield f"{turn.text}:{number} "
            await asyncio.sleep(0)

    async with editing(agent_of(reply, store="memory"), patience=30) as editor:
        sessions = [await editor.new() for _ in range(50)]
        reasons = await asyncio.gather(*(editor.prompt(s, f"p{i}") for i, s in enumerate(sessions)))
        assert set(reasons) == {"end_turn"}
        for i, session in enumerate(sessions):
            assert editor.said(session) == "".join(f"p{i}:{number} " for number in range(20))


async def test_threads_of_fifty_sessions_run_side_by_side() -> None:
    everybody = threading.Barrier(50, timeout=8)

    def reply(turn: Any) -> str:
        everybody.wait()
        return turn.text

    async with editing(agent_of(reply), patience=30) as editor:
        sessions = [await editor.new() for _ in range(50)]
        await asyncio.gather(*(editor.prompt(s, f"p{i}") for i, s in enumerate(sessions)))
        assert [editor.said(s) for s in sessions] == [f"p{i}" for i in range(50)]


@pytest.mark.parametrize("trouble", ["permission", "crash", "thread", "endless stream", "never ends"])
async def test_a_session_in_trouble_delays_no_other(trouble: str, store: Store) -> None:
    """A7, A8; not even session/list."""
    stop = threading.Event()

    async def reply(turn: Any) -> Any:
        if turn.text == "fine":
            yield "fine"
        elif trouble == "permission":
            await turn.permit(None, "May I?")
        elif trouble == "crash":
            raise RuntimeError("crash")
        elif trouble == "endless stream":
            while not stop.is_set():
                yield "."
        else:
            await asyncio.get_running_loop().create_future()

    def plain_reply(turn: Any) -> str:
        if turn.text == "fine":
            return "fine"
        stop.wait()
        return ""

    agent = agent_of(plain_reply if trouble == "thread" else reply, store=store)
    async with editing(agent, patience=30) as editor:
        editor.on["session/request_permission"] = lambda params: asyncio.get_running_loop().create_future()
        bad, good = await editor.new(), await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(bad, "trouble")))
        if trouble == "crash":
            await asyncio.wait([prompt])
        for _ in range(5):
            assert await editor.prompt(good, "fine") == "end_turn"
            await editor.call("session/list")
            await editor.call("session/close", {"sessionId": await editor.new()})
        stop.set()
        await editor.cancel(bad)
        await asyncio.wait([prompt])
        prompt.exception()


async def test_a_second_prompt_in_a_busy_session_is_refused_and_disturbs_nothing() -> None:
    """B4."""
    go_on = asyncio.Event()

    async def reply(turn: Any) -> Any:
        yield f"{turn.text} begun "
        await go_on.wait()
        yield f"{turn.text} ended "

    async with editing(agent_of(reply, store="memory")) as editor:
        session = await editor.new()
        first = asyncio.create_task(editor.call("session/prompt", prompt_params(session, "first")))
        await editor.until_said("begun")
        for _ in range(3):
            error = await editor.prompt_fails(session, "second")
            assert error.code == -32600
            assert "running" in error.message
        go_on.set()
        assert (await first)["stopReason"] == "end_turn"
        assert await editor.prompt(session, "third") == "end_turn"
        assert editor.said() == "first begun first ended third begun third ended "
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "firstthird"


async def test_two_prompts_in_one_chunk_run_one() -> None:
    async def reply(turn: Any) -> str:
        await asyncio.sleep(0)
        return turn.text

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        answers = await asyncio.gather(
            *(editor.call("session/prompt", prompt_params(session, f"p{i}")) for i in range(5)),
            return_exceptions=True,
        )
        assert [getattr(answer, "code", None) for answer in answers] == [None] + [-32600] * 4
        assert editor.said() == "p0"


async def test_many_editors_share_one_agent() -> None:
    async def reply(turn: Any) -> str:
        turn.session.state["count"] = turn.session.state.get("count", 0) + 1
        return f"{turn.text} {turn.session.state['count']}"

    agent = agent_of(reply, store="memory")
    async with opened(agent) as one, opened(agent) as other:
        here, there = await one.new(), await other.new()
        await asyncio.gather(one.prompt(here, "one"), other.prompt(there, "other"))
        assert (one.said(), other.said()) == ("one 1", "other 1")
        assert (await one.prompt_fails(there)).code == -32002  # not opened on this connection
        assert len((await one.call("session/list"))["sessions"]) == 2
    await agent.close()


async def test_an_editor_that_leaves_takes_only_its_own_turns_along() -> None:
    go_on = asyncio.Event()

    async def reply(turn: Any) -> str:
        await turn.say("begun ")
        await go_on.wait()
        return "ended"

    agent = agent_of(reply, store="memory")
    async with opened(agent) as stays:
        session = await stays.new()
        prompt = asyncio.create_task(stays.call("session/prompt", prompt_params(session)))
        await stays.until_said("begun")
        async with opened(agent) as leaves:
            other = await leaves.new()
            doomed = asyncio.create_task(leaves.call("session/prompt", prompt_params(other)))
            await leaves.until_said("begun")
            doomed.cancel()
        assert not prompt.done()
        go_on.set()
        assert (await prompt)["stopReason"] == "end_turn"
        assert stays.said() == "begun ended"
    await agent.close()


async def test_a_flood_of_output_in_one_session_leaves_room_for_others() -> None:
    async def reply(turn: Any) -> Any:
        if turn.text == "flood":
            for _ in range(20_000):
                yield "x"
        else:
            yield "quick"

    async with editing(agent_of(reply, store="memory"), patience=30) as editor:
        flooding, quick = await editor.new(), await editor.new()
        flood = asyncio.create_task(editor.call("session/prompt", prompt_params(flooding, "flood")))
        await editor.until_said("x")
        await editor.prompt(quick)
        assert not flood.done()
        await flood
        assert len(editor.said(flooding)) == 20_000

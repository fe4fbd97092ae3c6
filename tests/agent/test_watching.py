"""Several connections of one user on one session: one has it, the others look on, and each may go on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from acpella.agent import Agent, Mode
from acpella.sessions import Store
from agent.editor import FakeEditor, agent_of, opened, prompt_params

pytestmark = pytest.mark.anyio

HOSTED = {"log_first": True, "is_detached": lambda: False}


async def reply(turn: Any) -> None:
    verb, _, rest = turn.text.partition(" ")
    if verb == "count":
        for number in range(int(rest)):
            await turn.say(f"<{number}>")
            await asyncio.sleep(0)
    elif verb == "wait":
        await turn.say("waiting")
        await asyncio.Event().wait()
    elif verb == "describe":
        await turn.title("A title")
        await turn.usage(7, 100)
    elif verb == "ask":
        await turn.say("yes" if await turn.permit(None, "Do it?") else "no")
    else:
        await turn.say(f"said {turn.text}")


@asynccontextmanager
async def two(store: Store, principal: str = "") -> AsyncGenerator[tuple[Agent, FakeEditor, FakeEditor]]:
    agent = agent_of(reply, store=store)
    options: dict[str, Any] = {"hosted": HOSTED, "principal": principal, "patience": 60}
    try:
        async with opened(agent, **options) as first, opened(agent, **options) as second:
            yield agent, first, second
    finally:
        await agent.close()


def sending(editor: FakeEditor, session: str, text: str) -> "asyncio.Task[str]":
    return asyncio.create_task(editor.prompt(session, text))


def never() -> Any:
    return asyncio.Event().wait()


def is_over(editor: FakeEditor) -> bool:
    """Whether somebody who looks on was told that the turn has ended."""
    told = [update.get("_meta") for update in editor.updates("session_info_update")]
    return any(meta and meta["acpella"]["turnRunning"] is False for meta in told)


async def test_a_change_of_title_and_mode_and_what_was_used_are_seen_by_all(store: Store) -> None:
    agent = agent_of(reply, store=store, modes=[Mode("ask", "Ask"), Mode("code", "Code")])
    options: dict[str, Any] = {"hosted": HOSTED, "patience": 60}
    async with opened(agent, **options) as first, opened(agent, **options) as second:
        session = await first.new()
        await first.prompt(session, "hello")
        await second.load(session)
        await first.prompt(session, "describe")
        await first.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        await second.until(lambda: second.updates("current_mode_update"))
        (mode,) = second.updates("current_mode_update")
        assert mode["currentModeId"] == "code"
        assert [u["used"] for u in second.updates("usage_update")] == [7]
        assert "A title" in [u.get("title") for u in second.updates("session_info_update")]
        first.forget()
        await first.load(session)
        assert first.updates("usage_update") == [], "it is no history"
    await agent.close()


async def test_history_then_each_update_once(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        await first.prompt(session, "before")
        turn = sending(first, session, "count 3000")
        await first.until_said("<100>")
        answer = await second.load(session)
        assert answer["_meta"] == {"acpella": {"turnRunning": True}}
        assert await turn == "end_turn"
        await second.until(lambda: is_over(second))
        numbers = "".join(f"<{number}>" for number in range(3000))
        assert second.said() == first.said() == f"said before{numbers}"
        assert second.said(kind="user_message_chunk") == "beforecount 3000"


async def test_who_resumes_sees_only_what_comes(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        turn = sending(first, session, "wait")
        await first.until_said("waiting")
        answer = await second.load(session, "session/resume")
        assert answer["_meta"] == {"acpella": {"turnRunning": True}}
        assert second.said() == ""
        await first.cancel(session)
        assert await turn == "cancelled"
        await second.until(lambda: is_over(second))


async def test_who_looks_on_can_cancel_and_prompt_next_and_then_the_other(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        turn = sending(first, session, "wait")
        await first.until_said("waiting")
        await second.load(session)
        assert (await second.prompt_fails(session)).code == -32600
        await second.cancel(session)
        assert await turn == "cancelled"
        for one, other, text in ((second, first, "b"), (first, second, "c"), (second, first, "d")):
            assert await one.prompt(session, text) == "end_turn"
            await other.until_said(f"said {text}")
            assert text in other.said(kind="user_message_chunk")
        for editor in (first, second):
            assert editor.said() == "waitingsaid bsaid csaid d"


@pytest.mark.parametrize("answers", ["first", "second"])
async def test_a_question_is_answered_once(store: Store, answers: str) -> None:
    """By whoever is first; the others are not asked any more."""
    async with two(store) as (_, first, second):
        session = await first.new()
        silent, speaking = (second, first) if answers == "first" else (first, second)
        ended = asyncio.Event()
        go = asyncio.Event()

        async def hang(_: Any) -> None:
            try:
                await never()
            finally:
                ended.set()

        async def answer(params: Any) -> Any:
            await go.wait()
            return await speaking._permission(params)  # pyright: ignore[reportPrivateUsage] - as it would without this

        silent.on["session/request_permission"] = hang
        speaking.on["session/request_permission"] = answer
        turn = sending(first, session, "ask")
        await first.until(lambda: first.calls("session/request_permission"))
        await second.load(session)
        await second.until(lambda: second.calls("session/request_permission"))
        assert first.calls("session/request_permission") == second.calls("session/request_permission")
        go.set()
        assert await turn == "end_turn"
        await ended.wait()
        await second.until_said("yes")
        assert first.said() == "yes"


async def test_who_looks_on_does_not_answer_by_leaving(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        answer = asyncio.Event()

        async def later(params: Any) -> Any:
            await answer.wait()
            return await first._permission(params)  # pyright: ignore[reportPrivateUsage] - as it would without this

        first.on["session/request_permission"] = later
        second.choice = "cancelled"
        turn = sending(first, session, "ask")
        await first.until(lambda: first.calls("session/request_permission"))
        await second.load(session)
        await second.until(lambda: second.calls("session/request_permission"))
        await second.connection.close()
        answer.set()
        assert await turn == "end_turn"
        assert first.said() == "yes"


async def test_a_question_is_not_part_of_the_conversation(store: Store) -> None:
    async with two(store) as (agent, first, second):
        session = await first.new()
        await first.prompt(session, "ask")
        await second.load(session)
        assert not second.calls("session/request_permission")
        document = await agent.export_session(session)
        assert {event["kind"] for event in document["events"]} == {"update", "turn"}


async def test_who_closes_the_session_looks_on_no_more(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        turn = sending(first, session, "wait")
        await first.until_said("waiting")
        await second.load(session)
        await second.call("session/close", {"sessionId": session})
        assert (await second.prompt_fails(session)).code == -32002
        await first.cancel(session)
        assert await turn == "cancelled"
        await first.prompt(session, "more")
        assert "more" not in second.said()


async def test_others_do_not_find_it(store: Store) -> None:
    async with two(store, principal="ann") as (agent, first, _):
        session = await first.new()
        turn = sending(first, session, "wait")
        await first.until_said("waiting")
        async with opened(agent, hosted=HOSTED, principal="bob") as bob:
            params: dict[str, Any] = {"sessionId": session, "cwd": "/project", "mcpServers": []}
            assert (await bob.fails("session/load", params)).code == -32002
            await bob.cancel(session)
            assert (await bob.prompt_fails(session)).code == -32002
        await first.cancel(session)
        assert await turn == "cancelled"


async def test_many_look_on_while_the_owner_leaves(store: Store) -> None:
    """The connection that has the session ends in the middle of a turn; the others see its end and go on."""
    agent = agent_of(reply, store=store)
    async with opened(agent, hosted=HOSTED, patience=60) as second, opened(agent, hosted=HOSTED) as third:
        async with opened(agent, hosted=HOSTED) as first:
            session = await first.new()
            gone = asyncio.create_task(
                first.connection.call("session/prompt", prompt_params(session, "wait"))
            )
            await first.until_said("waiting")
            await second.load(session)
            await third.load(session)
        await asyncio.gather(gone, return_exceptions=True)
        await second.until(lambda: is_over(second))
        assert await second.prompt(session, "on") == "end_turn"
        await third.until_said("said on")
    await agent.close()


async def test_a_session_that_is_deleted_is_watched_no_more(store: Store) -> None:
    async with two(store) as (_, first, second):
        session = await first.new()
        await first.prompt(session, "one")
        await second.load(session)  # so the first looks on
        await second.call("session/delete", {"sessionId": session})
        assert (await first.prompt_fails(session)).code == -32002
        left = [task for task in asyncio.all_tasks() if session in task.get_name()]
        if left:
            await asyncio.wait(left)
        assert (await first.call("session/list"))["sessions"] == []

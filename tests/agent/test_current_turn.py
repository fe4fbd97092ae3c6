"""`current_turn()`: the turn for code that nobody handed it to, such as a framework's tools."""

import asyncio
from typing import Any

import pytest

import acpella
from acpella.errors import LocalProtocolError
from agent.editor import agent_of, editing

pytestmark = pytest.mark.anyio


async def test_a_tool_finds_its_turn_in_tasks_and_in_threads() -> None:
    async def in_task() -> None:
        await acpella.current_turn().say("from a task, ")

    def in_thread() -> None:
        turn: Any = acpella.current_turn()
        turn.say("from a thread")
        with turn.tool("Read", kind="read") as call:
            call.show("text")

    async def reply(turn: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(in_task())
        await asyncio.to_thread(in_thread)

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        said = [u["content"]["text"] for u in editor.updates("agent_message_chunk")]
        assert "".join(said) == "from a task, from a thread"
        assert [u["status"] for u in editor.updates() if "tool" in u["sessionUpdate"]] == [
            *("in_progress", "completed")
        ]


async def test_a_plain_handler_has_its_turn_too() -> None:
    def reply(turn: Any) -> str:
        return f"the same: {acpella.current_turn().session.id == turn.session.id}"

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates("agent_message_chunk")[0]["content"]["text"] == "the same: True"


async def test_two_sessions_do_not_see_each_others_turn() -> None:
    both_run = asyncio.Barrier(2)

    async def reply(turn: Any) -> str:
        await both_run.wait()
        return "mine" if acpella.current_turn() is turn else "another's"

    async with editing(agent_of(reply)) as editor, asyncio.timeout(60):
        sessions = [await editor.new(), await editor.new()]
        await asyncio.gather(*(editor.prompt(session) for session in sessions))
        assert [u["content"]["text"] for u in editor.updates("agent_message_chunk")] == ["mine", "mine"]


async def test_a_thread_that_waits_is_freed_when_the_turn_is_cancelled() -> None:
    freed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def in_thread() -> None:
        turn: Any = acpella.current_turn()
        try:
            turn.extension("_test/ask")
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(freed.set)
            raise

    async def reply(turn: Any) -> None:
        await asyncio.to_thread(in_thread)

    async with editing(agent_of(reply)) as editor:
        editor.on["_test/ask"] = lambda params: asyncio.Event().wait()
        session = await editor.new()
        prompting = asyncio.ensure_future(editor.prompt(session))
        await editor.until(lambda: editor.calls("_test/ask"))
        await editor.cancel(session)
        assert await prompting == "cancelled"
        await freed.wait()


async def test_outside_of_a_turn_it_says_so() -> None:
    with pytest.raises(LocalProtocolError, match="while a prompt is answered"):
        acpella.current_turn()


async def test_hooks_add_up() -> None:
    called: list[str] = []

    async def reply(turn: Any) -> None:
        pass

    agent = agent_of(reply)
    agent.on_session(lambda session: called.append("first"))
    agent.on_session(lambda session: called.append("second"))
    async with editing(agent) as editor:
        await editor.new()
    assert called == ["first", "second"]

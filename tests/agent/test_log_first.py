"""Behind a server: what an editor sees is in the log already."""

import asyncio
from typing import Any

import pytest

from acpella.errors import RpcError
from acpella.sessions import MemoryStore, SqliteStore, Store, StoreError
from agent.editor import FakeEditor, agent_of, editing

pytestmark = pytest.mark.anyio

HOSTED = {"log_first": True}


class GatedStore(MemoryStore):
    """A store that writes when the test lets it, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.fails = False

    async def append(self, lease: Any, expected_seq: int, events: Any, changes: Any = None) -> int:
        self.asked.set()
        await self.gate.wait()
        if self.fails:
            raise StoreError("the disk is full")
        return await super().append(lease, expected_seq, events, changes)


async def new(editor: FakeEditor) -> str:
    return (await editor.call("session/new", {"cwd": "/project", "mcpServers": []}))["sessionId"]


async def prompt(editor: FakeEditor, session: str) -> Any:
    return await editor.call(
        "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
    )


async def test_nothing_is_shown_before_it_is_in_the_log() -> None:
    store = GatedStore()

    async def reply(turn: Any) -> Any:
        yield "one"
        yield "two"

    async with editing(agent_of(reply, store=store), hosted=HOSTED) as editor:
        session = await new(editor)
        store.gate.clear()
        store.asked.clear()
        answer = asyncio.create_task(prompt(editor, session))
        await store.asked.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert editor.updates() == []
        store.gate.set()
        assert (await answer)["stopReason"] == "end_turn"
        assert editor.said() == "onetwo"


async def test_questions_and_answers_come_after_what_precedes_them(store: Store) -> None:
    async def reply(turn: Any) -> None:
        await turn.say("before")
        async with turn.tool("Write") as call:
            assert await turn.permit(call)
        await turn.say("after")

    async with editing(agent_of(reply, store=store), hosted=HOSTED) as editor:
        await prompt(editor, await new(editor))
        order = editor.order()
        assert order[2:-2] == [
            "agent_message_chunk",
            "tool_call",
            "session/request_permission",
            "tool_call_update",  # in progress, now that it may
            "tool_call_update",  # completed
            "agent_message_chunk",
        ]
        assert order[-2:] == ["session_info_update", "session/prompt"]


async def test_thousands_of_updates_come_in_order_and_share_writes(tmp_path: Any) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    appends = 0
    original = store.append

    async def counted(*args: Any, **kwargs: Any) -> int:
        nonlocal appends
        appends += 1
        return await original(*args, **kwargs)

    store.append = counted  # type: ignore[method-assign]

    async def reply(turn: Any) -> Any:
        for number in range(5000):
            yield f"<{number}>"

    async with editing(agent_of(reply, store=store), hosted=HOSTED) as editor:
        await prompt(editor, await new(editor))
        assert editor.said() == "".join(f"<{number}>" for number in range(5000))
        assert appends < 500


async def test_a_store_that_fails_ends_the_turn_and_shows_nothing() -> None:
    store = GatedStore()

    async def reply(turn: Any) -> Any:
        for number in range(3000):
            yield f"<{number}>"

    async with editing(agent_of(reply, store=store), hosted=HOSTED) as editor:
        session = await new(editor)
        store.fails = True
        with pytest.raises(RpcError):
            await prompt(editor, session)
        assert editor.updates("agent_message_chunk") == []
        store.fails = False
        assert (await prompt(editor, session))["stopReason"] == "end_turn"
        assert editor.said().endswith("<2999>")


async def test_modes_are_told_before_the_answer(store: Store) -> None:
    agent = agent_of(lambda turn: None, store=store, modes=["a", "b"])
    async with editing(agent, hosted=HOSTED) as editor:
        session = await new(editor)
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "b"})
        assert editor.order()[-3:] == ["current_mode_update", "config_option_update", "session/set_mode"]


async def test_the_first_prompt_after_a_full_disk_has_room_again_is_answered() -> None:
    """The error of the turn before was raised in the handler of the next one."""
    store = GatedStore()

    async def reply(turn: Any) -> Any:
        yield "one"
        await asyncio.sleep(0)
        yield "two"

    async with editing(agent_of(reply, store=store), hosted=HOSTED) as editor:
        session = await new(editor)
        store.fails = True
        with pytest.raises(RpcError, match="the disk is full"):
            await prompt(editor, session)
        store.fails = False
        assert (await prompt(editor, session))["stopReason"] == "end_turn"
        assert editor.said().endswith("onetwo")

"""A session goes to another connection in the middle of a turn, because its editor has left (FEATURES E4)."""

import asyncio
from typing import Any

import pytest

from acpella.sessions import Store
from agent.editor import FS, FakeEditor, agent_of, opened

pytestmark = pytest.mark.anyio

PLACE = {"cwd": "/project", "mcpServers": []}


class Away:
    """Whether an editor has left its connection, which stays open behind a server."""

    def __init__(self) -> None:
        self.away = False
        self.hosted = {"log_first": True, "is_detached": lambda: self.away}


async def start(editor: FakeEditor) -> tuple[str, asyncio.Task[Any]]:
    """A session with a running turn."""
    session = (await editor.call("session/new", PLACE))["sessionId"]
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
    return session, asyncio.create_task(editor.connection.call("session/prompt", params))


async def load(editor: FakeEditor, session: str) -> Any:
    return await editor.call("session/load", {**PLACE, "sessionId": session})


async def test_history_then_what_happens_from_now_on_each_once(store: Store) -> None:
    """The new editor sees the whole conversation, however the turn goes on meanwhile."""
    first, second = Away(), Away()

    async def reply(turn: Any) -> None:
        for number in range(3000):
            await turn.say(f"<{number}>")
            if number % 10 == 0:
                await asyncio.sleep(0)

    agent = agent_of(reply, store=store)
    async with opened(agent, hosted=first.hosted) as old, opened(agent, hosted=second.hosted) as new:
        session, turn = await start(old)
        await old.until_said("<100>")
        first.away = True
        answer = await load(new, session)
        assert answer["_meta"] == {"acpella": {"turnRunning": True}}
        await new.until_said("<2999>")
        assert new.said() == "".join(f"<{number}>" for number in range(3000))
        assert (await turn)["stopReason"] == "end_turn"
        new.forget()
        await load(new, session)  # it is in the log, too
        assert new.said() == "".join(f"<{number}>" for number in range(3000))
    await agent.close()


async def test_an_open_question_ends_as_cancelled(store: Store) -> None:
    first, second = Away(), Away()
    answers: list[bool] = []

    async def reply(turn: Any) -> None:
        answers.append(await turn.permit(None, "Delete everything?"))
        answers.append(await turn.permit(None, "Then ask again?"))
        await turn.say("done")

    agent = agent_of(reply, store=store)
    async with opened(agent, hosted=first.hosted) as old, opened(agent, hosted=second.hosted) as new:
        never = asyncio.Event()
        old.on["session/request_permission"] = lambda params: never.wait()
        session, turn = await start(old)
        await old.until(lambda: old.calls("session/request_permission"))
        first.away = True
        await load(new, session)
        await new.until_said("done")
        assert answers == [False, True]  # the second was asked of the new editor
        assert (await turn)["stopReason"] == "end_turn"
    await agent.close()


async def test_what_needs_no_person_is_asked_again_of_the_new_editor(store: Store) -> None:
    first, second = Away(), Away()

    async def reply(turn: Any) -> None:
        await turn.say(await turn.files.read("/project/a.txt"))

    agent = agent_of(reply, store=store)
    async with (
        opened(agent, hosted=first.hosted, **FS) as old,
        opened(agent, hosted=second.hosted, **FS) as new,
    ):
        never = asyncio.Event()
        old.on["fs/read_text_file"] = lambda params: never.wait()
        new.files["/project/a.txt"] = "from the new editor"
        session, turn = await start(old)
        await old.until(lambda: old.calls("fs/read_text_file"))
        first.away = True
        await load(new, session)
        await new.until_said("from the new editor")
        await turn
    await agent.close()


async def test_the_new_editor_can_cancel_the_turn_and_prompt_after_it(store: Store) -> None:
    first, second = Away(), Away()

    async def reply(turn: Any) -> None:
        if turn.text == "go":
            await turn.say("waiting")
            await asyncio.Event().wait()
        await turn.say("hello")

    agent = agent_of(reply, store=store)
    async with opened(agent, hosted=first.hosted) as old, opened(agent, hosted=second.hosted) as new:
        session, turn = await start(old)
        await old.until_said("waiting")
        first.away = True
        await load(new, session)
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
        assert (await new.fails("session/prompt", params)).code == -32600
        await new.connection.notify("session/cancel", {"sessionId": session})
        assert (await turn)["stopReason"] == "cancelled"
        assert (await new.call("session/prompt", params))["stopReason"] == "end_turn"
        assert new.said() == "waitinghello"
        await old.connection.close()  # the one it came from may go
        assert (await new.call("session/prompt", params))["stopReason"] == "end_turn"
    await agent.close()


async def test_a_turn_survives_when_the_connection_it_was_asked_on_closes_later(store: Store) -> None:
    """The server keeps that one open while the turn runs; nothing else of it is needed."""
    first, second = Away(), Away()
    go = asyncio.Event()

    async def reply(turn: Any) -> None:
        await turn.say("waiting")
        await go.wait()
        await turn.say("gone on")

    agent = agent_of(reply, store=store)
    async with opened(agent, hosted=first.hosted) as old, opened(agent, hosted=second.hosted) as new:
        session, turn = await start(old)
        await old.until_said("waiting")
        first.away = True
        resumed = await new.call("session/resume", {**PLACE, "sessionId": session})
        assert resumed["_meta"] == {"acpella": {"turnRunning": True}}
        assert new.said() == ""  # resuming replays nothing
        go.set()
        await new.until_said("gone on")
        await turn
    await agent.close()


async def test_nobody_is_robbed_of_a_session(store: Store) -> None:
    """Not of one whose editor is there, and not by another user."""
    first, second, third = Away(), Away(), Away()
    go = asyncio.Event()

    async def reply(turn: Any) -> None:
        await turn.say("waiting")
        await go.wait()

    agent = agent_of(reply, store=store)
    async with (
        opened(agent, hosted=first.hosted, principal="alice") as old,
        opened(agent, hosted=second.hosted, principal="alice") as new,
        opened(agent, hosted=third.hosted, principal="bob") as stranger,
    ):
        session, turn = await start(old)
        await old.until_said("waiting")
        await load(new, session)  # it only looks on
        assert (await new.fails("session/prompt", {"sessionId": session, "prompt": []})).code == -32600
        first.away = True
        assert (await stranger.fails("session/load", {**PLACE, "sessionId": session})).code == -32002
        assert stranger.updates() == []
        await load(new, session)
        go.set()
        await turn
    await agent.close()

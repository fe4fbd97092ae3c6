"""The extension methods of every agent: sessions as documents, tools, the working directory (C19, C20)."""

import functools
from pathlib import Path
from typing import Any

import pytest

from acpella.agent import Tool
from acpella.errors import LocalProtocolError, ResourceNotFound
from acpella.sessions import MemoryStore, SqliteStore, Store
from agent.conversation import converse, conversing, history
from agent.editor import FakeEditor, Json, agent_of, editing, opened, text

pytestmark = pytest.mark.anyio


async def test_a_session_travels_as_a_document(tmp_path: Path) -> None:
    stores = (MemoryStore(), SqliteStore(tmp_path / "there.db"))
    async with editing(conversing(stores[0])) as editor:
        session = await editor.new()
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        for prompt in ("one", "two"):
            await editor.prompt(session, prompt)
        document = await editor.call("_session/export", {"sessionId": session})
        editor.forget()
        await editor.load(session)
        told = history(editor)
    async with editing(conversing(stores[1])) as editor:
        for params in (document, {"document": document}):
            imported = (await editor.call("_session/import", params))["sessionId"]
            assert imported != session
            editor.forget()
            answer = await editor.load(imported)
            assert history(editor) == told
            assert answer["modes"]["currentModeId"] == "code"
            await editor.prompt(imported, "three")
            assert editor.said().endswith("three is number 3")
        again = await editor.call("_session/export", {"sessionId": imported})
        assert again["events"][: len(document["events"])] == document["events"]


async def test_an_open_session_is_exported_with_its_latest_words(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        got = await editor.call("_session/get", {"sessionId": session})
        assert (got["sessionId"], got["cwd"], got["title"], got["state"]) == (
            session,
            "/project",
            "one",
            {"count": 1},
        )
        assert got["events"][-1] == {"kind": "turn", "body": {"stopReason": "end_turn"}}


async def document_of(editor: FakeEditor) -> Json:
    session = await editor.new()
    await editor.prompt(session, "one")
    return await editor.call("_session/export", {"sessionId": session})


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        [],
        "document",
        {},
        {"document": None},
        {"document": 5},
        {"format": "other"},
    ],
)
async def test_garbage_is_not_imported(garbage: Any) -> None:
    """C20."""
    async with editing(conversing(MemoryStore())) as editor:
        assert (await editor.fails("_session/import", garbage)).code == -32602
        assert (await editor.call("session/list"))["sessions"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": "1"},
        {"events": [{"kind": "update", "body": {}}] * 10_001},
        {"events": [{"kind": "update", "body": {}}]},
        {"events": [{"kind": "update", "body": {"sessionUpdate": "agent_message_chunk"}}]},
        {"events": [{"kind": "update", "body": {"sessionUpdate": 5}}]},
        {"events": [{"kind": "other", "body": {}}]},
        {"events": "none"},
        {"session": {}},
        {
            "session": {
                "cwd": "relative",
                "createdAt": "2026-01-01T00:00:00Z",
                "updatedAt": "2026-01-01T00:00:00Z",
            }
        },
        {
            "session": {
                "cwd": "/a\0",
                "createdAt": "2026-01-01T00:00:00Z",
                "updatedAt": "2026-01-01T00:00:00Z",
            }
        },
    ],
    ids=lambda change: str(change)[:60],
)
async def test_a_document_that_was_tampered_with_is_not_imported(change: Json) -> None:
    async with editing(conversing(MemoryStore())) as editor:
        document = await document_of(editor)
        error = await editor.fails("_session/import", {**document, **change})
        assert error.code == -32602
        assert len((await editor.call("session/list"))["sessions"]) == 1


@pytest.mark.parametrize(
    "settings", [{"mode": 5}, {"mode": "none"}, {"options": 5}, {"options": {"model": 5}}, {"options": []}]
)
async def test_strange_settings_in_a_document_fall_back_to_defaults(settings: Json) -> None:
    async with editing(conversing(MemoryStore())) as editor:
        document = await document_of(editor)
        document["session"]["settings"] = settings
        imported = (await editor.call("_session/import", document))["sessionId"]
        answer = await editor.load(imported)
        assert answer["modes"]["currentModeId"] == "ask"
        assert await editor.prompt(imported) == "end_turn"


async def test_ten_thousand_events_are_imported() -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": text("x")}
    async with editing(conversing(MemoryStore()), patience=30) as editor:
        document = await document_of(editor)
        document["events"] = [{"kind": "update", "body": chunk}] * 10_000
        imported = (await editor.call("_session/import", document))["sessionId"]
        editor.forget()
        await editor.load(imported)
        assert editor.said() == "x" * 10_000


async def test_the_private_list_is_the_public_one(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        for method in ("_session/list", "session/list"):
            listed = await editor.call(method, {"cwd": "/project"})
            assert [info["sessionId"] for info in listed["sessions"]] == [session]
        assert (await editor.fails("_session/list", {"cwd": 5})).code == -32602
        assert (await editor.fails("_session/list", {"cursor": "x"})).code == -32602
        await editor.call("_session/delete", {"sessionId": session})
        assert (await editor.call("_session/list"))["sessions"] == []


async def test_the_working_directory_can_be_changed(store: Store) -> None:
    async def reply(turn: Any) -> str:
        return f"{turn.session.cwd} {turn.session.full_path('a.py')};"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        change = functools.partial(editor.call, "_agent/working_dir/update")
        assert await change({"sessionId": session, "path": "/elsewhere"}) == {"path": "/elsewhere"}
        await editor.prompt(session)
        assert editor.said() == "/elsewhere /elsewhere/a.py;"
        assert (await editor.call("session/list"))["sessions"][0]["cwd"] == "/elsewhere"
        for path in ("relative", "/a/../b", "..", "", "/nul\0", 5, None, ["/a"]):
            error = await editor.fails("_agent/working_dir/update", {"sessionId": session, "path": path})
            assert error.code == -32602, path
        await editor.prompt(session)
        assert editor.said() == "/elsewhere /elsewhere/a.py;" * 2


async def test_the_agent_tells_its_tools() -> None:
    async with editing(agent_of(converse, tools=[Tool("read", "Reads a file", "read")])) as editor:
        assert await editor.call("_agent/tools") == {
            "tools": [{"name": "read", "description": "Reads a file", "kind": "read"}]
        }


async def test_an_extension_method_finds_the_sessions_of_its_own_editor_only() -> None:
    agent = agent_of(converse)

    @agent.on_request("_where")
    async def where(params: Any) -> str:
        async with agent.session(params["sessionId"]) as session:
            return str(session.cwd)

    async with opened(agent) as other, editing(agent) as editor:
        session = await editor.new(cwd="/here")
        assert await editor.call("_where", {"sessionId": session}) == "/here"
        assert isinstance(await other.fails("_where", {"sessionId": session}), ResourceNotFound)
        assert isinstance(await editor.fails("_where", {"sessionId": "none"}), ResourceNotFound)
    with pytest.raises(LocalProtocolError, match="extension requests"):
        async with agent.session(session):
            pass

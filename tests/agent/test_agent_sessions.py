"""Sessions that outlive a connection: load, resume, fork, list, close, delete (C17, C18, C20)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acpella.agent import Mode, Select
from acpella.errors import RpcError
from acpella.sessions import Lease, MemoryStore, SessionBusy, SqliteStore, Store, StoreError
from agent.conversation import BOOLEANS, converse, conversing, history
from agent.editor import FakeEditor, Json, agent_of, editing, opened, prompt_params, text

pytestmark = pytest.mark.anyio


async def test_load_replays_the_conversation_in_order_then_answers(store: Store) -> None:
    """R-142."""
    agent = conversing(store)
    async with opened(agent) as editor:
        session = await editor.new()
        told: list[Json] = []
        for prompt in ("one", "two"):
            editor.forget()
            await editor.prompt(session, prompt)
            told.append({"sessionUpdate": "user_message_chunk", "content": text(prompt)})
            told += history(editor)
    async with editing(agent) as editor:
        editor.forget()
        await editor.load(session)
        assert history(editor) == told
        first, second = [update["messageId"] for update in editor.updates("user_message_chunk")]
        assert first != second  # so that two prompts in a row are not taken for one
        assert editor.order()[-1] == "session/load"
        await editor.prompt(session, "three")
        assert editor.said().endswith("three is number 3")


async def test_resume_replays_nothing_and_goes_on(store: Store) -> None:
    """R-143."""
    agent = conversing(store)
    async with opened(agent) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
    async with editing(agent) as editor:
        editor.forget()
        await editor.call("session/resume", {"sessionId": session, "cwd": "/project"})
        assert editor.updates() == []
        await editor.prompt(session, "two")
        assert editor.said() == "two is number 2"


async def test_a_session_can_be_loaded_again_on_the_same_connection(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        for _ in range(3):
            editor.forget()
            await editor.load(session)
            assert editor.said() == "one is number 1"
        await editor.prompt(session, "two")
        assert editor.said().endswith("two is number 2")


async def test_an_empty_session_can_be_loaded(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.call("session/close", {"sessionId": session})
        editor.forget()
        await editor.load(session)
        assert editor.updates() == []


async def test_a_fork_is_an_isolated_copy(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        answer = await editor.load(session, "session/fork")
        fork = answer["sessionId"]
        assert fork != session
        assert answer["modes"]["currentModeId"] == "code"
        await editor.prompt(fork, "two")
        await editor.prompt(session, "other two")
        assert editor.said(fork) == "two is number 2"
        assert editor.said(session).endswith("other two is number 2")
        for name, words in ((session, "oneother two"), (fork, "onetwo")):
            editor.forget()
            await editor.load(name)
            assert editor.said(kind="user_message_chunk") == words
        await editor.call("session/delete", {"sessionId": session})
        await editor.load(fork)


async def test_a_fork_of_a_running_session_holds_what_there_is(store: Store) -> None:
    go_on = asyncio.Event()

    async def reply(turn: Any) -> str:
        await turn.say("begun ")
        await go_on.wait()
        return "ended"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session, "do")))
        await editor.until_said("begun")
        fork = (await editor.load(session, "session/fork"))["sessionId"]
        go_on.set()
        assert (await prompt)["stopReason"] == "end_turn"
        editor.forget()
        await editor.load(fork)
        assert editor.said(fork) == "begun "


# -- the list ---------------------------------------------------------------------------


async def used(editor: FakeEditor, **params: Any) -> str:
    """A session with something in it: those without are in no list."""
    session = await editor.new(**params)
    await editor.prompt(session)
    return session


async def all_pages(editor: FakeEditor, **params: Any) -> list[list[Json]]:
    pages = []
    while True:
        answer = await editor.call("session/list", params)
        pages.append(answer["sessions"])
        if "nextCursor" not in answer:
            return pages
        params["cursor"] = answer["nextCursor"]


async def test_the_list_pages_through_many_sessions_once_each(store: Store) -> None:
    """R-160 to R-162, C18: newest first."""
    async with editing(conversing(store, settings={"max_sessions": 10}), patience=30) as editor:
        made = [await used(editor) for _ in range(120)]
        pages = await all_pages(editor)
        assert [len(page) for page in pages] == [50, 50, 20]
        assert [info["sessionId"] for page in pages for info in page] == made[::-1]


async def test_sessions_that_were_never_used_are_in_no_list(store: Store) -> None:
    async with editing(conversing(store, settings={"page_size": 3})) as editor:
        kept = [await used(editor)]
        unused = [await editor.new() for _ in range(7)]
        kept += [await used(editor) for _ in range(3)]
        pages = await all_pages(editor)
        assert [info["sessionId"] for page in pages for info in page] == kept[::-1]
        assert [len(page) for page in pages] == [3, 1]
        assert await editor.prompt(unused[0]) == "end_turn"  # it is there all the same
        assert (await all_pages(editor))[0][0]["sessionId"] == unused[0]


async def test_a_session_in_its_first_turn_is_listed(store: Store) -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    async def wait(turn: Any) -> None:
        started.set()
        await may_end.wait()

    async with editing(agent_of(wait, store=store)) as editor:
        session = await editor.new()
        prompting = asyncio.create_task(editor.prompt(session))
        async with asyncio.timeout(60):
            await started.wait()
        pages = await all_pages(editor)
        assert [info["sessionId"] for page in pages for info in page] == [session]
        may_end.set()
        assert await prompting == "end_turn"


async def test_the_list_filters_by_directory(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        here = [await used(editor, cwd="/a") for _ in range(2)]
        await used(editor, cwd="/b")
        answer = await editor.call("session/list", {"cwd": "/a"})
        assert {info["sessionId"] for info in answer["sessions"]} == set(here)
        assert {info["cwd"] for info in answer["sessions"]} == {"/a"}
        assert (await editor.call("session/list", {"cwd": "/nowhere"}))["sessions"] == []
        assert len((await editor.call("session/list"))["sessions"]) == 3


async def test_the_last_used_session_comes_first(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        first, second = await editor.new(), await used(editor)
        await editor.prompt(first, "hello")
        listed = (await editor.call("session/list"))["sessions"]
        assert [info["sessionId"] for info in listed] == [first, second]
        assert listed[0]["title"] == "hello"
        assert listed[0]["updatedAt"] > listed[1]["updatedAt"]


@pytest.mark.parametrize("cursor", ["", "nonsense", "AAAA", "..", "x" * 10_000, "ünï"])
async def test_an_invalid_cursor_is_an_error(cursor: str, store: Store) -> None:
    """R-162."""
    async with editing(conversing(store)) as editor:
        assert (await editor.fails("session/list", {"cursor": cursor})).code == -32602


async def test_a_page_size_of_the_settings_holds(store: Store) -> None:
    async with editing(conversing(store, settings={"page_size": 3})) as editor:
        for _ in range(7):
            await used(editor)
        assert [len(page) for page in await all_pages(editor)] == [3, 3, 1]


# -- close and delete -------------------------------------------------------------------


async def test_a_closed_session_is_gone_until_it_is_loaded(store: Store) -> None:
    """R-176."""
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        await editor.call("session/close", {"sessionId": session})
        error = await editor.prompt_fails(session)
        assert (error.code, error.data) == (-32002, {"sessionId": session})
        assert (await editor.fails("session/close", {"sessionId": session})).code == -32002
        await editor.load(session)
        await editor.prompt(session, "two")
        assert editor.said().endswith("two is number 2")


async def test_deleting_is_for_good_and_may_be_repeated(store: Store) -> None:
    """R-170."""
    async with editing(conversing(store)) as editor:
        session, other = await editor.new(), await used(editor)
        for _ in range(2):
            await editor.call("session/delete", {"sessionId": session})
        await editor.call("session/delete", {"sessionId": "sess_never_was"})
        listed = (await editor.call("session/list"))["sessions"]
        assert [info["sessionId"] for info in listed] == [other]
        for method in ("session/load", "session/resume", "session/fork"):
            with pytest.raises(RpcError) as caught:
                await editor.load(session, method)
            assert (caught.value.code, caught.value.data) == (-32002, {"sessionId": session})
        assert (await editor.prompt_fails(session)).code == -32002


async def test_deleting_while_it_runs_answers_the_prompt_first(store: Store) -> None:
    async def reply(turn: Any) -> None:
        await turn.say("begun")
        await asyncio.get_running_loop().create_future()

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until_said("begun")
        await editor.call("session/delete", {"sessionId": session})
        assert (await prompt)["stopReason"] == "cancelled"
        assert editor.order()[-2:] == ["session/prompt", "session/delete"]
        assert (await editor.call("session/list"))["sessions"] == []


# -- what does not go together ----------------------------------------------------------


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_loading_while_a_prompt_runs_is_refused_and_disturbs_nothing(method: str, store: Store) -> None:
    go_on = asyncio.Event()

    async def reply(turn: Any) -> str:
        await turn.say("begun ")
        await go_on.wait()
        return "ended"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until_said("begun")
        with pytest.raises(RpcError) as caught:
            await editor.load(session, method)
        assert caught.value.code == -32600
        go_on.set()
        assert (await prompt)["stopReason"] == "end_turn"
        assert editor.said() == "begun ended"
        await editor.load(session)


@pytest.mark.parametrize("times", [2, 5])
async def test_loads_at_once_each_replay_and_leave_one_session(times: int, store: Store) -> None:
    async with editing(conversing(store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        editor.forget()
        await asyncio.gather(*(editor.load(session) for _ in range(times)))
        assert editor.said() == "one is number 1" * times
        await editor.prompt(session, "two")
        assert editor.said().endswith("two is number 2")
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "onetwo"


async def test_loads_at_once_on_two_connections_leave_one_session(store: Store) -> None:
    agent = conversing(store)
    async with opened(agent) as one, opened(agent) as other:
        session = await one.new()
        await one.prompt(session, "one")
        for _ in range(5):
            await asyncio.gather(*(editor.load(session) for editor in (one, other, one, other)))
        for number, editor in enumerate((one, other), 2):
            assert await editor.prompt(session, "next") == "end_turn"
            for each in (one, other):
                await each.until_said(f"next is number {number}")
    await agent.close()


async def test_the_second_connection_takes_an_idle_session_over(store: Store) -> None:
    """The first looks on, until it closes the session."""
    agent = conversing(store)
    async with opened(agent) as one, opened(agent) as other:
        session = await one.new()
        await one.prompt(session, "one")
        await other.load(session)
        assert other.said() == "one is number 1"
        await other.prompt(session, "two")
        await one.until_said("two is number 2")
        await one.call("session/close", {"sessionId": session})
        assert (await one.prompt_fails(session)).code == -32002
        await other.prompt(session, "three")
        assert other.said().endswith("three is number 3")
        assert one.said() == "one is number 1two is number 2"
    await agent.close()


async def test_a_running_session_of_another_connection_is_not_torn_away(store: Store) -> None:
    go_on = asyncio.Event()

    async def reply(turn: Any) -> str:
        await turn.say("begun ")
        await go_on.wait()
        return "ended"

    agent = agent_of(reply, store=store)
    async with opened(agent) as one, opened(agent) as other:
        session = await one.new()
        prompt = asyncio.create_task(one.call("session/prompt", prompt_params(session)))
        await one.until_said("begun")
        with pytest.raises(RpcError) as caught:
            await other.load(session, "session/delete")
        assert caught.value.code == -32600
        go_on.set()
        assert (await prompt)["stopReason"] == "end_turn"
        assert one.said() == "begun ended"
    await agent.close()


async def test_a_foreign_principal_sees_nothing_and_disturbs_nothing(store: Store) -> None:
    """One agent for several users: whose session it is decides, not who knows its id."""
    agent = conversing(store)
    async with opened(agent, principal="alice") as alice, opened(agent, principal="mallory") as mallory:
        session = await alice.new()
        await alice.prompt(session, "one")
        assert (await mallory.call("session/list"))["sessions"] == []
        for method in ("session/load", "session/resume", "session/fork"):
            with pytest.raises(RpcError) as caught:
                await mallory.load(session, method)
            assert caught.value.code == -32002
        for method in ("_session/get", "_session/export", "session/close"):
            assert (await mallory.fails(method, {"sessionId": session})).code == -32002
        await mallory.call("session/delete", {"sessionId": session})
        await mallory.call("_session/delete", {"sessionId": session})
        await mallory.cancel(session)
        assert await alice.prompt(session, "two") == "end_turn"
        assert len((await alice.call("session/list"))["sessions"]) == 1
    await agent.close()


FOREIGN = ["../x", "x" * 129, "with space", "nul\0", "", "a/b", "sess_ü", "sess.x", "a\n"]


@pytest.mark.parametrize("session_id", FOREIGN)
async def test_ids_that_cannot_be_ours_are_refused(session_id: str, store: Store) -> None:
    """C20."""
    async with editing(conversing(store)) as editor:
        for method, params in {
            "session/prompt": prompt_params(session_id),
            "session/close": {"sessionId": session_id},
            "session/delete": {"sessionId": session_id},
            "session/set_mode": {"sessionId": session_id, "modeId": "ask"},
            "session/set_config_option": {"sessionId": session_id, "configId": "model", "value": "small"},
            "session/set_model": {"sessionId": session_id, "modelId": "small"},
            "_session/get": {"sessionId": session_id},
            "_session/delete": {"sessionId": session_id},
            "_session/export": {"sessionId": session_id},
            "_agent/working_dir/update": {"sessionId": session_id, "path": "/a"},
        }.items():
            assert (await editor.fails(method, params)).code == -32602, method
        for method in ("session/load", "session/resume", "session/fork"):
            with pytest.raises(RpcError) as caught:
                await editor.load(session_id, method)
            assert caught.value.code == -32602, method


@pytest.mark.parametrize("session_id", ["sess_unknown", "x", "x" * 128, "A-Z_09"])
async def test_an_unknown_session_is_not_found_with_its_id(session_id: str, store: Store) -> None:
    async with editing(conversing(store)) as editor:
        error = await editor.prompt_fails(session_id)
        assert (error.code, error.data) == (-32002, {"sessionId": session_id})
        with pytest.raises(RpcError) as caught:
            await editor.load(session_id)
        assert (caught.value.code, caught.value.data) == (-32002, {"sessionId": session_id})


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume", "session/fork"])
@pytest.mark.parametrize(
    "places",
    [
        {"cwd": "relative"},
        {"cwd": ""},
        {"cwd": "/nul\0"},
        {"cwd": "C:\\project"},
        {"additionalDirectories": ["relative"]},
        {"additionalDirectories": [""]},
        {"additionalDirectories": ["/fine", "/nul\0"]},
        {"mcpServers": [{"type": "http", "name": "a", "url": "http://a", "headers": []}]},
        {"mcpServers": [{"type": "sse", "name": "a", "url": "http://a", "headers": []}]},
    ],
)
async def test_places_that_the_agent_cannot_use_are_refused(method: str, places: Json) -> None:
    """R-020, R-150, R-154: before anything is created."""
    async with editing(conversing(MemoryStore())) as editor:
        session = await used(editor)
        params = {"sessionId": session, "cwd": "/project", "mcpServers": [], **places}
        assert (await editor.fails(method, params)).code == -32602
        assert len((await editor.call("session/list"))["sessions"]) == 1
        assert await editor.prompt(session) == "end_turn"


async def test_mcp_servers_reach_the_author() -> None:
    """R-153, C2."""

    async def reply(turn: Any) -> str:
        return " ".join(f"{type(s).__name__}:{s.name}" for s in turn.session.mcp_servers)

    servers = [
        {"name": "files", "command": "/bin/files", "args": [], "env": []},
        {"type": "http", "name": "web", "url": "http://a", "headers": []},
    ]
    async with editing(agent_of(reply, mcp=["http"])) as editor:
        await editor.prompt(await editor.new(mcpServers=servers))
        assert editor.said() == "McpServerStdio:files McpServerHttp:web"


async def test_further_roots_are_those_of_the_last_request(store: Store) -> None:
    """R-149: stored ones are never restored."""

    async def reply(turn: Any) -> str:
        return " ".join(map(str, turn.session.roots)) + ";"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new(additionalDirectories=["/more"])
        await editor.prompt(session)
        await editor.load(session)
        editor.forget()
        await editor.prompt(session)
        await editor.load(session, "session/resume", additionalDirectories=["/other"])
        await editor.prompt(session)
        fork = (await editor.load(session, "session/fork"))["sessionId"]
        await editor.prompt(fork)
        assert editor.said() == "/project;/project /other;/project;"


# -- kept with the session --------------------------------------------------------------


async def test_state_title_mode_and_options_are_kept(store: Store) -> None:
    agent = conversing(store)
    async with opened(agent, **BOOLEANS) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        await editor.set_option(session, "model", "large")
        await editor.set_option(session, "fast", True)
    for method in ("session/load", "session/resume", "session/fork"):
        async with opened(agent, **BOOLEANS) as editor:
            answer = await editor.load(session, method)
            assert answer["modes"]["currentModeId"] == "code"
            values = {option["id"]: option["currentValue"] for option in answer["configOptions"]}
            assert values == {"mode": "code", "model": "large", "fast": True}
    await agent.close()


async def test_what_is_no_longer_declared_falls_back_to_the_default(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with editing(conversing(SqliteStore(path))) as editor:
        session = await editor.new()
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        await editor.set_option(session, "model", "large")
    changed = agent_of(
        converse, store=path, modes=[Mode("plan", "Plan")], options=[Select("model", "Model", ["tiny"])]
    )
    async with editing(changed) as editor:
        answer = await editor.load(session)
        assert answer["modes"]["currentModeId"] == "plan"
        assert {o["id"]: o["currentValue"] for o in answer["configOptions"]} == {
            "mode": "plan",
            "model": "tiny",
        }


@pytest.mark.parametrize(
    "bad", [object(), lambda: None, "\ud83d", {("a", "b"): 1}], ids=["object", "function", "text", "key"]
)
async def test_state_that_cannot_be_kept_is_told_and_harms_nothing_else(bad: Any, store: Store) -> None:
    """The conversation itself is kept, and the next prompt works when the state is mended."""

    async def reply(turn: Any) -> str:
        if turn.text == "bad":
            turn.session.state["bad"] = bad
        else:
            turn.session.state.pop("bad", None)
        return f"{turn.text};"

    agent = agent_of(reply, store=store)
    async with opened(agent) as editor:
        session, other = await editor.new(), await editor.new()
        error = await editor.prompt_fails(session, "bad")
        assert error.code == -32603
        assert "state" in error.message
        assert await editor.prompt(other, "other") == "end_turn"
        assert await editor.prompt(session, "mended") == "end_turn"
        editor.forget()
        await editor.load(session)
        assert editor.said() == "bad;mended;"
        await editor.prompt_fails(session, "bad")
    # both sessions were let go, so another process could have them
    for name in (session, other):
        await store.release(await store.acquire(name))
    await agent.close()


async def test_half_an_emoji_is_kept_as_it_was_shown(store: Store) -> None:
    """JSON from a model may be cut in the middle of a pair."""

    async def reply(turn: Any) -> Any:
        yield "\ud83d"
        yield "\ude00 and \udead"
        async with turn.tool("cut \ud83d", input={"a": "\ud83d"}):
            pass
        await turn.title("cut \ud83d")

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "go") == "end_turn"
        assert await editor.prompt(session, "again") == "end_turn"
        editor.forget()
        await editor.load(session)
        assert editor.said() == "😀 and �" * 2 or "�" in editor.said()
        assert len(editor.updates("tool_call")) == 2


async def test_a_list_of_a_relative_directory_is_refused(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        await editor.new(cwd="/a")
        for cwd in ("a", "", "./a", "/a\0"):
            assert (await editor.fails("session/list", {"cwd": cwd})).code == -32602, cwd


async def test_a_prompt_that_is_a_string_is_refused(store: Store) -> None:
    async with editing(conversing(store)) as editor:
        params = {"sessionId": await editor.new(), "prompt": "just a string"}
        assert (await editor.fails("session/prompt", params)).code == -32602


async def test_a_session_is_not_closed_under_a_request_that_changes_it(store: Store) -> None:
    """A load in the middle of `set_mode` closed the session, and the change was lost."""
    changing, go_on = asyncio.Event(), asyncio.Event()
    agent = conversing(store)

    @agent.on_mode
    async def changed(session: Any, mode: str) -> None:
        changing.set()
        await go_on.wait()

    async with editing(agent) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
        params = {"sessionId": session, "modeId": "code"}
        change = asyncio.create_task(editor.call("session/set_mode", params))
        await changing.wait()
        with pytest.raises(RpcError, match="another request of this session") as caught:
            await editor.load(session)
        assert caught.value.code == -32600
        go_on.set()
        await change
        assert (await editor.load(session))["modes"]["currentModeId"] == "code"


class BusyThenAway(MemoryStore):
    """Another node has the session when it is to be deleted; then the store fails."""

    deletions = 0
    leases = 0

    async def acquire(self, session_id: str, *, principal: str = "") -> Lease:
        lease = await super().acquire(session_id, principal=principal)
        self.leases += 1
        return lease

    async def release(self, lease: Lease) -> None:
        await super().release(lease)
        self.leases -= 1

    async def delete(self, session_id: str, *, principal: str = "") -> None:
        self.deletions += 1
        raise SessionBusy("another node has it") if self.deletions == 1 else StoreError("the disk is full")


async def test_a_session_that_could_not_be_deleted_is_given_back() -> None:
    """It stayed with the process that had tried, and no other could have it."""
    store = BusyThenAway()
    agent = conversing(store)
    async with opened(agent) as editor:
        session = await editor.new()
        await editor.prompt(session, "one")
    store.leases = 0
    async with editing(agent) as editor:
        with pytest.raises(RpcError):
            await editor.call("session/delete", {"sessionId": session})
        assert store.deletions == 2 and store.leases == 0

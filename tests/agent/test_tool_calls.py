"""Tool calls from announcement to end (C5, C9), and asking for permission (B6, C21)."""

import asyncio
import logging
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from acpella.errors import LocalProtocolError, RequestCancelled
from acpella.schema import Diff, ImageContent, TextContent
from acpella.sessions import Store
from agent.editor import FS, TERMINAL, agent_of, editing, prompt_params, text

pytestmark = pytest.mark.anyio


async def test_a_tool_call_is_announced_before_it_runs_and_completed_after() -> None:
    """C5, R-204, R-260."""

    async def reply(turn: Any) -> None:
        async with turn.tool("Read a.py", kind="read", name="read_file", input={"path": "a.py"}) as call:
            assert call.is_open
            await turn.say("running")
            call.show("found it")
            call.output({"lines": 3})
        assert not call.is_open

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        announced, chunk, ended = editor.updates()[:3]
        assert announced == {
            "sessionUpdate": "tool_call",
            "toolCallId": announced["toolCallId"],
            "title": "Read a.py",
            "kind": "read",
            "name": "read_file",
            "status": "in_progress",
            "rawInput": {"path": "a.py"},
        }
        assert chunk["sessionUpdate"] == "agent_message_chunk"
        assert ended == {
            "sessionUpdate": "tool_call_update",
            "toolCallId": announced["toolCallId"],
            "status": "completed",
            "content": [{"type": "content", "content": text("found it")}],
            "rawOutput": {"lines": 3},
        }


async def test_a_plain_function_uses_the_same_tools() -> None:
    def reply(turn: Any) -> None:
        plan = turn.plan("one")
        with turn.tool("Work", locations=["a.py"]) as call:
            call.show("so far")
            call.progress(title="Work on")
            with turn.tool("Inner") as inner:
                turn.under(inner).say("nested")
        plan.done("one")
        with pytest.raises(ZeroDivisionError), turn.tool("Divide"):
            _ = 1 / 0

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert [u.get("status") for u in editor.updates() if "tool" in u["sessionUpdate"]] == [
            *("in_progress", "in_progress", "in_progress", "completed", "completed", "in_progress", "failed")
        ]
        assert editor.updates("plan")[-1]["entries"][0]["status"] == "completed"


@pytest.mark.parametrize("how", ["raise", "fail", "fail with text"])
async def test_a_tool_call_that_fails_says_so(how: str) -> None:
    async def reply(turn: Any) -> None:
        try:
            async with turn.tool("Try") as call:
                if how == "raise":
                    raise OSError("no")
                call.fail("It broke." if how == "fail with text" else None)
        except OSError:
            pass

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        ended = editor.updates("tool_call_update")[-1]
        assert ended["status"] == "failed"
        if how == "fail with text":
            assert ended["content"][0]["content"]["text"] == "It broke."


async def test_locations_are_absolute_with_lines() -> None:
    """C9, R-020, R-021."""

    async def reply(turn: Any) -> None:
        async with turn.tool("Look", locations=["a.py", ("sub/b.py", 7), "/else/c.py", (Path("d.py"), 1)]):
            pass

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new(cwd="/work/place"))
        assert editor.updates("tool_call")[0]["locations"] == [
            {"path": "/work/place/a.py"},
            {"path": "/work/place/sub/b.py", "line": 7},
            {"path": "/else/c.py"},
            {"path": "/work/place/d.py", "line": 1},
        ]


async def test_content_of_all_kinds_is_shown() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Show") as call:
            call.show("text", TextContent(text="block"), ImageContent(data="AAAA", mime_type="image/png"))
            call.diff("new.py", None, "a\n")
            call.diff("/old.py", "a\n", "b\n")
            call.show(Diff(path="/c.py", new_text="c"))

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new(cwd="/place"))
        assert editor.updates("tool_call_update")[-1]["content"] == [
            {"type": "content", "content": text("text")},
            {"type": "content", "content": text("block")},
            {"type": "content", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
            {"type": "diff", "path": "/place/new.py", "newText": "a\n"},
            {"type": "diff", "path": "/old.py", "oldText": "a\n", "newText": "b\n"},
            {"type": "diff", "path": "/c.py", "newText": "c"},
        ]


async def test_progress_shows_what_there_is_so_far() -> None:
    """R-261: a list replaces the one before."""

    async def reply(turn: Any) -> None:
        async with turn.tool("Work") as call:
            call.show("one")
            await call.progress(title="Work on")
            call.show("two")

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        middle, end = editor.updates("tool_call_update")
        assert (middle["title"], middle["status"], len(middle["content"])) == ("Work on", "in_progress", 1)
        assert (end["status"], len(end["content"])) == ("completed", 2)


async def test_ids_are_unique_and_calls_may_overlap() -> None:
    """R-260."""

    async def reply(turn: Any) -> None:
        async def one(number: int) -> None:
            async with turn.tool(f"Tool {number}") as call:
                await asyncio.sleep(0)
                call.show(str(number))

        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(one(number))

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        started = {u["toolCallId"]: u["title"] for u in editor.updates("tool_call")}
        ended = {
            u["toolCallId"]: u["content"][0]["content"]["text"] for u in editor.updates("tool_call_update")
        }
        assert len(started) == 20
        assert {key: f"Tool {number}" for key, number in ended.items()} == started


async def test_a_call_left_open_is_failed_before_the_answer() -> None:
    """R-205: nothing of the turn comes after its answer."""

    async def reply(turn: Any) -> None:
        await turn.tool("Forgotten").open()

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        assert editor.order()[-1] == "session/prompt"


async def test_a_call_that_is_not_open_can_show_nothing() -> None:
    """It was never announced, or its end was told already."""

    async def reply(turn: Any) -> None:
        call = turn.tool("Work")
        with pytest.raises(LocalProtocolError, match="Work"):
            await call.progress()
        with pytest.raises(LocalProtocolError, match="Work"):
            await turn.shell.run("ls", call=call)
        async with call:
            pass
        with pytest.raises(LocalProtocolError, match="Work"):
            await call.progress()
        await call.close()

    async with editing(agent_of(reply), **TERMINAL) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert [u.get("status") for u in editor.updates() if "toolCallId" in u] == [
            "in_progress",
            "completed",
        ]
        assert editor.calls("terminal/create") == []


async def test_what_was_shown_is_replayed_as_it_was_at_that_time(store: Store) -> None:
    """C18: arguments that change later do not rewrite history."""

    async def reply(turn: Any) -> None:
        arguments = {"path": "a.py"}
        async with turn.tool("Edit", input=arguments) as call:
            arguments["path"] = "b.py"
            call.show("done")

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        shown = [u for u in editor.updates() if "tool" in u["sessionUpdate"]]
        assert shown[0]["rawInput"] == {"path": "a.py"}
        editor.forget()
        await editor.load(session)
        assert [u for u in editor.updates() if "tool" in u["sessionUpdate"]] == shown


async def test_input_that_is_no_json_fails_the_turn_and_harms_no_history(store: Store) -> None:
    async def reply(turn: Any) -> None:
        await turn.say("before ")
        try:
            async with turn.tool("Bad", input={"object": object()}):
                pass
        except TypeError:
            await turn.say("after")

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "question") == "end_turn"
        assert editor.said() == "before after"
        editor.forget()
        await editor.load(session)
        assert editor.said(kind="user_message_chunk") == "question"
        assert editor.said() == "before after"


# -- permission -------------------------------------------------------------------------


async def ask(turn: Any) -> str:
    async with turn.tool("Delete a.py", kind="delete", name="delete", locations=["a.py"]) as call:
        return "yes" if await turn.permit(call, f"Delete a.py ({turn.text})", key="delete") else "no"


def ask_plainly(turn: Any) -> str:
    with turn.tool("Delete a.py", kind="delete", name="delete", locations=["a.py"]) as call:
        return "yes" if turn.permit(call, f"Delete a.py ({turn.text})", key="delete") else "no"


async def test_always_for_one_file_of_a_tool_is_not_always_for_another() -> None:
    """Without a key, the question is remembered with its paths; the tool's name would cover all files."""

    async def write(turn: Any) -> str:
        path = turn.text
        async with turn.tool(
            f"Tidy {path}", kind="edit", name="tidy", locations=[path], pending=True
        ) as call:
            return "yes" if await turn.permit(call, "Write it") else "no"

    async with editing(agent_of(write)) as editor:
        editor.choice = "allow_always"
        session = await editor.new()
        for text, questions in (("a.txt", 1), ("a.txt", 1), ("b.txt", 2)):
            await editor.prompt(session, text)
            assert len(editor.calls("session/request_permission")) == questions
        names = [option["name"] for option in editor.calls("session/request_permission")[0]["options"]]
        assert names[1] == "Always allow exactly this in this project"


@pytest.mark.parametrize("handler", [ask, ask_plainly])
@pytest.mark.parametrize(
    "choice, answer, times",
    [
        ("allow_once", "yes", 2),
        ("reject_once", "no", 2),
        ("allow_always", "yes", 1),
        ("reject_always", "no", 1),
        ("cancelled", "no", 2),
    ],
)
async def test_the_user_decides_once_or_for_ever(handler: Any, choice: str, answer: str, times: int) -> None:
    """R-270, R-273."""
    async with editing(agent_of(handler)) as editor:
        editor.choice = choice
        session = await editor.new()
        await editor.prompt(session, "first")
        await editor.prompt(session, "second")
        assert editor.said() == answer * 2
        asked = editor.calls("session/request_permission")
        assert len(asked) == times
        call = asked[0]["toolCall"]
        assert call["title"] == "Delete a.py (first)"
        assert call["toolCallId"] == editor.updates("tool_call")[0]["toolCallId"]
        assert (call["kind"], call["locations"]) == ("delete", [{"path": "/project/a.py"}])
        assert [o["kind"] for o in asked[0]["options"]] == [
            *("allow_once", "allow_always", "reject_once", "reject_always")
        ]


@pytest.mark.parametrize(
    "outcome",
    [
        {"outcome": {"outcome": "selected", "optionId": "never offered"}},
        {"outcome": {"outcome": "cancelled"}},
        RequestCancelled(),
    ],
)
async def test_what_is_no_yes_is_a_no(outcome: Any) -> None:
    """R-224: cancelled comes as an outcome or as -32800; R-271: an unknown option approves nothing."""
    async with editing(agent_of(ask)) as editor:
        editor.on["session/request_permission"] = outcome
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.said() == "no"


async def test_permission_can_be_asked_without_a_tool_call() -> None:
    async def reply(turn: Any) -> str:
        return str(await turn.permit(None, "Go on?"))

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "True"
        (asked,) = editor.calls("session/request_permission")
        assert asked["toolCall"]["title"] == "Go on?"
        assert asked["toolCall"]["status"] == "pending"


async def test_decisions_are_remembered_by_key() -> None:
    async def reply(turn: Any) -> str:
        async with turn.tool("Run", name="run") as call:
            return str(await turn.permit(call, turn.text, key=turn.text.split()[0]))

    async with editing(agent_of(reply)) as editor:
        editor.choice = "allow_always"
        session = await editor.new()
        for command in ("git status", "git diff", "rm -rf /"):
            await editor.prompt(session, command)
        asked = [params["toolCall"]["title"] for params in editor.calls("session/request_permission")]
        assert asked == ["git status", "rm -rf /"]


@pytest.mark.parametrize("pending", [True, False])
async def test_a_call_is_pending_while_it_waits_for_permission(pending: bool) -> None:
    """Announced before it runs, and in progress only when it does (C5)."""

    async def reply(turn: Any) -> None:
        async with turn.tool("Write", name="write", pending=pending) as call:
            await call.progress()
            await turn.permit(call)
            await call.progress()

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        (asked,) = editor.calls("session/request_permission")
        assert asked["toolCall"]["status"] == "pending"
        first = "pending" if pending else "in_progress"
        statuses = [u.get("status", "pending") for u in editor.updates() if "toolCallId" in u]
        assert statuses == [first, first, "in_progress", "in_progress", "completed"]


async def test_a_refused_call_was_never_in_progress() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Write", pending=True) as call:
            await turn.permit(call)

    async with editing(agent_of(reply)) as editor:
        editor.choice = "reject_once"
        await editor.prompt(await editor.new())
        statuses = [u.get("status", "pending") for u in editor.updates() if "toolCallId" in u]
        assert statuses == ["pending", "failed"]


async def test_always_holds_in_one_project_and_its_name_says_so(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to("one")
    async with editing(agent_of(ask)) as editor:
        editor.choice = "allow_always"
        for name in ("one", "link", "two", "one/deeper"):
            await editor.prompt(await editor.new(cwd=str(tmp_path / name)))
        asked = editor.calls("session/request_permission")
        assert len(asked) == 3  # the link leads to the first
        assert [option["name"] for option in asked[0]["options"]] == [
            *("Allow", "Always allow in this project", "Reject", "Always reject in this project")
        ]


async def test_always_holds_everywhere_where_its_name_says_so() -> None:
    async def reply(turn: Any) -> str:
        return str(await turn.permit(None, "Look", covers="looking", everywhere=True))

    async with editing(agent_of(reply)) as editor:
        editor.choice = "allow_always"
        for name in ("/one", "/two"):
            await editor.prompt(await editor.new(cwd=name))
        (asked,) = editor.calls("session/request_permission")
        assert asked["options"][1]["name"] == "Always allow looking in every project"


async def test_an_old_answer_for_every_project_refuses_but_allows_nothing(tmp_path: Path) -> None:
    """It was given when no name said how far it goes."""
    file = tmp_path / "permissions.toml"
    settings = {"permission_file": str(file)}
    for decision, said, times in (("allow", "no", 1), ("deny", "no", 0)):
        file.write_text(f'[tested]\ndelete = "{decision}"\n', encoding="utf-8")
        async with editing(agent_of(ask, settings=settings)) as editor:
            editor.choice = "reject_once"
            await editor.prompt(await editor.new())
            assert editor.said() == said
            assert len(editor.calls("session/request_permission")) == times


async def test_decisions_outlive_the_agent_in_a_private_file(tmp_path: Path) -> None:
    """C21."""
    file = tmp_path / "sub" / "permissions.toml"
    settings = {"permission_file": str(file)}
    async with editing(agent_of(ask, settings=settings)) as editor:
        editor.choice = "reject_always"
        await editor.prompt(await editor.new())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 'delete" = "deny"' in file.read_text(encoding="utf-8")
    assert os.listdir(file.parent) == [file.name]
    async with editing(agent_of(ask, settings=settings)) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "no"
        assert editor.calls("session/request_permission") == []


async def test_decisions_hold_for_one_agent_by_name(tmp_path: Path) -> None:
    settings = {"permission_file": str(tmp_path / "permissions.toml")}
    async with editing(agent_of(ask, settings=settings)) as editor:
        editor.choice = "allow_always"
        await editor.prompt(await editor.new())
    other = agent_of(ask, name="another", settings=settings)
    async with editing(other) as editor:
        editor.choice = "reject_once"
        await editor.prompt(await editor.new())
        assert editor.said() == "no"


async def test_a_decision_of_another_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "permissions.toml"
    monkeypatch.setenv("ACPELLA_PERMISSION_FILE", str(file))
    async with editing(agent_of(ask)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        script = (
            "import pathlib\n"
            "from acpella.sessions import RememberedPermissions\n"
            f"RememberedPermissions(pathlib.Path({str(file)!r})).remember('tested', 'delete', 'deny')\n"
        )
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        assert await process.wait() == 0
        await editor.prompt(session)
        assert editor.said() == "yesno"
        assert len(editor.calls("session/request_permission")) == 1


@pytest.mark.parametrize("content", ["not toml [", '[tested]\ndelete = "maybe"\n', "tested = 1\n", "\x00"])
async def test_a_malformed_file_is_ignored_with_a_warning_and_left_alone(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """C21."""
    file = tmp_path / "permissions.toml"
    file.write_text(content, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        async with editing(agent_of(ask, settings={"permission_file": str(file)})) as editor:
            editor.choice = "allow_always"
            session = await editor.new()
            await editor.prompt(session)
            await editor.prompt(session)
            assert editor.said() == "yesyes"
            assert len(editor.calls("session/request_permission")) == 1  # held in memory
    assert "permissions.toml" in caplog.text
    assert file.read_text(encoding="utf-8") == content


async def test_a_decision_that_cannot_be_written_holds_for_now(caplog: pytest.LogCaptureFixture) -> None:
    async with editing(agent_of(ask, settings={"permission_file": "/dev/null/permissions.toml"})) as editor:
        editor.choice = "allow_always"
        session = await editor.new()
        await editor.prompt(session)
        await editor.prompt(session)
        assert editor.said() == "yesyes"
        assert len(editor.calls("session/request_permission")) == 1
    assert "/dev/null/permissions.toml" in caplog.text


async def test_a_waiting_permission_has_no_time_limit_and_can_be_answered_late() -> None:
    """A7: `editor_timeout` is for what needs no person."""
    asked = asyncio.Event()
    limit_passed = asyncio.Event()

    async def reply(turn: Any) -> str:
        answer = asyncio.create_task(ask(turn))
        await asked.wait()
        with pytest.raises(TimeoutError):
            await turn.files.read("a.py")  # sent behind the question, so its limit ends later
        limit_passed.set()
        return await answer

    async def late(params: Any) -> Any:
        asked.set()
        await limit_passed.wait()
        return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

    async def never(params: Any) -> Any:
        await asyncio.Event().wait()

    async with editing(agent_of(reply, settings={"editor_timeout": 0.01}), **FS) as editor:
        editor.on |= {"session/request_permission": late, "fs/read_text_file": never}
        answered = await editor.call("session/prompt", prompt_params(await editor.new()))
        assert answered["stopReason"] == "end_turn"
        assert editor.said() == "yes"


async def test_a_call_says_more_of_itself_while_it_waits_and_runs() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("edit_file", pending=True) as call:
            await call.change(title="Edit a.py", kind="edit", locations=[("a.py", 3)], input={"path": "a.py"})
            await call.start()
            await call.change(title="Edit a.py again")

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        announced, changed, started, again, ended = editor.updates()[:5]
        assert announced["title"] == "edit_file" and "status" not in announced  # pending is the default
        assert changed["title"] == "Edit a.py" and changed["kind"] == "edit"
        assert changed["rawInput"] == {"path": "a.py"} and changed["status"] == "pending"
        (location,) = changed["locations"]
        assert os.path.isabs(location["path"]) and location["line"] == 3
        assert started["status"] == "in_progress" and "rawInput" not in started
        assert again["title"] == "Edit a.py again" and "kind" not in again
        assert ended["status"] == "completed"


async def test_a_call_does_not_change_into_an_unknown_kind() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Try") as call:
            with pytest.raises(ValueError, match="no kind of tool"):
                await call.change(kind="magic")

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"

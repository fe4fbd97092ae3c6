"""The same conversations with an agent of each framework, as an editor sees them on the wire."""

import asyncio
import base64
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import acpella
from acpella.agent import Agent
from adapters import frameworks, toolbelt
from adapters.script import Call, Script, Think, Wait
from agent.editor import FS, FakeEditor, editing

pytestmark = pytest.mark.anyio

CALLED = "tool_call"

PATIENCE = 120
"""Seconds: some frameworks import half of themselves at the first prompt."""

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()


@pytest.fixture(params=frameworks.every())
def framework(request: pytest.FixtureRequest) -> ModuleType:
    """The fixtures of one framework."""
    return frameworks.load(request.param)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    toolbelt.reset()
    monkeypatch.setenv("ACPELLA_STATE_HOME", str(tmp_path / "state"))  # remembered permissions
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield


def adapted(framework: ModuleType, target: Any, **options: Any) -> Agent:
    return acpella.adapt(target, **{"store": "memory", **framework.options(target), **options})


@asynccontextmanager
async def session_of(agent: Agent, **capabilities: Any) -> AsyncIterator[tuple[FakeEditor, str]]:
    async with editing(agent, patience=PATIENCE, **capabilities) as editor:
        yield editor, await editor.new()


def calls_of(editor: FakeEditor) -> dict[str, dict[str, Any]]:
    """Each tool call as the editor has it in the end, with `statuses` as they came."""
    found: dict[str, dict[str, Any]] = {}
    for update in editor.updates():
        if update["sessionUpdate"] not in ("tool_call", "tool_call_update"):
            continue
        call = found.setdefault(update["toolCallId"], {"statuses": [], "opened": 0})
        call["opened"] += update["sessionUpdate"] == "tool_call"
        status = update.get("status") or ("pending" if update["sessionUpdate"] == "tool_call" else None)
        if status and (not call["statuses"] or call["statuses"][-1] != status):
            call["statuses"].append(status)
        call.update({key: value for key, value in update.items() if value is not None})
    for call in found.values():
        assert call["opened"] == 1, f"announced {call['opened']} times: {call['title']}"
        assert call["statuses"][-1] in ("completed", "failed"), f"never ended: {call}"
    return found


def only_call(editor: FakeEditor) -> dict[str, Any]:
    (call,) = calls_of(editor).values()
    return call


# -- words -----------------------------------------------------------------------------------


async def test_text_and_thoughts_stream(framework: ModuleType) -> None:
    script = Script([Think("Let me "), Think("see. "), "Hel", "lo ", "there"])
    async with session_of(adapted(framework, framework.agent(script))) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        assert editor.said() == "Hello there"
        assert editor.said(kind="agent_thought_chunk") == "Let me see. "
        assert len(editor.updates("agent_message_chunk")) > 1, "all at once is not streamed"


async def test_what_the_editor_shows_is_not_printed_too(
    framework: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    async with session_of(adapted(framework, framework.agent(Script(["Hel", "lo"])))) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        assert editor.said() == "Hello"
    printed = capsys.readouterr()
    assert "Hel" not in printed.out + printed.err


async def test_the_model_remembers_the_turns_before(framework: ModuleType) -> None:
    script = Script()
    async with session_of(adapted(framework, framework.agent(script))) as (editor, session):
        await editor.prompt(session, "one")
        await editor.prompt(session, "two")
        await editor.prompt(session, "three")
        assert script.seen[-1].user == ["one", "two", "three"]
        assert len(script.seen[-1].assistant) == 2
        other = await editor.new()
        await editor.prompt(other, "alone")
        assert script.seen[-1].user == ["alone"]


async def test_an_image_reaches_the_model(framework: ModuleType) -> None:
    script = Script(["a dot"])
    async with session_of(adapted(framework, framework.agent(script))) as (editor, session):
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        await editor.prompt(session, [{"type": "text", "text": "What is this?"}, image])
        assert script.seen[0].images == ["image/png"]
        assert script.seen[0].user == ["What is this?"]
        await editor.prompt(session, "and now?")
        assert editor.said().startswith("a dot")


async def test_the_user_switches_the_model_and_the_conversation_goes_on(framework: ModuleType) -> None:
    script = Script()
    models = {name: framework.model(script, name) for name in ("first", "second")}
    async with session_of(adapted(framework, framework.agent(script), models=models)) as (editor, session):
        await editor.prompt(session, "one")
        await editor.set_option(session, "model", "second")
        await editor.prompt(session, "two")
        assert [seen.model for seen in script.seen] == ["first", "second"]
        assert script.seen[-1].user == ["one", "two"]


async def test_the_answer_says_how_many_tokens_it_took(framework: ModuleType) -> None:
    agent = adapted(framework, framework.agent(Script(["some words"])))
    async with session_of(agent, _meta={"prompt_usage": True}) as (editor, session):
        answer = await editor.call(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
        )
        assert answer["usage"]["outputTokens"] > 0
        assert answer["usage"]["totalTokens"] >= answer["usage"]["outputTokens"]


# -- tools -----------------------------------------------------------------------------------


async def test_a_tool_call_has_title_kind_place_and_change(framework: ModuleType) -> None:
    change = {"path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"}
    script = Script(["I will ", Call("c1", "edit_file", change)], ["Done"])
    agent = adapted(framework, framework.agent(script, [toolbelt.edit_file]))
    async with session_of(agent) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        call = only_call(editor)
        assert (call["title"], call["kind"]) == ("Edit src/a.py", "edit")
        assert call["locations"][0]["path"] == os.path.join(editor.cwd, "src/a.py")
        diff = next(item for item in call["content"] if item["type"] == "diff")
        assert (diff["path"], diff["oldText"], diff["newText"]) == (
            os.path.join(editor.cwd, "src/a.py"),
            "x = 1",
            "x = 2",
        )
        assert call["rawInput"] == change and call["statuses"][-2:] == ["in_progress", "completed"]
        assert editor.said() == "I will Done"
        assert script.seen[-1].results["c1"] == "changed"


async def test_a_tool_that_fails_ends_as_failed(framework: ModuleType) -> None:
    script = Script([Call("c1", "broken", {"reason": "rust"})], ["I see"])
    agent = adapted(framework, framework.agent(script, [toolbelt.broken]))
    async with session_of(agent) as (editor, session):
        try:
            await editor.prompt(session)
        except acpella.RpcError as error:  # a framework may end the run with it
            assert "it is broken: rust" in error.message
        assert only_call(editor)["statuses"][-1] == "failed"
        assert await editor.prompt(session, "and now?") == "end_turn"


async def test_tools_run_in_parallel(framework: ModuleType) -> None:
    script = Script([Call("c1", "both", {"name": "one"}), Call("c2", "both", {"name": "two"})], ["Done"])
    agent = adapted(framework, framework.agent(script, [toolbelt.both]))
    async with session_of(agent) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        calls = calls_of(editor)
        assert sorted(call["title"] for call in calls.values()) == ["both(name=one)", "both(name=two)"]
        assert {call["statuses"][-1] for call in calls.values()} == {"completed"}
        assert script.seen[-1].results == {"c1": "one is done", "c2": "two is done"}


async def test_a_sub_agent_is_shown_inside_the_call_that_runs_it(framework: ModuleType) -> None:
    if not framework.SUBAGENTS:
        pytest.skip("this framework has no sub-agents whose work could be seen")
    inner = Script(["I look. ", Call("i1", "read_note", {"path": "a.txt"})], ["It is a note"])
    script = Script([Call("c1", "delegate", {"task": "look"})], ["All done"])
    target = framework.nested(script, inner, [toolbelt.read_note])
    async with session_of(adapted(framework, target)) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        calls = list(calls_of(editor).values())
        outer = next(call for call in calls if parent_of(call) is None)
        note = next(call for call in calls if parent_of(call) is not None)
        assert parent_of(note) == outer["toolCallId"]
        assert note["locations"][0]["path"].endswith("a.txt")
        inside = [u["content"]["text"] for u in editor.updates("agent_message_chunk") if parent_of(u)]
        outside = [u["content"]["text"] for u in editor.updates("agent_message_chunk") if not parent_of(u)]
        assert "".join(inside) == "I look. It is a note"
        assert "".join(outside) == "All done"


def parent_of(update: dict[str, Any]) -> str | None:
    return update.get("_meta", {}).get("claudeCode", {}).get("parentToolUseId")


# -- permission ------------------------------------------------------------------------------


async def test_a_permitted_tool_runs_after_the_question(framework: ModuleType) -> None:
    script = Script([Call("c1", "run_shell", {"command": "ls -l"})], ["Done"])
    target = framework.agent(script, [toolbelt.run_shell], approve=["run_shell"])
    async with session_of(adapted(framework, target)) as (editor, session):
        assert await editor.prompt(session) == "end_turn"
        (question,) = editor.calls("session/request_permission")
        call = only_call(editor)
        assert question["toolCall"]["toolCallId"] == call["toolCallId"]
        assert question["toolCall"]["title"] == "ls -l", "the user must see what is permitted"
        assert call["kind"] == "execute" and call["statuses"] == ["pending", "in_progress", "completed"]
        assert script.seen[-1].results["c1"] == "ran ls -l"


async def test_a_refused_tool_does_not_run_and_the_model_is_told(framework: ModuleType) -> None:
    script = Script([Call("c1", "run_shell", {"command": "rm x"})], ["Then not"])
    target = framework.agent(script, [toolbelt.run_shell], approve=["run_shell"])
    async with session_of(adapted(framework, target)) as (editor, session):
        editor.choice = "reject_once"
        assert await editor.prompt(session) == "end_turn"
        assert only_call(editor)["statuses"] == ["pending", "failed"]
        assert "ran" not in script.seen[-1].results["c1"]
        assert re.search("refused|rejected", script.seen[-1].results["c1"])
        assert editor.said() == "Then not"


async def test_always_covers_exactly_this_command(framework: ModuleType) -> None:
    def step(number: int, command: str) -> list[Call]:
        return [Call(f"c{number}", "run_shell", {"command": command})]

    script = Script(step(1, "ls"), ["1"], step(2, "ls"), ["2"], step(3, "rm x"), ["3"])
    target = framework.agent(script, [toolbelt.run_shell], approve=["run_shell"])
    async with session_of(adapted(framework, target)) as (editor, session):
        editor.choice = "allow_always"
        for _ in range(3):
            assert await editor.prompt(session) == "end_turn"
        questions = editor.calls("session/request_permission")
        assert [question["toolCall"]["title"] for question in questions] == ["ls", "rm x"]
        assert [call["statuses"][-1] for call in calls_of(editor).values()] == ["completed"] * 3


async def test_in_the_mode_auto_nobody_is_asked(framework: ModuleType) -> None:
    script = Script([Call("c1", "run_shell", {"command": "ls"})], ["Done"])
    target = framework.agent(script, [toolbelt.run_shell], approve=["run_shell"])
    async with session_of(adapted(framework, target)) as (editor, session):
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
        assert await editor.prompt(session) == "end_turn"
        assert not editor.calls("session/request_permission")
        assert only_call(editor)["statuses"][-1] == "completed"


# -- cancelling ------------------------------------------------------------------------------


async def test_after_a_cancel_in_the_text_the_next_prompt_works(framework: ModuleType) -> None:
    reached = asyncio.Event()
    script = Script(["Half an ans", Wait(reached)])
    async with session_of(adapted(framework, framework.agent(script))) as (editor, session):
        prompting = asyncio.ensure_future(editor.prompt(session, "one"))
        await editor.until_said("Half an ans")
        await reached.wait()
        await editor.cancel(session)
        assert await prompting == "cancelled"
        assert await editor.prompt(session, "two") == "end_turn"
        assert script.seen[-1].user == ["one", "two"]


async def test_after_a_cancel_in_a_tool_the_model_knows_what_was_done(framework: ModuleType) -> None:
    script = Script(
        [Call("c1", "read_note", {"path": "a"})], [Call("c2", "slow", {"seconds": 9})], lambda seen: ["Fine"]
    )
    target = framework.agent(script, [toolbelt.read_note, toolbelt.slow])
    async with session_of(adapted(framework, target)) as (editor, session):
        prompting = asyncio.ensure_future(editor.prompt(session, "one"))
        await toolbelt.running.wait()
        await editor.until(lambda: len(editor.updates(CALLED)) == 2)
        await editor.cancel(session)
        assert await prompting == "cancelled"
        assert [call["statuses"][-1] for call in calls_of(editor).values()] == ["completed", "failed"]
        assert await editor.prompt(session, "two") == "end_turn"
        last = script.seen[-1]
        assert last.user == ["one", "two"]
        assert last.results["c1"] == "the note in a", "what was done is remembered"
        assert not last.dangling


# -- what the editor brings --------------------------------------------------------------------


async def test_tools_of_an_mcp_server_reach_the_model(framework: ModuleType, tmp_path: Path) -> None:
    script = Script([Call("c1", "parrot__echo", {"text": "from afar"})], ["Heard"])
    program = Path(__file__).parents[1] / "mcp_servers" / "plain.py"
    server = {"name": "parrot", "command": sys.executable, "args": [str(program)], "env": []}
    async with editing(adapted(framework, framework.agent(script)), patience=PATIENCE) as editor:
        editor.cwd = str(tmp_path)
        session = await editor.new(mcpServers=[server])
        assert await editor.prompt(session) == "end_turn"
        assert "parrot__echo" in script.seen[0].tools
        assert "from afar" in script.seen[-1].results["c1"]
        assert only_call(editor)["statuses"] == ["pending", "in_progress", "completed"]
        assert len(editor.calls("session/request_permission")) == 1


async def test_editor_tools_read_the_unsaved_buffer_and_write_through_the_editor(
    framework: ModuleType,
) -> None:
    script = Script(
        [Call("c1", "read_file", {"path": "a.txt"})],
        [Call("c2", "write_file", {"path": "a.txt", "content": "new"})],
        ["Done"],
    )
    agent = adapted(framework, framework.agent(script), editor_tools=True)
    async with session_of(agent, **FS) as (editor, session):
        path = os.path.join(editor.cwd, "a.txt")
        editor.files[path] = "not saved yet"
        assert await editor.prompt(session) == "end_turn"
        assert script.seen[-1].results["c1"] == "not saved yet"
        assert editor.files[path] == "new"
        (question,) = editor.calls("session/request_permission")
        diff = next(item for item in question["toolCall"]["content"] if item["type"] == "diff")
        assert (diff["oldText"], diff["newText"]) == ("not saved yet", "new")
        assert "run_command" not in script.seen[0].tools, "the editor has no terminals"


async def test_a_tool_finds_the_editor_by_the_current_turn(framework: ModuleType) -> None:
    script = Script([Call("c1", "through_editor", {"path": "b.txt"})], ["Done"])
    agent = adapted(framework, framework.agent(script, [toolbelt.through_editor]))
    async with session_of(agent, **FS) as (editor, session):
        editor.files[os.path.join(editor.cwd, "b.txt")] = "in the buffer"
        assert await editor.prompt(session) == "end_turn"
        assert script.seen[-1].results["c1"] == "in the buffer"


# -- what is kept ----------------------------------------------------------------------------


async def test_another_process_loads_the_session_and_the_model_remembers(
    framework: ModuleType, tmp_path: Path
) -> None:
    store = tmp_path / "sessions.sqlite"
    before = Script([Call("c1", "read_note", {"path": "a"})], ["noted"])
    target = framework.agent(before, [toolbelt.read_note])
    async with session_of(adapted(framework, target, store=store)) as (editor, session):
        await editor.prompt(session, "one")
    after = Script()
    target = framework.agent(after, [toolbelt.read_note])
    async with editing(adapted(framework, target, store=store), patience=PATIENCE) as editor:
        await editor.load(session)
        await editor.prompt(session, "two")
        assert after.seen[-1].user == ["one", "two"]
        assert after.seen[-1].results == {"c1": "the note in a"}
        forked = (await editor.load(session, "session/fork"))["sessionId"]
        await editor.prompt(forked, "three")
        assert after.seen[-1].user == ["one", "two", "three"]
        await editor.prompt(session, "four")
        assert after.seen[-1].user == ["one", "two", "four"]

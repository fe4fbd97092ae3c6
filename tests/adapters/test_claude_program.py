"""The Claude Agent SDK with Claude's real program, which its package brings, and a model on this machine."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.agent import Agent
from acpella.testing.model import FakeModel, ModelAnswer, ModelPrompt, ToolUse
from adapters import frameworks
from adapters.test_scenarios import PIXEL, calls_of, only_call, parent_of
from agent.editor import FS, FakeEditor, editing

pytestmark = pytest.mark.anyio

if "claude_agent" not in frameworks.installed():
    pytest.skip("frameworks that `make test-adapters` installs", allow_module_level=True)

PATIENCE = 120
"""Seconds: Claude's program takes four to start on a machine with nothing else to do."""


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as model:
        yield model


@pytest.fixture
def claude(model: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Agent]:
    """Makes agents whose Claude asks the model of the test, and keeps its files in the test's directory."""
    from claude_agent_sdk import ClaudeAgentOptions

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    env = {
        "HOME": str(tmp_path / "home"),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }

    def make(model: FakeModel = model, **options: Any) -> Agent:
        asked = {**env, "ANTHROPIC_BASE_URL": model.url}
        return acpella.adapt(ClaudeAgentOptions(env=asked), **{"store": "memory", **options})

    return make


async def opened(editor: FakeEditor, tmp_path: Path, **params: Any) -> str:
    editor.cwd = str(tmp_path / "project")
    return await editor.new(**params)


async def test_it_thinks_speaks_sees_and_tells_what_it_took(
    claude: Callable[..., Agent], model: FakeModel, tmp_path: Path
) -> None:
    models = ["claude-sonnet-5", "claude-opus-5"]
    async with editing(claude(models=models), patience=PATIENCE) as editor:
        session = await opened(editor, tmp_path)
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        assert await editor.prompt(session, [{"type": "text", "text": "!think hm\n!say seen"}, image])
        assert (editor.said(kind="agent_thought_chunk"), editor.said()) == ("hm", "seen")
        (project := tmp_path / "project" / "a.txt").write_text("a note\n", encoding="utf-8")
        await editor.set_option(session, "model", "claude-opus-5")
        assert await editor.prompt(session, f"!read {project}") == "end_turn"
        bodies = [request.body for request in model.requests]
        asked = [
            body for body in bodies if body["max_tokens"] > 1
        ]  # it tries a model before it changes to it
        assert [body["model"] for body in asked] == ["claude-sonnet-5", *["claude-opus-5"] * 2]
        assert '"media_type": "image/png"' in json.dumps(asked[-1]), "it remembers the picture"
        call = only_call(editor)
        assert (call["title"], call["kind"]) == (f"Read {project}", "read")
        assert call["statuses"] == ["pending", "in_progress", "completed"]
        gauge = editor.updates("usage_update")[-1]
        assert gauge["used"] == 11 + 4, "what the last request took, not the sum of the turn's"


async def test_a_change_is_shown_and_asked_for_and_a_refusal_is_told(
    claude: Callable[..., Agent], model: FakeModel, tmp_path: Path
) -> None:
    async with editing(claude(), patience=PATIENCE) as editor:
        session = await opened(editor, tmp_path)
        path = tmp_path / "project" / "new.txt"
        editor.choice = "reject_once"
        assert await editor.prompt(session, f"!write {path} text") == "end_turn"
        assert not path.exists()
        assert only_call(editor)["statuses"] == ["pending", "failed"]
        assert "refused" in editor.said()
        editor.forget()
        editor.choice = "allow_once"
        assert await editor.prompt(session, f"!write {path} text") == "end_turn"
        assert path.read_text(encoding="utf-8").strip() == "text"
        (question,) = editor.calls("session/request_permission")
        diff = next(item for item in question["toolCall"]["content"] if item["type"] == "diff")
        assert (diff["path"], diff["newText"].strip()) == (str(path), "text")
        assert only_call(editor)["statuses"] == ["pending", "in_progress", "completed"]


async def test_after_a_cancel_in_text_and_in_a_tool_the_next_prompt_works(
    claude: Callable[..., Agent], model: FakeModel, tmp_path: Path
) -> None:
    async with editing(claude(), patience=PATIENCE) as editor:
        session = await opened(editor, tmp_path)
        prompting = asyncio.ensure_future(editor.prompt(session, "!slow"))
        await editor.until_said("3 ")
        await editor.cancel(session)
        assert await prompting == "cancelled"
        await editor.call("session/set_mode", {"sessionId": session, "modeId": "auto"})
        os.mkfifo(pipe := tmp_path / "pipe")
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        running = asyncio.Event()
        asyncio.get_running_loop().add_reader(end, running.set)
        editor.forget()
        prompting = asyncio.ensure_future(editor.prompt(session, f"!run echo > {pipe}; sleep 600"))
        async with asyncio.timeout(PATIENCE):
            await running.wait()
        asyncio.get_running_loop().remove_reader(end)
        os.close(end)
        await editor.cancel(session)
        assert await prompting == "cancelled"
        assert only_call(editor)["statuses"][-1] == "failed"
        editor.forget()
        assert await editor.prompt(session, "and now?") == "end_turn"
        assert editor.said().endswith("and now?"), "after what Claude adds about the interruption"
        last = json.dumps(model.requests[-1].body["messages"])
        assert "!slow" in last and "sleep 600" in last, "it knows what was tried"


async def test_an_error_of_the_provider_is_told_once(claude: Callable[..., Agent], tmp_path: Path) -> None:
    async with editing(claude(), patience=PATIENCE) as editor:
        session = await opened(editor, tmp_path)
        error = await editor.prompt_fails(session, "!fail 400 no such thing")
        assert "400 no such thing" in str(error)
        assert editor.said() == ""


async def test_another_process_loads_and_forks_what_claude_remembers(
    claude: Callable[..., Agent], model: FakeModel, tmp_path: Path
) -> None:
    store = tmp_path / "sessions.sqlite"

    def said() -> list[str]:
        text = json.dumps(model.requests[-1].body["messages"])
        return [word for word in ("alpha", "beta", "gamma", "delta") if word in text]

    async with editing(claude(store=store), patience=PATIENCE) as editor:
        session = await opened(editor, tmp_path)
        await editor.prompt(session, "alpha")
    async with editing(claude(store=store), patience=PATIENCE) as editor:
        editor.cwd = str(tmp_path / "project")
        await editor.load(session)
        await editor.prompt(session, "beta")
        assert said() == ["alpha", "beta"]
        forked = (await editor.load(session, "session/fork"))["sessionId"]
        await editor.prompt(forked, "gamma")
        assert said() == ["alpha", "beta", "gamma"]
        await editor.prompt(session, "delta")
        assert said() == ["alpha", "beta", "delta"]


async def test_the_editors_buffers_and_mcp_servers_reach_it(
    claude: Callable[..., Agent], tmp_path: Path
) -> None:
    def answer(prompt: ModelPrompt) -> ModelAnswer:
        tool, _, text = prompt.said.partition(" ")
        if prompt.results:
            return ModelAnswer(f"It said: {prompt.results[-1]}")
        key = "path" if tool.endswith("read_file") else "text"
        return ModelAnswer(use=ToolUse("toolu_" + tool[-9:], f"mcp__acpella__{tool}", {key: text}))

    program = Path(__file__).parents[1] / "mcp_servers" / "plain.py"
    server = {"name": "parrot", "command": sys.executable, "args": [str(program)], "env": []}
    with FakeModel(answer) as model:
        async with editing(claude(model, editor_tools=True), patience=PATIENCE, **FS) as editor:
            session = await opened(editor, tmp_path, mcpServers=[server])
            editor.files[str(tmp_path / "project" / "a.txt")] = "not saved yet"
            assert await editor.prompt(session, "read_file a.txt") == "end_turn"
            assert editor.said() == "It said: not saved yet"
            assert await editor.prompt(session, "parrot__echo from afar") == "end_turn"
            assert "from afar" in editor.said().partition("yet")[2]
            for call in calls_of(editor).values():
                assert call["statuses"] == ["pending", "in_progress", "completed"]


async def test_a_sub_agent_is_shown_inside_its_call(claude: Callable[..., Agent], tmp_path: Path) -> None:
    def answer(prompt: ModelPrompt) -> ModelAnswer:
        if "look closely" in prompt.said:
            return ModelAnswer("I looked.")
        if prompt.results:
            return ModelAnswer("All done")
        task = {"description": "look", "prompt": "look closely", "subagent_type": "general-purpose"}
        agent = next(tool.name for tool in prompt.tools if tool.name in ("Agent", "Task"))
        return ModelAnswer(use=ToolUse("toolu_1", agent, {**task, "run_in_background": False}))

    with FakeModel(answer) as model:
        async with editing(claude(model), patience=PATIENCE) as editor:
            session = await opened(editor, tmp_path)
            assert await editor.prompt(session, "go") == "end_turn"
            chunks = editor.updates("agent_message_chunk")
            assert "".join(u["content"]["text"] for u in chunks if parent_of(u)) == "I looked."
            assert "".join(u["content"]["text"] for u in chunks if not parent_of(u)) == "All done"
            assert only_call(editor)["statuses"][-1] == "completed"

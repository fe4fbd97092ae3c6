"""Files that are not there, as editors tell of them in many ways."""

from pathlib import Path
from typing import Any

import pytest

from acpella.coder import agent as coding_agent
from acpella.errors import InternalError, ResourceNotFound
from agent.editor import FS, editing
from coder.harness import environment

pytestmark = pytest.mark.anyio

MISSING = [
    {"content": ""},
    {"content": None},
    {},
    [],
    ResourceNotFound(),
    InternalError(),
    InternalError(data={"details": "ENOENT: no such file or directory"}),
]


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("answer", MISSING, ids=repr)
async def test_a_new_file_is_written_whatever_the_editor_answers_to_its_read(
    project: Path, answer: Any
) -> None:
    async with editing(coding_agent(model="offline", store=None), **FS) as editor:
        editor.on["fs/read_text_file"] = answer
        session = await editor.new(cwd=str(project))
        await editor.prompt(session, "create new.txt with hello")
        assert editor.files == {str(project / "new.txt"): "hello\n"}, editor.said()
        (asked,) = editor.calls("session/request_permission")
        assert asked["toolCall"]["content"][0].get("oldText") is None
        assert len(editor.calls("fs/read_text_file")) == 1  # editors show an error for each


@pytest.mark.parametrize("answer", MISSING, ids=repr)
async def test_the_model_is_told_that_a_file_is_missing_whatever_the_editor_answers(
    project: Path, answer: Any
) -> None:
    async with editing(coding_agent(model="offline", store=None), **FS) as editor:
        editor.on["fs/read_text_file"] = answer
        await editor.prompt(await editor.new(cwd=str(project)), "read none.txt")
        assert "no such file" in editor.said() and "empty" not in editor.said()


async def test_a_file_that_is_there_is_not_written_when_its_read_failed(project: Path) -> None:
    """The reason of the editor reaches user and model."""
    async with editing(coding_agent(model="offline", store=None), **FS) as editor:
        editor.on["fs/read_text_file"] = InternalError(data={"details": "EACCES: permission denied"})
        await editor.prompt(await editor.new(cwd=str(project)), "create greet.py with hello")
        assert editor.files == {} and editor.calls("session/request_permission") == []
        assert "EACCES: permission denied" in editor.said()
        (failed,) = [u for u in editor.updates() if u.get("status") == "failed"]
        assert "EACCES: permission denied" in str(failed["content"])


async def test_an_answer_of_the_editor_that_cannot_be_read_is_told_and_not_taken_for_a_failure_of_ours(
    project: Path,
) -> None:
    async with editing(coding_agent(model="offline", store=None), **FS) as editor:
        editor.on["fs/read_text_file"] = {"content": ["line 1", "line 2"]}
        await editor.prompt(await editor.new(cwd=str(project)), "read greet.py")
        assert "fs/read_text_file" in editor.said() and "the log of the agent" not in editor.said()


async def test_a_new_file_that_appears_meanwhile_is_not_overwritten(project: Path) -> None:
    async with editing(coding_agent(model="offline", store=None), **FS) as editor:
        new = project / "new.txt"

        def answer(params: Any) -> Any:
            return {"content": new.read_text(encoding="utf-8")} if new.exists() else ResourceNotFound()

        async def allow(params: Any) -> Any:
            new.write_text("somebody else's", encoding="utf-8")
            return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

        editor.on["fs/read_text_file"] = answer
        editor.on["session/request_permission"] = allow
        await editor.prompt(await editor.new(cwd=str(project)), "create new.txt with hello")
        assert editor.files == {} and "changed by somebody else" in editor.said()

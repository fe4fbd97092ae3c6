"""Files: the editor's, or this machine's inside the roots where the author allowed that (C2)."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

from acpella.errors import InternalError, InvalidParams, ResourceNotFound, Unsupported
from acpella.local import JailError
from agent.editor import FS, agent_of, editing

pytestmark = pytest.mark.anyio


async def test_files_are_the_editors_where_it_offers_them() -> None:
    """R-320, R-020: absolute paths on the wire."""

    async def reply(turn: Any) -> str:
        assert turn.files.can_read and turn.files.can_write
        text = await turn.files.read("a.txt")
        await turn.files.write("sub/../b.txt", text.upper())
        return await turn.files.read("/project/a.txt", line=2, limit=1)

    async with editing(agent_of(reply), **FS) as editor:
        editor.files["/project/a.txt"] = "one\ntwo\nthree\n"
        session = await editor.new()
        await editor.prompt(session)
        assert editor.said() == "two\n"
        assert editor.files["/project/b.txt"] == "ONE\nTWO\nTHREE\n"
        whole, part = editor.calls("fs/read_text_file")
        assert whole == {"sessionId": session, "path": "/project/a.txt"}
        assert part == {"sessionId": session, "path": "/project/a.txt", "line": 2, "limit": 1}


async def test_a_plain_function_reads_and_writes_too() -> None:
    def reply(turn: Any) -> str:
        turn.files.write("b.txt", "written")
        return turn.files.read("b.txt")

    async with editing(agent_of(reply), **FS) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "written"


async def test_a_missing_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    """R-322; the same wherever the file would be."""

    async def reply(turn: Any) -> str:
        try:
            return await turn.files.read("none.txt")
        except FileNotFoundError as error:
            return f"no {error}"

    async with editing(agent_of(reply), **FS) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "no /project/none.txt"
    async with editing(agent_of(reply, local=True)) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert "none.txt" in editor.said()


MISSING = [
    {"content": ""},  # Toad, CodeCompanion
    [],  # agentic.nvim: an empty table of Lua's
    ResourceNotFound(),
    InternalError(),  # the official SDKs
    InternalError(data={"details": "ENOENT: no such file or directory"}),
    InvalidParams("cannot open"),
]


@pytest.mark.parametrize("answer", MISSING, ids=repr)
async def test_a_missing_file_is_told_as_missing_whatever_the_editor_answers(
    tmp_path: Path, answer: Any
) -> None:
    async def reply(turn: Any) -> str:
        with pytest.raises(FileNotFoundError, match="none.txt"):
            await turn.files.read("none.txt")
        return "missing"

    async with editing(agent_of(reply), **FS) as editor:
        editor.on["fs/read_text_file"] = answer
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "missing"


@pytest.mark.parametrize("answer", MISSING, ids=repr)
async def test_the_example_makes_no_empty_file_of_one_that_is_missing(tmp_path: Path, answer: Any) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "tools.py"))
    async with editing(example["agent"], **FS) as editor:
        editor.on["fs/read_text_file"] = answer
        await editor.prompt(await editor.new(cwd=str(tmp_path)), "shout none.txt")
        assert editor.said() == "There is no none.txt."
        assert editor.files == {} and editor.calls("session/request_permission") == []


@pytest.mark.parametrize("answer", [{"content": ""}, []], ids=repr)
async def test_an_empty_text_is_a_text_where_the_file_is_there_or_cannot_be_seen(
    tmp_path: Path, answer: Any
) -> None:
    async def reply(turn: Any) -> str:
        return f"<{await turn.files.read('a.txt')}>"

    (tmp_path / "a.txt").touch()
    async with editing(agent_of(reply), **FS) as editor:
        editor.on["fs/read_text_file"] = answer
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        await editor.prompt(await editor.new(cwd="/not/on/this/machine"))
        assert editor.said() == "<><>"


async def test_a_file_that_is_there_and_cannot_be_read_keeps_the_reason_of_the_editor(tmp_path: Path) -> None:
    async def reply(turn: Any) -> None:
        await turn.files.read("a.txt")

    (tmp_path / "a.txt").touch()
    async with editing(agent_of(reply), **FS) as editor:
        editor.on["fs/read_text_file"] = InternalError(data={"details": "EACCES: permission denied"})
        with pytest.raises(InternalError, match=r"fs/read_text_file failed: .*EACCES: permission denied"):
            await editor.prompt(await editor.new(cwd=str(tmp_path)))


async def test_an_error_of_the_editor_reaches_the_handler() -> None:
    async def reply(turn: Any) -> str:
        with pytest.raises(InvalidParams, match="beyond the end"):
            await turn.files.read("a.txt", line=99)
        return "caught"

    async with editing(agent_of(reply), **FS) as editor:
        editor.on["fs/read_text_file"] = InvalidParams("beyond the end")
        await editor.prompt(await editor.new())
        assert editor.said() == "caught"


async def test_without_capability_or_leave_files_are_unsupported() -> None:
    """C2: nothing is asked of an editor that did not offer it (R-040)."""

    async def reply(turn: Any) -> None:
        assert not turn.files.can_read and not turn.files.can_write
        with pytest.raises(Unsupported, match="local=True"):
            await turn.files.read("a.txt")
        with pytest.raises(Unsupported, match="local=True"):
            await turn.files.write("a.txt", "")

    async with editing(agent_of(reply), fs={"readTextFile": False}) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.calls("fs/read_text_file") == editor.calls("fs/write_text_file") == []


async def test_reading_may_be_the_editors_and_writing_this_machines(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        await turn.files.write("a.txt", "on disk")
        return await turn.files.read("a.txt")

    async with editing(agent_of(reply, local=True), fs={"readTextFile": True}) as editor:
        editor.files[str(tmp_path / "a.txt")] = "in the editor"
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "in the editor"
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "on disk"


async def test_local_files_are_fenced_in_to_the_roots(tmp_path: Path) -> None:
    """R-146, R-147."""
    inside, more, outside = tmp_path / "in", tmp_path / "more", tmp_path / "out"
    for place in (inside, more, outside):
        place.mkdir()
        (place / "a.txt").write_text(place.name, encoding="utf-8")
    (inside / "link").symlink_to(outside / "a.txt")

    async def reply(turn: Any) -> str:
        assert turn.session.roots == [inside, more]
        for path in (outside / "a.txt", "../out/a.txt", "link", "/etc/passwd"):
            with pytest.raises(JailError):
                await turn.files.read(path)
            with pytest.raises(JailError):
                await turn.files.write(path, "changed")
        await turn.files.write("deep/er/b.txt", "new")
        return await turn.files.read("a.txt") + await turn.files.read(more / "a.txt")

    async with editing(agent_of(reply, local=True)) as editor:
        session = await editor.new(cwd=str(inside), additionalDirectories=[str(more)])
        assert await editor.prompt(session) == "end_turn"
        assert editor.said() == "inmore"
    assert (inside / "deep" / "er" / "b.txt").read_text(encoding="utf-8") == "new"
    assert (outside / "a.txt").read_text(encoding="utf-8") == "out"


async def test_an_editor_that_does_not_answer_is_given_up() -> None:
    """CodeCompanion never answers requests that it does not know."""

    async def reply(turn: Any) -> str:
        with pytest.raises(TimeoutError, match="fs/read_text_file"):
            await turn.files.read("a.txt")
        return "gave up"

    async with editing(agent_of(reply, settings={"editor_timeout": 0.05}), **FS) as editor:
        editor.on["fs/read_text_file"] = lambda params: asyncio.get_running_loop().create_future()
        await editor.prompt(await editor.new())
        assert editor.said() == "gave up"

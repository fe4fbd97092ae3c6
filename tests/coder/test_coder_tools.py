"""Every tool, end to end: `acpella run`, the agent and the model's server are real processes and sockets."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.client import Permissions, Workspace
from acpella.schema import ReadTextFileResponse, ToolCall
from agent.processes import nobody_runs, somebody_runs
from coder.fake_provider import FakeProvider
from coder.harness import AGENT, cli, connected, environment, told, use, uses

pytestmark = pytest.mark.anyio

GREET = 'def greet():\n    return "helo"\n\n\nprint(greet())\n'


async def test_read_file_gives_lines_through_the_editor(project: Path, home: Path) -> None:
    """C5, C9: announced with kind, path and line; the editor's text is read, unsaved changes included."""
    async with FakeProvider([use("read_file", path="greet.py", line=2, limit=1), "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "-o", "jsonl", "read it")
    assert ran.code == 0 and told(provider).startswith('    return "helo"\n')
    (call,) = ran.calls("read_file")
    assert (call["kind"], call["title"], call["status"]) == ("read", "Read greet.py", "in_progress")
    assert call["locations"] == [{"path": str(project / "greet.py"), "line": 2}]
    assert ran.asked("fs/read_text_file")[0]["path"] == str(project / "greet.py")


async def test_an_unsaved_buffer_is_what_is_read_and_edited(project: Path, home: Path) -> None:
    """C2: the editor's text counts, not the disk's."""

    class Buffers(Workspace):
        async def read(self, roots: Any, request: Any, **more: Any) -> ReadTextFileResponse:
            return ReadTextFileResponse(content="unsaved = 1\n")

    turns = [use("read_file", path="greet.py"), use("edit_file", path="greet.py", old="1", new="2"), "Done."]
    async with (
        FakeProvider(turns) as provider,
        acpella.connect(
            AGENT,
            env=environment(home, provider),
            files=Buffers(write=True),
            permissions=Permissions("allow-all"),
        ) as agent,
    ):
        await (await agent.new_session(project)).prompt("go")
        assert "unsaved = 1" in told(provider, 1)
    assert (project / "greet.py").read_text(encoding="utf-8") == "unsaved = 2\n"


async def test_read_file_shows_images_to_models_that_see(project: Path, home: Path) -> None:
    (project / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 20)
    async with FakeProvider([use("read_file", path="dot.png"), "A dot."]) as provider:
        ran = await cli(project, environment(home, provider), "look")
        assert ran.code == 0
        (result,) = provider.requests[1].body["messages"][-1]["content"]
    assert [part["type"] for part in result["content"]] == ["image"]


async def test_write_file_asks_with_a_diff_and_writes(project: Path, home: Path) -> None:
    async with FakeProvider([use("write_file", path="new/a.txt", text="one\n"), "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--write", "-o", "jsonl", "write it")
    assert (project / "new" / "a.txt").read_text(encoding="utf-8") == "one\n"
    (asked,) = ran.asked("session/request_permission")
    assert asked["toolCall"]["kind"] == "edit"
    (diff,) = asked["toolCall"]["content"]
    assert (diff["type"], diff["newText"], diff.get("oldText")) == ("diff", "one\n", None)
    assert told(provider) == "created new/a.txt (1 line)"


async def test_edit_file_changes_one_place(project: Path, home: Path) -> None:
    turns = [use("edit_file", path="greet.py", old='"helo"', new='"hello"'), "Done."]
    async with FakeProvider(turns) as provider:
        ran = await cli(project, environment(home, provider), "--write", "fix it")
    assert (project / "greet.py").read_text(encoding="utf-8") == GREET.replace("helo", "hello")
    assert '-     return "helo"' in ran.out and '+     return "hello"' in ran.out


async def test_edit_file_keeps_windows_line_ends(project: Path, home: Path) -> None:
    (project / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    turns = [use("edit_file", path="dos.txt", old="one\ntwo", new="1\n2"), "Done."]
    async with FakeProvider(turns) as provider:
        await cli(project, environment(home, provider), "--write", "fix it")
    assert (project / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_edit_file_says_what_is_wrong_without_asking_the_user(project: Path, home: Path) -> None:
    wrong = uses(
        ("edit_file", {"path": "greet.py", "old": 'return  "helo"', "new": "x"}),
        ("edit_file", {"path": "greet.py", "old": "greet", "new": "x"}),
        ("edit_file", {"path": "none.py", "old": "a", "new": "b"}),
        ("edit_file", {"path": "greet.py", "old": "a"}),
    )
    async with FakeProvider([wrong, "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--write", "-o", "jsonl", "fix it")
    near, twice, missing, incomplete = (
        told(provider).split("`old` is", 1)[1].split("\n", 3)[0],
        *_rest(provider),
    )
    assert "white space" in near and "in greet.py 2 times (lines 1, 5)" in twice
    assert missing == "no file none.py; create it with write_file" and incomplete == "`new` is missing"
    assert ran.asked("session/request_permission") == []
    assert (project / "greet.py").read_text(encoding="utf-8") == GREET


def _rest(provider: FakeProvider) -> list[str]:
    parts = provider.requests[-1].body["messages"][-1]["content"][1:]
    assert all(part["is_error"] for part in parts)
    return [part["content"][0]["text"] for part in parts]


async def test_list_files(project: Path, home: Path) -> None:
    (project / "src").mkdir()
    async with FakeProvider([use("list_files"), use("list_files", path="greet.py"), "Done."]) as provider:
        await cli(project, environment(home, provider), "list")
    assert told(provider, 1) == "greet.py\nsrc/"
    assert "Not a directory" in told(provider, 2)


def repository(project: Path) -> None:
    """Makes the project a git repository with something to ignore and something secret."""
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=20)
    (project / ".gitignore").write_text("build/\n", encoding="utf-8")
    for name in ("src/deep/b.ts", "src/a.py", "build/out.py", "server.key"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("needle here\nand (here)\n", encoding="utf-8")


async def test_find_files_by_name_without_what_git_ignores(project: Path, home: Path) -> None:
    repository(project)
    turns = [
        use("find_files", pattern="*.py"),
        use("find_files", pattern="src/**/*.{ts,js}"),
        use("find_files", pattern="*.key"),
        use("find_files", pattern="*.py", path="src"),
        "Done.",
    ]
    async with FakeProvider(turns) as provider:
        await cli(project, environment(home, provider), "find")
    assert [told(provider, n) for n in (1, 2, 3, 4)] == [
        "greet.py\nsrc/a.py",
        "src/deep/b.ts",
        "no file matches *.key",
        "src/a.py",
    ]


@pytest.mark.parametrize("program", ["rg", "ours"])
async def test_search_text(project: Path, home: Path, program: str) -> None:
    repository(project)
    env: dict[str, str] = {}
    if program == "rg" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    if program == "ours":  # a PATH with nothing but git
        (home / "bin").mkdir()
        (home / "bin" / "git").symlink_to(str(shutil.which("git")))
        env = {"PATH": str(home / "bin")}
    turns = [
        use("search", pattern="needle"),
        use("search", pattern=r"\(here\)", glob="*.ts"),
        use("search", pattern="nothing like it"),
        use("search", pattern="(", path="src"),
        "Done.",
    ]
    async with FakeProvider(turns) as provider:
        await cli(project, {**environment(home, provider), **env}, "search")
    hits = told(provider, 1).splitlines()
    assert sorted(hits) == ["src/a.py:1: needle here", "src/deep/b.ts:1: needle here"]
    assert told(provider, 2) == "src/deep/b.ts:2: and (here)"
    assert told(provider, 3) == "nothing matches nothing like it"
    assert "not a regular expression" in told(provider, 4)


async def test_a_pattern_that_never_ends_is_stopped_with_the_turn(project: Path, home: Path) -> None:
    """It runs in a program of its own, which a cancel kills; the agent itself stays awake."""
    pattern = r"^(?=x?)(a+)+$(?<=b)"
    (project / "long.txt").write_text("a" * 60 + "\n", encoding="utf-8")
    turns = [use("search", pattern=pattern), "Done."]
    async with FakeProvider(turns) as provider, connected(environment(home, provider)) as agent:
        turn = (await agent.new_session(project)).prompt("search")
        async for update in turn:
            if isinstance(update, ToolCall):
                await somebody_runs(f"_grep.py {pattern}")
                await turn.cancel()
        assert turn.stop_reason == "cancelled"
    await nobody_runs(f"_grep.py {pattern}")


async def test_links_do_not_lead_out_of_the_project(project: Path, home: Path, tmp_path: Path) -> None:
    """Read, write, list, find and search stay in the roots, whatever links say."""
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "secret.txt").write_text("needle\n", encoding="utf-8")
    (project / "out").symlink_to(secret)
    (project / "file.txt").symlink_to(secret / "secret.txt")
    tries = [
        ("read_file", {"path": "out/secret.txt"}),
        ("read_file", {"path": "file.txt"}),
        ("read_file", {"path": "../elsewhere/secret.txt"}),
        ("list_files", {"path": "out"}),
        ("find_files", {"pattern": "*.txt"}),
        ("find_files", {"pattern": "*", "path": "out"}),
        ("search", {"pattern": "needle"}),
        ("search", {"pattern": "needle", "path": "out"}),
        ("write_file", {"path": "out/new.txt", "text": "x"}),
        ("edit_file", {"path": "file.txt", "old": "needle", "new": "x"}),
        ("read_file", {"path": "/etc/passwd"}),
    ]
    async with FakeProvider([uses(*tries), "Done."]) as provider:
        await cli(project, environment(home, provider), "--yolo", "try it")
    answers = [part["content"][0]["text"] for part in provider.requests[-1].body["messages"][-1]["content"]]
    assert len(answers) == len(tries)
    for (name, arguments), answer in zip(tries, answers, strict=True):
        outside = "is outside of" in answer or answer.startswith(("no file", "nothing matches"))
        assert outside, (name, arguments, answer)
    assert os.listdir(secret) == ["secret.txt"]
    assert (secret / "secret.txt").read_text(encoding="utf-8") == "needle\n"


async def test_run_in_a_terminal_of_the_editor(project: Path, home: Path) -> None:
    """C6: shown as a terminal, its exit code told."""
    async with FakeProvider([use("run", command="python3 greet.py; exit 3"), "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--yolo", "-o", "jsonl", "run")
    assert told(provider) == "helo\n[exit code 3]"
    assert ran.asked("terminal/create")[0]["cwd"] == str(project)
    shown = [u for u in ran.updates if u.get("content") and u["sessionUpdate"] == "tool_call_update"]
    assert shown[0]["content"][0]["type"] == "terminal" and shown[-1]["status"] == "failed"


async def test_run_on_this_machine_with_a_time_limit(project: Path, home: Path) -> None:
    """C10: killed, what it wrote is kept."""
    command = "echo before; sleep 60; echo after"
    async with FakeProvider([use("run", command=command, timeout=1), "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "-o", "jsonl", "run", agent=("--auto-approve",))
    assert told(provider) == "before\n[timed out and was killed]"
    assert ran.asked("terminal/create") == []
    (call,) = ran.calls("run")
    assert (call["kind"], call["title"]) == ("execute", f"Run {command}")


@pytest.mark.parametrize("char", ["\x1b", "\r", "\x07", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u2028"])
async def test_run_refuses_control_characters_in_a_command(char: str, project: Path, home: Path) -> None:
    command = f"touch made; : '{char}'"
    async with FakeProvider([use("run", command=command), "Done."]) as provider:
        await cli(project, environment(home, provider), "--yolo", "run", agent=("--auto-approve",))
    assert "control character" in told(provider) and "Use tabs and line ends only" in told(provider)
    assert not (project / "made").exists()


async def test_plan_is_shown(project: Path, home: Path) -> None:
    """C23"""
    entries = [{"content": "read", "status": "completed"}, {"content": "fix", "status": "in_progress"}]
    turns = [use("plan", entries=entries), use("plan", entries=[{"content": "x", "status": "odd"}]), "Done."]
    async with FakeProvider(turns) as provider:
        ran = await cli(project, environment(home, provider), "plan")
    assert "● read" in ran.out and "◐ fix" in ran.out
    assert "the status of an entry is one of" in told(provider)


async def test_delegate_shows_what_the_helper_does_inside_the_call(project: Path, home: Path) -> None:
    """C7: `_meta.claudeCode.parentToolUseId` on everything that the helper sends."""
    turns = [
        use("delegate", task="find the greeting"),
        {**use("read_file", path="greet.py"), "text": "helper looks"},
        "The greeting is in line 2.",
        "Done.",
    ]
    async with FakeProvider(turns) as provider:
        ran = await cli(project, environment(home, provider), "-o", "jsonl", "help me")
    (outer,) = ran.calls("delegate")
    (inner,) = ran.calls("read_file")
    assert inner["_meta"]["claudeCode"]["parentToolUseId"] == outer["toolCallId"]
    thoughts = [u for u in ran.updates if u["sessionUpdate"] == "agent_thought_chunk"]
    assert {t["_meta"]["claudeCode"]["parentToolUseId"] for t in thoughts} == {outer["toolCallId"]}
    assert "".join(t["content"]["text"] for t in thoughts) == "helper looksThe greeting is in line 2."
    spoken = [u["content"]["text"] for u in ran.updates if u["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(spoken) == "Done."
    assert told(provider) == "The greeting is in line 2."
    helper = provider.requests[1].body
    assert [m["role"] for m in helper["messages"]] == ["user"]  # a fresh memory
    assert "delegate" not in [tool["name"] for tool in helper["tools"]]


async def test_odd_names_and_arguments_do_no_harm(project: Path, home: Path) -> None:
    """A name that is no UTF-8 goes into the memory of the session, which must stay JSON."""
    with open(os.fsencode(project) + b"/\xff.txt", "w") as file:  # noqa: ASYNC230 - a test
        file.write("needle\n")
    (project / "binary").write_bytes(b"\0\1needle")
    tries = [
        ("list_files", {}),
        ("find_files", {"pattern": "*.txt"}),
        ("search", {"pattern": "needle"}),
        ("read_file", {"path": "binary"}),
        ("read_file", {"path": "a\0b"}),
        ("read_file", {"path": ["a"]}),
        ("read_file", {"path": "x" * 5000}),
        ("write_file", {"path": "new/", "text": "x"}),
        ("write_file", {"path": ".env", "text": "x"}),
        ("run", {"command": " "}),
        ("run", {"command": 5}),
        ("fetch", {"url": "file:///etc/passwd"}),
        ("delegate", {"task": ""}),
        ("plan", {"entries": "x"}),
        ("plan", {"entries": [{"content": "x" * 1001}]}),
        ("run", {"command": "ls", "timeout": 10**400}),
        ("read_file", {"path": "greet.py", "line": 10**30}),
    ]
    async with FakeProvider([uses(*tries), "Done.", "Again."]) as provider:
        async with connected(environment(home, provider), "--auto-approve") as agent:
            session = await agent.new_session(project)
            await session.prompt("go")
            assert (await session.prompt("still there?")).text == "Again."
    parts = provider.requests[1].body["messages"][-1]["content"]
    answers = [part["content"][0]["text"] for part in parts]
    assert answers[0] == "binary\ngreet.py\n\ufffd.txt" and answers[1] == "\ufffd.txt"
    assert [part.get("is_error", False) for part in parts[3:]] == [True] * 14
    assert all("must be a whole number" in answer for answer in answers[-2:])
    assert sorted(os.listdir(project))[:2] == ["binary", "greet.py"]


async def test_a_tool_that_does_not_exist_and_arguments_that_are_none(project: Path, home: Path) -> None:
    broken = {"name": "read_file", "arguments": '{"path": ', "id": "broken"}
    turns = [{"tools": [{"name": "fly", "arguments": {}, "id": "fly"}, broken]}, "Done."]
    async with FakeProvider(turns) as provider:
        ran = await cli(project, environment(home, provider), "go")
    assert ran.code == 0 and "there is no tool 'fly'; there are: read_file, " in told(provider)
    assert "the arguments could not be read" in told(provider)


async def test_a_model_that_asks_for_too_much_at_once_is_told(project: Path, home: Path) -> None:
    wanted = uses(*[("read_file", {"path": "greet.py"})] * 99, ("fly" * 100_000, {}))
    async with FakeProvider([wanted, use("fly" * 1000), "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "go")
    assert ran.code == 0 and ran.out.count("✓ completed") == 64
    assert told(provider, 1).count("not run: at most 64 tools run per answer") == 36
    assert len(told(provider, 2)) < 1000

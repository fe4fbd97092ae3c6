"""Modes bind: what they forbid does not happen, however the model asks (B5)."""

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acpella.client import Permissions
from acpella.coder.confinement import confinement
from acpella.coder.places import Copy
from acpella.schema import ConfigOptionUpdate, CurrentModeUpdate, ToolCall
from agent.processes import nobody_runs, somebody_runs
from coder.fake_provider import FakeProvider
from coder.harness import cli, connected, environment, told, tool_names, use, uses

pytestmark = pytest.mark.anyio

DANGER = uses(
    ("write_file", {"path": "new.txt", "text": "x"}),
    ("edit_file", {"path": "greet.py", "old": "helo", "new": "hello"}),
    ("run", {"command": "touch ran.txt"}),
)
READS = uses(("read_file", {"path": "greet.py"}), ("search", {"pattern": "helo"}))


def results(provider: FakeProvider, request: int = -1) -> list[str]:
    return [part["content"][0]["text"] for part in provider.requests[request].body["messages"][-1]["content"]]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_full_writes_and_runs(project: Path, home: Path) -> None:
    async with FakeProvider([DANGER, "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--yolo", "--mode", "full", "go")
    assert ran.code == 0
    assert set(names(project)) == {"greet.py", "new.txt", "ran.txt"}
    assert "hello" in (project / "greet.py").read_text(encoding="utf-8")
    assert {"write_file", "edit_file", "run"} <= set(tool_names(provider))


@pytest.mark.parametrize("mode", ["read-only", "safe"])
async def test_read_only_and_safe_change_nothing(project: Path, home: Path, mode: str) -> None:
    """Not even with --yolo, and although the model asks for tools that it was not offered."""
    before = (project / "greet.py").read_bytes()
    async with FakeProvider([DANGER, READS, "Done."]) as provider:
        ran = await cli(project, environment(home, provider), "--yolo", "--mode", mode, "go")
    assert ran.code == 0
    assert not {"write_file", "edit_file", "run"} & set(tool_names(provider))
    assert all(f"the mode `{mode}` forbids" in answer for answer in results(provider, 1))
    assert "helo" in results(provider, 2)[0] and results(provider, 2)[1].startswith("greet.py:2:")
    assert names(project) == ["greet.py"]
    assert (project / "greet.py").read_bytes() == before


def needs_bubblewrap() -> None:
    fence = confinement()
    if isinstance(fence, str):
        pytest.skip(fence)


async def test_sandbox_works_in_a_copy(project: Path, home: Path) -> None:
    """Commands see what was written, at its usual path; nothing outside the copy changes."""
    needs_bubblewrap()
    (project / ".env").write_text("SECRET=1\n", encoding="utf-8")
    before = (project / "greet.py").read_bytes()
    look = "python3 greet.py; pwd; ls; touch ran.txt; touch ~/x 2>&1; touch /etc/x 2>&1; cat .env 2>&1"
    escape = "mount -o remount,rw,bind / 2>&1; touch /etc/acpella-x; cat /proc/*/environ | tr '\\0' '\\n'"
    network = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %s), 2)' 2>&1"
    async with FakeProvider([]) as provider:
        port = provider.url.rpartition(":")[2]
        provider.turns += [
            DANGER,
            use("run", command=look),
            use("run", command=network % port),
            use("run", command=escape),
            use("list_files"),
            {"text": "Done."},
        ]
        ran = await cli(
            project, environment(home, provider), "--yolo", "--mode", "sandbox", "-o", "jsonl", "go"
        )
    assert ran.code == 0
    out = results(provider, 2)[0]
    assert out.startswith(f"hello\n{project}\n") and "new.txt" in out and "ran.txt" in out, out
    assert "Read-only file system" in out
    assert not (home / "x").exists()
    assert "SECRET" not in out and "No such file" in out
    assert "Error" in results(provider, 3)[0]
    escaped = results(provider, 4)[0]
    assert "test-key" not in escaped and "PATH=" in escaped  # not of the command, and not of its parents
    assert "acpella-x" not in names(Path("/etc"))
    assert results(provider, 5)[0] == "greet.py\nnew.txt\nran.txt"
    assert names(project) == [".env", "greet.py"]
    assert (project / "greet.py").read_bytes() == before
    assert [u["title"] for u in ran.updates if u["sessionUpdate"] == "notice"] == [
        "Working in a throw-away copy from now on; the project stays as it is."
    ]
    assert ran.asked("fs/write_text_file") == [] and ran.asked("terminal/create") == []


def test_a_sandbox_copies_a_repository_without_the_tokens_in_its_config(project: Path) -> None:
    for words in (
        ("init", "-q", "--object-format=sha256"),  # cannot be read without its config
        ("remote", "add", "origin", "https://user:s3cret@example.com/x.git"),
        ("config", "http.extraheader", "Authorization: s3cret"),
        ("add", "."),
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    copy = Copy([project])
    try:
        ((_, inside),) = copy.pairs
        config = (inside / ".git" / "config").read_text(encoding="utf-8")
        status = subprocess.run(
            ["git", "status", "-s"], cwd=inside, capture_output=True, text=True, check=True
        )
    finally:
        copy.remove()
    assert "s3cret" not in config
    assert status.stdout == "A  greet.py\n"


async def test_sandbox_without_bubblewrap_writes_but_does_not_run(project: Path, home: Path) -> None:
    (home / "bin").mkdir()
    for name in ("git", "sh"):
        (home / "bin" / name).symlink_to(str(shutil.which(name)))
    async with FakeProvider([DANGER, use("read_file", path="new.txt"), "Done."]) as provider:
        env = {**environment(home, provider), "PATH": str(home / "bin")}
        await cli(project, env, "--yolo", "--mode", "sandbox", "go")
    written, edited, refused = results(provider, 1)
    assert (written, edited) == ("created new.txt (1 line)", "changed greet.py")
    assert "bubblewrap (`bwrap`) is not installed" in refused and "mode `full`" in refused
    assert results(provider, 2) == ["x"]
    assert names(project) == ["greet.py"]


async def test_the_copy_of_a_sandbox_goes_with_the_mode_and_with_the_session(
    project: Path, home: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    left = temporary / "acpella-sandbox-999999999-x"  # of a process that was killed
    left.mkdir()
    write = use("write_file", path="new.txt", text="x")
    read = use("read_file", path="new.txt")
    async with FakeProvider([write, "One.", read, "Two.", write, "Three."]) as provider:
        env = {**environment(home, provider), "TMPDIR": str(temporary)}
        async with connected(env, "--mode", "sandbox") as agent:
            session = await agent.new_session(project)
            await session.prompt("write")
            (copy,) = [path for path in temporary.iterdir() if path.name.startswith("acpella-sandbox-")]
            assert copy != left and (copy / "0-project" / "new.txt").exists()
            await session.set_mode("full")
            assert not copy.exists()
            await session.prompt("read")
            assert "no such file" in told(provider, 3)
            await session.set_mode("sandbox")
            await session.prompt("write")
            assert any(path.name.startswith("acpella-sandbox-") for path in temporary.iterdir())
            await session.close()
            assert list(temporary.glob("acpella-sandbox-*")) == []


async def test_a_sandbox_follows_the_session_to_another_directory(
    project: Path, home: Path, tmp_path: Path
) -> None:
    """C19: what was not copied must not be written to."""
    other = tmp_path / "other"
    other.mkdir()
    write = use("write_file", path="new.txt", text="x")
    async with FakeProvider([write, "One.", write, "Two."]) as provider:
        async with connected(environment(home, provider), "--mode", "sandbox") as agent:
            session = await agent.new_session(project)
            await session.prompt("write")
            moved = {"sessionId": session.id, "path": str(other)}
            await agent.call("_agent/working_dir/update", moved)  # type: ignore[arg-type] # an extension
            await session.prompt("write")
    assert told(provider, 3).startswith("created new.txt")
    assert names(other) == [] and names(project) == ["greet.py"]


async def test_the_mode_is_switched_by_method_option_and_command_and_always_told(
    project: Path, home: Path
) -> None:
    """C14, C22"""
    told_modes: list[str] = []
    options: list[Any] = []

    def hear(update: Any) -> None:
        if isinstance(update, CurrentModeUpdate):
            told_modes.append(update.current_mode_id)
        elif isinstance(update, ConfigOptionUpdate):
            options.append(update)

    async with connected(environment(home)) as agent:
        session = await agent.new_session(project)
        session.on_update = hear
        assert session.mode == "full"
        await session.set_mode("read-only")
        await session.set_option("mode", "safe")
        turn = session.prompt("/mode sandbox")
        async for update in turn:
            hear(update)
        assert "throw-away copy" in turn.text and session.mode == "sandbox"
        assert "there are: full, read-only" in (await session.prompt("/mode nonsense")).text
        assert "`sandbox` (now)" in (await session.prompt("/mode")).text
    assert told_modes == ["read-only", "safe", "sandbox"]
    assert [update.config_options[0].current_value for update in options] == told_modes


async def test_a_switch_during_a_turn_ends_what_runs_and_binds_what_follows(
    project: Path, home: Path
) -> None:
    turns = [
        use("run", command="echo begun; sleep 61.7"),
        use("write_file", path="new.txt", text="x"),
        "Done.",
    ]
    async with FakeProvider(turns) as provider, connected(environment(home, provider)) as agent:
        session = await agent.new_session(project)
        turn = session.prompt("go")
        async for update in turn:
            if isinstance(update, ToolCall) and update.name == "run":
                await somebody_runs("sleep 61.7")
                await session.set_mode("read-only")
                await nobody_runs("sleep 61.7")
        assert turn.stop_reason == "end_turn"
    assert told(provider, 1) == "stopped: the mode was switched to `read-only`"
    assert "the mode `read-only` forbids" in told(provider, 2)
    assert "run" in tool_names(provider, 0) and "run" not in tool_names(provider, 1)
    assert not (project / "new.txt").exists()


async def test_a_permission_given_after_a_switch_is_worth_nothing(project: Path, home: Path) -> None:
    asked = asyncio.Event()
    switched = asyncio.Event()

    async def ask(request: Any) -> Any:
        asked.set()
        await switched.wait()
        return request.options[0]

    async with FakeProvider([use("write_file", path="new.txt", text="x"), "Done."]) as provider:
        async with connected(environment(home, provider), permissions=Permissions("ask", ask=ask)) as agent:
            session = await agent.new_session(project)
            turn = session.prompt("go")

            async def switch() -> None:
                await asked.wait()
                await session.set_mode("safe")
                switched.set()

            async with asyncio.TaskGroup() as group:
                group.create_task(switch())
                result = await turn
    assert "switched to `safe`" in told(provider) and not (project / "new.txt").exists()
    (call,) = result.tool_calls.values()
    assert call.status == "failed"


@pytest.mark.parametrize(
    "wanted",
    [
        use("run", command="rm -rf build"),
        use("write_file", path="build/x", text="overwritten"),
    ],
    ids=["run", "write_file"],
)
async def test_always_in_the_sandbox_does_not_count_in_the_project(
    project: Path, home: Path, tmp_path: Path, wanted: Any
) -> None:
    """Neither where the agent remembers it nor where the client does, in whatever words the model puts it."""
    needs_bubblewrap()
    (project / "build").mkdir()
    (project / "build" / "x").write_text("precious", encoding="utf-8")
    asked: list[tuple[str, str]] = []

    def ask(request: Any) -> Any:
        asked.append((request.tool_call.title, request.options[1].name))
        return request.options[1] if "sandbox" in request.options[1].name else request.options[2]

    permissions = Permissions("ask", ask=ask, remembered=tmp_path / "client.toml")
    (tool,) = wanted["tools"]
    forged = use(tool["name"], **tool["arguments"], sandbox=True)
    turns = [wanted, "One.", wanted, "Two.", wanted, forged, "Three."]
    async with FakeProvider(turns) as provider:
        async with connected(environment(home, provider), permissions=permissions, write=True) as agent:
            session = await agent.new_session(project)
            for mode in ("sandbox", "sandbox", "full"):
                await session.set_mode(mode)
                await session.prompt("go")
    (title, always), *others = asked
    assert title.startswith("In the sandbox: ") and always.endswith(" in the sandbox in this project")
    assert [title.startswith("In the sandbox") for title, _ in others] == [False, False], asked
    assert told(provider, 6).startswith("the user refused")
    assert (project / "build" / "x").read_text(encoding="utf-8") == "precious"
    for kept in (home / "acpella" / "permissions.toml", tmp_path / "client.toml"):
        lines = [line for line in kept.read_text(encoding="utf-8").splitlines() if line.endswith('"allow"')]
        assert len(lines) == 1 and "sandbox" in lines[0].lower(), lines


async def test_an_answer_for_the_project_holds_in_its_sandbox(project: Path, home: Path) -> None:
    """Whoever lets a command run on the files themselves need not be asked about a copy of them."""
    (home / "acpella").mkdir()
    kept = f'["coder in {project}"]\n"write_file" = "allow"\n\n[coder]\n"edit_file" = "deny"\n'
    (home / "acpella" / "permissions.toml").write_text(kept, encoding="utf-8")
    async with FakeProvider([DANGER, "Done."]) as provider:
        async with connected(
            environment(home, provider), "--mode", "sandbox", permissions=Permissions("deny-all")
        ) as agent:
            await (await agent.new_session(project)).prompt("go")
    written, edited, ran = results(provider)
    assert written.startswith("created new.txt") and "refused" in edited and "refused" in ran


async def test_what_waits_for_its_turn_does_not_run_on_the_other_side_of_the_fence(
    project: Path, home: Path
) -> None:
    """Two helpers write: one is asked about, the other was announced for a sandbox that is gone meanwhile."""
    asked: list[str] = []
    both = asyncio.Event()
    announced: set[str] = set()

    def hear(update: Any) -> None:
        if isinstance(update, ToolCall) and update.name == "write_file":
            announced.add(update.title or "")
            if len(announced) == 2:
                both.set()

    async def ask(request: Any) -> Any:
        asked.append(request.tool_call.title)
        await both.wait()
        await session.set_mode("full")
        return request.options[0]

    turns = [
        uses(("delegate", {"task": "first"}), ("delegate", {"task": "second"})),
        {**use("write_file", path="a.txt", text="x"), "when": "first"},
        {**use("write_file", path="b.txt", text="x"), "when": "second"},
        "Wrote.",
        "Wrote.",
        "Done.",
    ]
    async with FakeProvider(turns) as provider:
        async with connected(
            environment(home, provider), "--mode", "sandbox", permissions=Permissions("ask", ask=ask)
        ) as agent:
            session = await agent.new_session(project)
            async for update in session.prompt("go"):
                hear(update)
    assert announced == {"In the sandbox: Write a.txt", "In the sandbox: Write b.txt"}
    assert len(asked) == 1 and names(project) == ["greet.py"]

"""`acpella run` as a user types it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_shell import Shell

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def start(*arguments: str, stdin: str = "", **settings: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "acpella", "run", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            cwd=tmp_path,
            env=environment(tmp_path),
        )

    return start


def environment(home: Path) -> dict[str, str]:
    own = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    return {**os.environ, **own}


def example(name: str) -> str:
    return str(ROOT / "examples" / name)


def test_the_answer_is_on_stdout(run: Any) -> None:
    ran = run("-a", example("echo.py"), "-o", "simple", "hi", "there")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("You said: hi there\n", "", 0)


def test_the_prompt_comes_from_stdin_or_a_file(run: Any, tmp_path: Path) -> None:
    assert run("-a", example("echo.py"), stdin="from a pipe").stdout == "You said: from a pipe\n"
    (tmp_path / "prompt.txt").write_text("from a file", encoding="utf-8")
    assert run("-a", example("echo.py"), "--file", "prompt.txt").stdout == "You said: from a file\n"


def test_text_shows_plans_thoughts_and_tools_without_colour_in_a_pipe(run: Any) -> None:
    ran = run("-a", example("streaming.py"), "hi")
    assert "[plan]\n  ○ think about the question" in ran.stdout
    assert "Let me repeat that slowly: hi" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_jsonl_is_every_frame_and_names_the_agent_without_its_arguments(run: Any) -> None:
    """D11"""
    ran = run("-a", f"{sys.executable} {example('echo.py')} --token=secret", "-o", "jsonl", "hi")
    first, *frames = [json.loads(line) for line in ran.stdout.splitlines()]
    assert first["method"] == "client/selected_agent" and "secret" not in ran.stdout.splitlines()[0]
    assert [f["method"] for f in frames if "method" in f and "id" in f] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]
    assert frames[-1]["result"] == {"stopReason": "end_turn"}


def test_agents_come_from_the_settings(run: Any, tmp_path: Path) -> None:
    """D9"""
    folder = tmp_path / "acpella"  # the user's
    folder.mkdir()
    entry = {"command": sys.executable, "args": [example("echo.py")], "env": {"X": "1"}}
    (folder / "settings.json").write_text(json.dumps({"agent_servers": {"echo": entry}}), encoding="utf-8")
    assert run("hi").stdout == "You said: hi\n"
    assert run("-a", "echo", "hi").stdout == "You said: hi\n"
    ran = run("-a", "ehco", "hi")
    assert ran.returncode == 3 and "did you mean 'echo'?" in ran.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"agent_servers": {', "line 1, column"),
        ("[]", "must be an object"),
        ('{"agent_servers": []}', "agent_servers must be an object"),
        ('{"agent_servers": {"a": {}}}', "agent_servers.a.command must be a command"),
        ('{"agent_servers": {"a": {"command": "x", "args": "y"}}}', "a.args must be a list of strings"),
        ('{"agent_servers": {"a": {"command": "x", "env": {"A": 1}}}}', "a.env must be an object of strings"),
        ('{"agent_servers": {"a": {"command": ["x"]}}}', "agent_servers.a.command must be a command"),
        ('{"agent_servers": {"a": {"command": "x", "args": [1]}}}', "a.args must be a list of strings"),
        ('{"agent_servers": {"a": {"url": "ftp://x"}}}', "a.url must be a http, https, ws or wss URL"),
        ('{"agent_servers": {"a": {"url": "http://x", "command": "y"}}}', "behind a url has no command"),
        ('{"agent_servers": {"a": {"url": "http://x", "headers": []}}}', "a.headers must be an object"),
        ('{"agent_servers": {"a": {"url": "http://x", "headers": {"A": 1}}}}', "headers.A must be a string"),
        ('{"agent_servers": {"a": {"command": "x", "headers": {}}}}', "makes sense only with a url"),
        ('{"mcp_servers": 5}', "mcp_servers must be a list or an object"),
    ],
)
def test_every_mistake_in_the_settings_is_named(run: Any, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    ran = run("--settings", str(path), "hi")
    assert ran.returncode == 2
    assert str(path) in ran.stderr and message in ran.stderr


def test_a_settings_file_that_is_not_there(run: Any) -> None:
    ran = run("--settings", "/nowhere/settings.json", "hi")
    assert ran.returncode == 2 and "no settings file /nowhere/settings.json" in ran.stderr


@pytest.mark.parametrize(
    "agent, code, message",
    [
        ("no-such-command-at-all", 3, "command not found"),
        ("missing.py", 3, "no file missing.py"),
        (f"{sys.executable} -c 'raise SystemExit(7)'", 3, "exited with code 7"),
        ("http://localhost:1/acp", 3, "connection refused"),
    ],
)
def test_each_failure_has_its_exit_code(run: Any, agent: str, code: int, message: str) -> None:
    ran = run("-a", agent, "hi")
    assert (ran.returncode, ran.stdout) == (code, "")
    assert message in ran.stderr


def test_a_time_limit(run: Any) -> None:
    ran = run("-a", f"{sys.executable} -c 'import sys; sys.stdin.read()'", "--timeout", "1", "hi")
    assert ran.returncode == 7


def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path) -> None:
    agent = tmp_path / "flood.py"
    agent.write_text(
        "import acpella\n\nasync def reply(turn):\n    for n in range(20_000):\n        yield f'{n}\\n'\n\n"
        "acpella.run(reply)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "acpella", "run", "-a", str(agent), "go"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path)
    )
    assert process.stdout is not None and process.stdout.readline() == b"0\n"
    process.stdout.close()
    assert process.wait(20) == 0
    assert process.stderr is not None and process.stderr.read() == b""
    process.stderr.close()


def test_an_empty_prompt_is_a_usage_error(run: Any) -> None:
    ran = run("-a", example("echo.py"), stdin="")
    assert ran.returncode == 2 and "the prompt is empty" in ran.stderr


def test_an_image_must_be_one(run: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    for image, message in (
        ("notes.txt", "does not look like an image"),
        ("missing.png", "no image missing.png"),
    ):
        ran = run("-a", example("echo.py"), "--image", image, "hi")
        assert ran.returncode == 2 and message in ran.stderr


def test_slash_commands_are_listed(run: Any) -> None:
    ran = run("-a", example("sessions.py"), "--list-commands")
    assert "/history  What you asked so far" in ran.stdout
    assert "/mode polite or blunt  Change the mode" in ran.stdout


def test_a_session_is_saved_and_resumed(run: Any, tmp_path: Path) -> None:
    first = run("-a", example("sessions.py"), "--save-session", "id.txt", "one")
    assert first.returncode == 0
    session_id = (tmp_path / "id.txt").read_text(encoding="utf-8").strip()
    ran = run("-a", example("sessions.py"), "--resume", session_id, "--mode", "blunt", "/history")
    assert "1. one" in ran.stdout


def test_options_are_set_and_checked(run: Any) -> None:
    assert "large model" in run("-a", example("sessions.py"), "--option", "model=large", "hi").stdout
    assert "prompt 1" not in run("-a", example("sessions.py"), "--option", "count=off", "hi").stdout
    ran = run("-a", example("sessions.py"), "--option", "model=huge", "hi")
    assert ran.returncode == 2 and "no model 'huge'; there are: small, large" in ran.stderr


def test_writing_needs_leave(run: Any, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("quiet", encoding="utf-8")
    run("-a", example("tools.py"), "shout note.txt")
    assert note.read_text(encoding="utf-8") == "quiet"
    run("-a", example("tools.py"), "--yolo", "shout note.txt")
    assert note.read_text(encoding="utf-8") == "QUIET"


def test_ctrl_c_cancels_and_exits_130(tmp_path: Path) -> None:
    words = "word " * 5000
    process = subprocess.Popen(
        [sys.executable, "-m", "acpella", "run", "-a", example("streaming.py"), words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        start_new_session=True,
    )
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            if "◐ answer it" in line:
                break
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "[cancelled]" in rest


def test_help_lists_the_exit_codes() -> None:
    ran = subprocess.run([sys.executable, "-m", "acpella", "run", "--help"], capture_output=True, text=True)
    assert ran.returncode == 0
    for text in ("--yolo", "--save-session", "130  cancelled by Ctrl-C", "5  the agent wants a login"):
        assert text in ran.stdout


def test_jsonl_is_json_whatever_the_agent_prints(run: Any) -> None:
    """D11, FIELD-NOTES 10"""
    ran = run("-a", str(Path(__file__).parent / "old_agent.py"), "-o", "jsonl", "hi")
    frames = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0 and frames[-1]["result"]["stopReason"] == "end_turn"
    assert "a line of its log" not in ran.stdout and "a line of its log" in ran.stderr


def test_a_run_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """Each of these was found to cost a noticeable part of the start; what needs one imports it there."""
    code = (
        "import os, sys; from acpella.cli import main; real = os._exit;"
        "os._exit = lambda code: (print(*sys.modules, file=sys.stderr, flush=True), real(code));"
        f"sys.argv = ['acpella', 'run', '-a', {example('echo.py')!r}, 'hi']; sys.exit(main())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    loaded = set(ran.stderr.split())
    assert ran.stdout == "You said: hi\n" and "acpella.client.agent" in loaded
    heavy = {"shutil", "secrets", "hashlib", "json", "difflib", "tempfile", "tomllib", "random", "mimetypes"}
    heavy |= {"rich", "prompt_toolkit", "httpx2", "websockets", "starlette", "uvicorn", "mcp", "pydantic"}
    heavy |= {"acpella.agent", "acpella.local", "acpella.client.remote", "acpella.client.supervisor"}
    heavy |= {
        "acpella.recording",
        "acpella.cli.terminal.questions",
        "acpella.cli.daemon.daemon",
        "acpella.cli.terminal.markdown",
    }
    assert loaded & heavy == set()


def test_a_program_in_this_directory_is_started_by_its_path(shell: Shell) -> None:
    """Its name alone would be looked up on the PATH, where another program may have it."""
    elsewhere = shell.home / "bin"
    elsewhere.mkdir()
    for place, answer in ((shell.repo, "here"), (elsewhere, "elsewhere")):
        program = place / "helper"
        program.write_text(
            f"#!{sys.executable}\nfrom acpella import run\nrun(lambda turn: {answer!r})\n", encoding="utf-8"
        )
        program.chmod(0o755)
    path = {"PATH": f"{elsewhere}{os.pathsep}{os.environ['PATH']}"}
    for word, answer in (("./helper", "here"), (f"{shell.repo}/helper", "here"), ("helper", "elsewhere")):
        for session in ([], ["-s", f"of {answer} {len(word)}"]):
            ran = shell("run", "-o", "simple", "-a", word, *session, "hi", env=path)
            assert (ran.stdout.strip(), ran.returncode) == (answer, 0), ran.stderr

"""`acpella sessions`, `agents`, `permissions`, and what every command has in common."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import EXAMPLES, HERE, Shell

SESSIONS = str(EXAMPLES / "sessions.py")
ECHO = str(EXAMPLES / "echo.py")


# -- sessions -----------------------------------------------------------------------------------------


def test_a_conversation_is_shown_forked_moved_and_deleted(shell: Shell) -> None:
    """C18, C19 from the command line"""
    shell("run", "-a", SESSIONS, "-s", "work", "first words")
    shown = shell("sessions", "show", "work")
    assert shown.stdout.startswith("> first words\nYou were kind enough to write: first words")

    forked = shell("sessions", "fork", "work", "-s", "copy")
    assert forked.returncode == 0, forked.stderr
    assert "prompt 2" in shell("run", "-s", "copy", "in the copy").stdout
    assert "prompt 2" in shell("run", "-s", "work", "in the original").stdout
    assert "in the copy" not in shell("sessions", "show", "work").stdout

    exported = shell("sessions", "export", "work", "-o", "out.json")
    assert exported.returncode == 0, exported.stderr
    document = json.loads((shell.repo / "out.json").read_text(encoding="utf-8"))
    assert document["format"] == "acpella.session"
    assert (shell.repo / "out.json").stat().st_mode & 0o777 == 0o600
    imported = shell("sessions", "import", "out.json", "-a", SESSIONS, "-s", "moved")
    assert imported.returncode == 0, imported.stderr
    assert "prompt 3" in shell("run", "-s", "moved", "again").stdout

    listed = json.loads(shell("sessions", "list", "--json").stdout)
    assert [row["name"] for row in listed] == ["moved", "work", "copy"]
    assert shell("sessions", "delete", "copy").returncode == 0
    known = json.loads(shell("sessions", "list", "--json", "-a", SESSIONS).stdout)
    assert forked.stdout.strip() not in [row["sessionId"] for row in known]


def test_list_merges_what_the_agent_knows(shell: Shell) -> None:
    """Sessions that were begun elsewhere are seen with --agent."""
    shell("run", "-a", SESSIONS, "one")
    (shell.state / "sessions.json").unlink()
    assert json.loads(shell("sessions", "list", "--json").stdout) == []
    (row,) = json.loads(shell("sessions", "list", "--json", "-a", SESSIONS).stdout)
    shown = shell("sessions", "show", row["sessionId"][:12], "-a", SESSIONS)
    assert shown.returncode != 0  # the start of an id needs a memory of it
    assert "> one" in shell("sessions", "show", row["sessionId"], "-a", SESSIONS).stdout


def test_a_session_is_exported_by_replay_where_the_agent_has_no_export(shell: Shell, tmp_path: Path) -> None:
    """An agent that can load but knows no `_session/export`."""
    agent = tmp_path / "loads.py"
    agent.write_text(
        """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    def update(kind, text):
        block = {"type": "text", "text": text}
        body = {"sessionId": params["sessionId"], "update": {"sessionUpdate": kind, "content": block}}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": body}), flush=True)
    answer = {"result": {}}
    if method == "initialize":
        answer = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
    elif method == "session/new":
        answer = {"result": {"sessionId": "s-1"}}
    elif method == "session/load":
        update("user_message_chunk", "what I said")
        update("agent_message_chunk", "what it said")
    elif method == "session/prompt":
        update("agent_message_chunk", "done")
        answer = {"result": {"stopReason": "end_turn"}}
    elif method.startswith("_"):
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
""",
        encoding="utf-8",
    )
    shell("run", "-a", str(agent), "hello")
    document = json.loads(shell("sessions", "export").stdout)
    assert [event["body"]["content"]["text"] for event in document["events"]] == [
        "what I said",
        "what it said",
    ]
    ran = shell("sessions", "import", "-", "-a", str(agent), stdin=_file(tmp_path, json.dumps(document)))
    assert ran.returncode == 6 and "loads.py cannot import sessions" in ran.stderr
    ran = shell(
        "sessions", "import", "-", "-a", SESSIONS, "-s", "here", stdin=_file(tmp_path, json.dumps(document))
    )
    assert ran.returncode == 0, ran.stderr
    assert "> what I said\nwhat it said\n" in shell("sessions", "show", "here").stdout


def _file(place: Path, text: str) -> int:
    (place / "stdin").write_text(text, encoding="utf-8")
    return os.open(place / "stdin", os.O_RDONLY)


@pytest.mark.parametrize(
    "action, message",
    [
        (["show"], "does not load sessions"),
        (["fork"], "does not fork sessions"),
        (["export"], "does not load sessions"),
    ],
)
def test_what_an_agent_lacks_is_said(shell: Shell, action: list[str], message: str) -> None:
    shell("run", "-a", ECHO, "hi")
    ran = shell("sessions", *action)
    assert ran.returncode == 6 and f"echo.py {message}" in ran.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["show"], "no session in this repository yet"),
        (["show", "nonsense"], "no session 'nonsense'"),
        (["delete"], "say which session to delete"),
        (["import", "missing.json"], "cannot be read"),
        (["import", "bad.json"], "line 2, column 1"),
        (["import", "wrong.json"], "not a session document"),
    ],
)
def test_mistakes_with_sessions(shell: Shell, words: list[str], message: str) -> None:
    (shell.repo / "bad.json").write_text('{"format":\n}', encoding="utf-8")
    (shell.repo / "wrong.json").write_text("{}", encoding="utf-8")
    ran = shell("sessions", *words)
    assert ran.returncode == 2 and message in ran.stderr


# -- agents -------------------------------------------------------------------------------------------


def test_agents_are_added_and_removed_without_touching_the_rest(shell: Shell) -> None:
    """D9"""
    path = shell.repo / ".acpella" / "settings.json"
    path.parent.mkdir()
    path.write_text(
        '{"theme": {"x": [1, 2]}, "agent_servers": {"old": {"command": "o", "more": 1}}}', encoding="utf-8"
    )
    path.chmod(0o640)
    shell("agents", "trust", "--yes")
    ran = shell("agents", "add", "--here", "--env", "A=b", "mine", sys.executable, ECHO, "-v", "--x=y")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "theme": {"x": [1, 2]},
        "agent_servers": {
            "old": {"command": "o", "more": 1},
            "mine": {"command": sys.executable, "args": [ECHO, "-v", "--x=y"], "env": {"A": "b"}},
        },
    }
    assert path.stat().st_mode & 0o777 == 0o640
    assert shell("run", "-a", "mine", "hi").stdout == "You said: hi\n"
    assert "has an agent 'mine' already" in shell("agents", "add", "--here", "mine", "x").stderr
    assert "* " in shell("agents", "list").stdout
    assert shell("agents", "remove", "--here", "old").returncode == 0
    assert list(json.loads(path.read_text(encoding="utf-8"))["agent_servers"]) == ["mine"]
    ran = shell("agents", "remove", "--here", "mime")
    assert ran.returncode == 2 and "did you mean 'mine'?" in ran.stderr


def test_settings_of_the_repository_hold_in_its_directories(shell: Shell) -> None:
    deep = shell.repo / "deep"
    deep.mkdir()
    shell("agents", "add", "--here", "mine", ECHO)
    assert shell("run", "hi", cwd=deep).stdout == "You said: hi\n"


def test_secrets_of_the_settings_are_not_listed(shell: Shell) -> None:
    shell("agents", "add", "--env", "API_KEY=hunter2hunter2", "mine", "agent", "--token=swordfish99")
    for output in (shell("agents", "list").stdout, shell("agents", "list", "--json").stdout):
        assert "mine" in output and "hunter2hunter2" not in output and "swordfish99" not in output


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"agent_servers": {,}}', "line 1, column 20"),
        ("[]", "must be an object"),
        ('{"agent_servers": 1}', "object"),
    ],
)
def test_a_broken_settings_file_is_not_overwritten(shell: Shell, text: str, message: str) -> None:
    path = shell.repo / "s.json"
    path.write_text(text, encoding="utf-8")
    for words in (["add", "mine", "x"], ["remove", "mine"]):
        ran = shell("agents", words[0], "--settings", "s.json", *words[1:])
        assert ran.returncode == 2 and message in ran.stderr
    assert path.read_text(encoding="utf-8") == text


def test_comments_of_the_settings_are_read_and_not_lost(shell: Shell) -> None:
    path = shell.repo / "s.json"
    agent = f'{{"command": "{sys.executable}", "args": ["{ECHO}",],}}'
    text = f'// mine\n{{"agent_servers": {{"mine": {agent}, }}}}\n'
    path.write_text(text, encoding="utf-8")
    assert shell("run", "--settings", "s.json", "hi").stdout == "You said: hi\n"
    for words in (["add", "other", "x"], ["remove", "mine"]):
        ran = shell("agents", words[0], "--settings", "s.json", *words[1:])
        assert ran.returncode == 2 and "has comments" in ran.stderr
    assert path.read_text(encoding="utf-8") == text


def test_the_doctor_tells_what_an_agent_offers(shell: Shell) -> None:
    ran = shell("agents", "doctor", SESSIONS)
    assert ran.returncode == 0
    for text in (
        "✓ starts, and answers after",
        "sessions 1.0, ACP version 1",
        "modes: polite, blunt",
        "/history",
    ):
        assert text in ran.stdout
    assert json.loads(shell("sessions", "list", "--json", "-a", SESSIONS).stdout) == []  # it left none behind


def test_the_doctor_shows_no_version_of_an_agent_that_has_none(shell: Shell) -> None:
    ran = shell("agents", "doctor", f"{sys.executable} {ECHO}")
    assert " s: echo, ACP version 1\n" in ran.stdout


@pytest.mark.parametrize(
    "agent, code, message",
    [
        ("no-such-command-at-all", 3, "command not found"),
        (f"{sys.executable} -c 'import sys; print(\"oh dear\", file=sys.stderr); sys.exit(3)'", 3, "oh dear"),
        (f"{sys.executable} -c 'import sys; sys.stdin.read()'", 3, "did not answer within 1 s"),
        (f"{sys.executable} {HERE / 'cli_agent.py'} /dev/null --login", 5, "start it with SCRIPTED_KEY set"),
    ],
)
def test_the_doctor_tells_what_is_wrong(shell: Shell, agent: str, code: int, message: str) -> None:
    ran = shell("agents", "doctor", "--timeout", "1" if "read()" in agent else "20", agent)
    assert ran.returncode == code and message in ran.stdout + ran.stderr
    if code != 5:
        assert "✗ start failed: " in ran.stdout and message in ran.stdout  # who reads stdout alone knows why


def test_the_doctor_says_what_to_do_when_an_agent_makes_no_session(shell: Shell) -> None:
    agent = shell.home / "no_session.py"
    agent.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    error = {'error': {'code': -32603, 'message': 'Internal error'}}\n"
        "    answer = {'result': {'protocolVersion': 1}} if m['method'] == 'initialize' else error\n"
        "    print('the disk is full', file=sys.stderr, flush=True)\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], **answer}), flush=True)\n",
        encoding="utf-8",
    )
    ran = shell("agents", "doctor", f"{sys.executable} {agent}")
    assert ran.returncode == 8
    assert "✗ session/new failed: Internal error (-32603)" in ran.stdout
    assert "the disk is full" in ran.stdout and "acpella run -v -a" in ran.stdout


# -- permissions --------------------------------------------------------------------------------------


def test_an_answer_for_good_is_remembered_listed_and_revoked(shell: Shell) -> None:
    """C21 from the command line: the answer is given at a real terminal."""
    asking, terminal = pty.openpty()
    process = shell.start("run", "-a", shell.scripted, "ask deploy", stdin=terminal, stderr=terminal)
    os.close(terminal)
    shown = ""
    while "Esc: no]" not in shown:
        assert select.select([asking], [], [], 20)[0], f"it did not ask: {shown}"
        shown += os.read(asking, 4096).decode()
    os.write(asking, b"A")  # always
    out, _ = process.communicate(timeout=60)
    os.close(asking)
    assert "allowed" in out and "not allowed" not in out

    (row,) = json.loads(shell("permissions", "list", "-a", "cli_agent.py", "--json").stdout)
    assert row["decision"] == "allow"
    assert shell("permissions", "revoke", "scripted").returncode == 0  # the agent has a memory of its own
    assert "not allowed" not in shell("run", "-a", shell.scripted, "ask deploy").stdout
    assert shell("permissions", "revoke", "nobody").returncode == 2
    assert shell("permissions", "revoke", "cli_agent.py", row["what"]).returncode == 0
    assert shell("permissions", "list").stderr == "acpella: nothing is remembered\n"
    assert "not allowed" in shell("run", "-a", shell.scripted, "ask deploy").stdout


@pytest.mark.parametrize("words", ["agents list", "help environment", "check --list", "run hello"])
def test_output_that_finds_no_place_is_an_error(shell: Shell, words: str) -> None:
    """A full disk: the end of the output was lost, and `run` said that all was well."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    agent = ["-a", shell.scripted] if words.startswith("run") else []
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "acpella", *words.split(), *agent],
            cwd=shell.repo,
            env=shell.env,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert ran.returncode == 2, ran.stderr
    assert "No space left on device" in ran.stderr and "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("session", [[], ["-s", "work"]])
def test_what_was_kept_for_a_program_holds_for_that_very_one(shell: Shell, session: list[str]) -> None:
    """Alone, behind a daemon, and when a prompt was left with that daemon."""
    path = shell.home / "config" / "acpella" / "permissions.toml"
    path.parent.mkdir(parents=True)
    what = f'edit "Do deploy" ["{shell.repo}/deploy"] (in {shell.repo})'
    answer = f'{json.dumps(what)} = "allow"\n'
    for agent, allowed in ((shell.scripted, True), ("cli_agent.py", False), (f"{shell.scripted} x", False)):
        path.write_text(f'["{agent}"]\n{answer}', encoding="utf-8")
        ran = shell("run", "-a", shell.scripted, *session, "ask deploy")
        assert ("not allowed" not in ran.stdout) is allowed, (agent, ran)
        assert agent in shell("permissions", "list").stdout, "also what holds for nobody can be removed"
        if session:
            shell("run", *session, "--no-wait", "ask deploy")
            shell("run", *session, "hello")
            assert shell("sessions", "show", "work").stdout.count("\nallowed") == 2, "those of the first"
    assert shell("permissions", "revoke", "cli_agent.py").returncode == 0


def test_agents_of_one_file_name_are_told_apart_when_answers_are_revoked(shell: Shell) -> None:
    path = shell.home / "config" / "acpella" / "permissions.toml"
    path.parent.mkdir(parents=True)
    path.write_text('["/a/x.py"]\nb = "allow"\n["python /c/x.py"]\nb = "deny"\n', encoding="utf-8")
    assert len(json.loads(shell("permissions", "list", "-a", "x.py", "--json").stdout)) == 2
    ran = shell("permissions", "revoke", "x.py")
    assert ran.returncode == 2 and "several agents" in ran.stderr and "/a/x.py; python /c/x.py" in ran.stderr
    assert shell("permissions", "revoke", "python /c/x.py", "b").returncode == 0
    assert shell("permissions", "revoke", "x.py").returncode == 0
    assert shell("permissions", "list").stderr == "acpella: nothing is remembered\n"


# -- every command ------------------------------------------------------------------------------------


def test_words_that_look_like_options_are_explained(shell: Shell) -> None:
    ran = shell("run", "-a", ECHO, "run", "ls", "-l")
    assert ran.returncode == 2 and "-- before the prompt" in ran.stderr
    assert shell("run", "-a", ECHO, "--", "run", "ls", "-l").stdout == "You said: run ls -l\n"
    assert shell("run", "one", "-a", ECHO, "two").stdout == "You said: one two\n"


def test_a_misspelt_variable_is_noticed(shell: Shell) -> None:
    ran = shell("agents", "list", env={"ACPELLA_DAEMON_IDEL": "1", "ACPELLA_SOMETHING_ELSE": "1"})
    assert "ACPELLA_DAEMON_IDEL is not known; did you mean ACPELLA_DAEMON_IDLE?" in ran.stderr
    assert "SOMETHING_ELSE" not in ran.stderr


def test_nothing_heavy_is_imported_for_a_pipe(shell: Shell) -> None:
    code = (
        "import sys; from acpella.cli import main; main(sys.argv[1:]); "
        "print(*{'rich', 'prompt_toolkit', 'httpx2', 'websockets'} & set(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "run", "-a", ECHO, "hi"],
        capture_output=True,
        text=True,
        cwd=shell.repo,
        env=shell.env,
    )
    assert (ran.stdout, ran.stderr) == ("You said: hi\n", "\n")


@pytest.mark.parametrize("words", [["sessions", "show", "fix"], ["status"], ["sessions", "list"]])
def test_whoever_stops_reading_is_not_told_off(shell: Shell, words: list[str]) -> None:
    for _ in range(3):
        assert shell("run", "-a", shell.scripted, "-s", "fix", "hello").returncode == 0
    reading, writing = os.pipe()
    os.close(reading)  # as `| true` does
    process = subprocess.Popen(
        [sys.executable, "-m", "acpella", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.repo,
        env={**shell.env, "PYTHONUNBUFFERED": "1"},
    )
    os.close(writing)
    _, told = process.communicate(timeout=90)
    assert (process.returncode, told) == (0, "")


def test_without_a_command_the_help_is_shown(shell: Shell) -> None:
    done = shell()
    assert done.returncode == 2
    assert "send one prompt to an agent" in done.stderr

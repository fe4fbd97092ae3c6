"""Which settings count: those of the project, those of the user, those a session was begun with."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli_shell import EXAMPLES, Shell

from cli.terminal import Terminal

ACPELLA = [sys.executable, "-m", "acpella"]
ECHO = str(EXAMPLES / "echo.py")


def agents_in(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))["agent_servers"]


@pytest.fixture
def user(shell: Shell) -> Path:
    """The user's own settings, with the agent `full`."""
    path = shell.home / "config" / "acpella" / "settings.json"
    assert shell("agents", "add", "full", ECHO).returncode == 0
    return path


@pytest.fixture
def project(shell: Shell) -> Path:
    path = shell.repo / ".acpella" / "settings.json"
    path.parent.mkdir()
    return path


# -- together ---------------------------------------------------------------------------------------


def test_agents_of_the_user_stay_known_beside_those_of_the_project(shell: Shell, user: Path) -> None:
    """D9"""
    shell("agents", "add", "--here", "near", shell.scripted)
    assert shell("run", "-a", "full", "hi").stdout == "You said: hi\n"
    assert shell("run", "hi").stdout.startswith("hi by")  # the project's comes first
    rows = json.loads(shell("agents", "list", "--json").stdout)["agents"]
    assert [(row["name"], row["default"]) for row in rows][:2] == [("near", True), ("full", False)]
    assert rows[1]["settings"] == str(user)
    assert "*  near   project" in shell("agents", "list").stdout


def test_a_session_goes_on_with_the_agent_of_the_file_it_was_begun_with(shell: Shell, user: Path) -> None:
    shell("agents", "add", "far", *shell.scripted.split())
    shell("run", "-a", "far", "one")
    shell("agents", "add", "--here", "far", ECHO)  # another agent of that name
    assert shell("run", "-c", "two").stdout.startswith("two by")
    assert shell("run", "-a", "far", "three").stdout == "You said: three\n"


def test_removing_looks_where_the_list_looks(shell: Shell, user: Path) -> None:
    shell("agents", "add", "--here", "near", ECHO)
    ran = shell("agents", "remove", "near")
    assert ran.returncode == 0, ran.stderr
    assert not (shell.repo / ".acpella").exists()  # nothing else was in it
    assert shell("agents", "remove", "full").returncode == 0 and not user.exists()


def test_a_file_that_says_more_stays(shell: Shell, user: Path, project: Path) -> None:
    project.write_text('{"daemon_idle": 9, "agent_servers": {"near": {"command": "x"}}}', encoding="utf-8")
    track(shell, project)
    shell("agents", "trust", "--yes")
    assert shell("agents", "remove", "--here", "near").returncode == 0
    assert json.loads(project.read_text(encoding="utf-8")) == {"daemon_idle": 9, "agent_servers": {}}
    ran = shell("run", "hi")  # what was changed here is still agreed to
    assert (ran.stdout, ran.stderr) == ("You said: hi\n", "")


# -- files that need an agreement ---------------------------------------------------------------------


def track(shell: Shell, project: Path) -> None:
    """As it is after a clone."""
    for words in (["init", "-q"], ["add", "-f", str(project)]):
        subprocess.run(["git", *words], cwd=shell.repo, check=True, env=shell.env)


def hostile(shell: Shell, project: Path, *, tracked: bool = True) -> Path:
    """Settings of a repository that was cloned: they want their own program to be run as `full`."""
    mark = shell.home / "mark"
    program = ["-c", f"open({str(mark)!r}, 'w')"]
    server = {"command": sys.executable, "args": program}
    document = {"agent_servers": {"full": server}, "mcp_servers": {"spy": server}}
    project.write_text(json.dumps(document), encoding="utf-8")
    if tracked:
        track(shell, project)
    return mark


def test_settings_that_git_does_not_track_start_nothing(shell: Shell, user: Path, project: Path) -> None:
    """An archive, another kind of checkout or an agent that edits brings such a file, too."""
    mark = hostile(shell, project, tracked=False)
    ran = shell("run", "hi")
    assert ran.stdout == "You said: hi\n" and "is not used: it names commands" in ran.stderr
    assert not mark.exists()


def test_adding_here_agrees_to_what_was_written(shell: Shell, user: Path) -> None:
    shell("agents", "add", "--here", "near", ECHO)
    ran = shell("run", "-a", "near", "hi")
    assert (ran.stdout, ran.stderr) == ("You said: hi\n", "")


def test_trust_agrees_to_nothing_unless_somebody_says_yes(shell: Shell, user: Path, project: Path) -> None:
    mark = hostile(shell, project)
    ran = shell("agents", "trust")
    assert ran.returncode == 2 and str(mark) in ran.stdout and "agents trust --yes" in ran.stderr
    for typed, code in (("\n", 2), ("n\n", 2), ("y\n", 0)):
        assert shell("run", "hi").stdout == "You said: hi\n" and not mark.exists()
        with Terminal(ACPELLA + ["agents", "trust"], cwd=shell.repo, **shell.env) as terminal:
            terminal.see(r"use these settings\? \[y/N\]")
            terminal.type(typed)
            assert terminal.wait() == code
    shell("run", "hi")
    assert mark.exists()


def test_what_was_typed_before_the_settings_are_shown_agrees_to_nothing(shell: Shell, project: Path) -> None:
    hostile(shell, project)
    with Terminal(ACPELLA + ["agents", "trust"], cwd=shell.repo, **shell.env) as terminal:
        terminal.type("y\n")
        terminal.see(r"use these settings\? \[y/N\]")
        terminal.type("\n")
        assert terminal.wait() == 2


def test_trust_shows_every_word_with_variables_and_headers(shell: Shell, project: Path) -> None:
    document = {
        "agent_servers": {
            "a": {
                "command": "x" * 600 + " \x1b]0;",
                "args": ["a b", "\r git status", "\u202eevil"],
                "env": {"LD_PRELOAD": "/tmp/evil.so"},
            },
            "b": {"url": "https://user:password@example.com/?token=1", "headers": {"X-Team": "blue"}},
        },
        "mcp_servers": {"m": {"command": "evil", "env": {"NODE_OPTIONS": "--require x"}}},
    }
    project.write_text(json.dumps(document), encoding="utf-8")
    shown = shell("agents", "trust").stdout
    for word in (
        "x" * 600 + r" \x1b]0;",
        r"'a b' '\r git status' '\u202eevil'",
        "LD_PRELOAD=/tmp/evil.so",
        "https://user:password@example.com/?token=1",
        "X-Team: blue",
        '"NODE_OPTIONS": "--require x"',
    ):
        assert word in shown, word
    assert "\x1b" not in shown


def test_what_is_agreed_to_is_what_was_shown(shell: Shell, user: Path, project: Path) -> None:
    project.write_text(json.dumps({"agent_servers": {"full": {"command": "harmless"}}}))
    with Terminal(ACPELLA + ["agents", "trust"], cwd=shell.repo, **shell.env) as terminal:
        terminal.see(r"harmless(?s:.*)\[y/N\]")
        mark = hostile(shell, project)
        terminal.type("y\n")
        assert terminal.wait() == 0
    assert "since it was changed" in shell("run", "hi").stderr and not mark.exists()


def test_a_directory_that_is_a_link_of_the_repository_came_with_it(
    shell: Shell, user: Path, project: Path
) -> None:
    mark = hostile(shell, project)
    subprocess.run(["git", "rm", "-q", "--cached", str(project)], cwd=shell.repo, check=True, env=shell.env)
    project.parent.rename(shell.repo / "innocent")
    project.parent.symlink_to("innocent")
    track(shell, project.parent)
    assert "is not used" in shell("run", "hi").stderr and not mark.exists()


@pytest.mark.parametrize("words", [["-a", "full"], [], ["-s", "x"]])
def test_settings_of_a_cloned_repository_start_nothing(
    shell: Shell, user: Path, project: Path, words: list[str]
) -> None:
    mark = hostile(shell, project)
    ran = shell("run", *words, "hi")
    assert ran.stdout == "You said: hi\n" and ran.returncode == 0
    assert "is not used: it names commands" in ran.stderr and "acpella agents trust" in ran.stderr
    assert not mark.exists()


def test_what_was_agreed_to_holds_until_it_is_changed(shell: Shell, user: Path, project: Path) -> None:
    project.write_text(json.dumps({"agent_servers": {"near": {"command": sys.executable, "args": [ECHO]}}}))
    track(shell, project)
    agreed = shell("agents", "trust", "--yes")
    assert agreed.returncode == 0 and "near" in agreed.stdout and ECHO in agreed.stdout
    ran = shell("run", "-s", "work", "hi")
    assert (ran.stdout, ran.stderr) == ("You said: hi\n", "")
    shell("sessions", "close", "work")
    mark = hostile(shell, project)
    for words in (["-s", "work"], ["-c"]):
        ran = shell("run", *words, "hi")
        assert ran.returncode == 2 and "any more, since it was changed" in ran.stderr
    assert "hi" in shell("run", "hi").stdout and not mark.exists()


def test_adding_to_a_file_that_nobody_agreed_to_does_not_agree(
    shell: Shell, user: Path, project: Path
) -> None:
    hostile(shell, project)
    assert "is not used" in shell("agents", "add", "--here", "near", ECHO).stderr
    assert list(agents_in(project)) == ["full", "near"]
    assert shell("run", "-a", "near", "hi").returncode == 3


def test_a_file_of_a_project_that_is_named_starts_nothing_either(shell: Shell, project: Path) -> None:
    """A line to copy from a README is not an agreement."""
    mark = hostile(shell, project)
    (shell.repo / "agents.json").symlink_to(project)
    for named, cwd in ((project, shell.home), ("settings.json", project.parent), ("agents.json", shell.repo)):
        for words in (["run", "hi"], ["agents", "list"], ["agents", "doctor"], ["web", "--no-open"]):
            ran = shell(*words[:1], *words[1:2], "--settings", str(named), *words[2:], cwd=cwd)
            assert ran.returncode == 2 and "is not used: it names commands" in ran.stderr, words
        assert ("agents trust` in " in ran.stderr) == (cwd == shell.home)
    assert not mark.exists()
    assert shell("agents", "trust", "--yes").returncode == 0
    shell("run", "--settings", "agents.json", "hi")
    assert mark.exists()


def test_a_bridge_goes_to_no_url_of_a_cloned_repository(shell: Shell, project: Path) -> None:
    """A token for one's own server must not reach another one."""
    project.write_text(json.dumps({"agent_servers": {"ours": {"url": "http://127.0.0.1:9/acp"}}}))
    track(shell, project)
    ran = shell("connect", "ours")
    assert ran.returncode == 2 and "is not the URL of an agent" in ran.stderr and "is not used" in ran.stderr


class NeedsToken(BaseHTTPRequestHandler):
    """Refuses all requests, and keeps what they would be let in with."""

    seen: list[str | None]

    def do_POST(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_response(401)
        self.end_headers()

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def needs_token() -> Iterator[tuple[str, list[str | None]]]:
    """A server's URL, and what it sees of the requests that it refuses."""
    seen: list[str | None] = []
    handler = type("Handler", (NeedsToken,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/acp", seen
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("words", [["run", "-a", "ours", "hi"], ["run", "-a", "ours", "-s", "x", "hi"]])
def test_the_token_of_the_user_goes_to_no_url_of_a_project(
    shell: Shell, project: Path, needs_token: tuple[str, list[str | None]], words: list[str]
) -> None:
    """Not even after the file was agreed to: the token may be that of another server."""
    url, seen = needs_token
    shell.env["ACPELLA_TOKEN"] = "t0ken-of-another-server"
    project.write_text(json.dumps({"agent_servers": {"ours": {"url": url}}}))
    assert shell("agents", "trust", "--yes").returncode == 0
    ran = shell(*words)
    assert (
        ran.returncode != 0
        and "ACPELLA_TOKEN is not sent to a URL that a project's settings name" in ran.stderr
    )
    assert seen and set(seen) == {None}
    seen.clear()
    shell("run", "-a", url, "hi")
    assert seen[0] == "Bearer t0ken-of-another-server"


def test_there_may_be_nothing_to_agree_to(shell: Shell) -> None:
    ran = shell("agents", "trust", "--yes")
    assert ran.returncode == 2 and "no .acpella/settings.json" in ran.stderr


# -- the file of a session ----------------------------------------------------------------------------


def test_a_session_finds_the_settings_it_was_begun_with(shell: Shell) -> None:
    file = shell.home / "x.json"
    command, *args = shell.scripted.split()
    file.write_text(json.dumps({"agent_servers": {"c": {"command": command, "args": args}}}))
    shell("run", "--settings", "../home/x.json", "-a", "c", "one")
    assert shell("run", "-c", "two").stdout.startswith("two by")
    assert "> two" in shell("sessions", "show").stdout
    shell("sessions", "close")
    file.write_text("{}")
    ran = shell("run", "-c", "three")
    assert ran.returncode == 2 and "does not name the agent 'c' of this session any more" in ran.stderr
    file.unlink()
    for words in (["run", "-c", "three"], ["sessions", "show"]):
        ran = shell(*words)
        assert (
            ran.returncode == 2 and "x.json, which names the agent 'c' of this session, is gone" in ran.stderr
        )


# -- adding -------------------------------------------------------------------------------------------


def test_a_python_file_of_a_command_is_kept_with_its_whole_path(shell: Shell, user: Path) -> None:
    (shell.repo / "mine.py").write_text("", encoding="utf-8")
    assert shell("agents", "add", "mine", "python", "mine.py").returncode == 0
    added = json.loads(user.read_text(encoding="utf-8"))["agent_servers"]["mine"]
    assert added == {"command": "python", "args": [str(shell.repo / "mine.py")]}
    shell("agents", "add", "--here", "ours", "python", "mine.py")  # a project may lie elsewhere tomorrow
    project = json.loads((shell.repo / ".acpella" / "settings.json").read_text(encoding="utf-8"))
    assert project["agent_servers"]["ours"]["args"] == ["mine.py"]


def test_a_file_that_only_holds_an_agent_leads_to_its_object(shell: Shell) -> None:
    (shell.repo / "held.py").write_text("agent = object()\n", encoding="utf-8")
    ran = shell("run", "-a", "held.py", "hello")
    assert ran.returncode == 3 and "named with its object: held.py:agent" in ran.stderr


def test_options_of_add_may_stand_after_the_name(shell: Shell, user: Path) -> None:
    ran = shell("agents", "add", "here", "--here", "--env", "A=b", "--env=C=d", "python", "raw.py", "--here")
    assert ran.returncode == 0, ran.stderr
    assert agents_in(shell.repo / ".acpella" / "settings.json") == {
        "here": {"command": "python", "args": ["raw.py", "--here"], "env": {"A": "b", "C": "d"}}
    }
    assert list(agents_in(user)) == ["full"]


def test_a_command_is_no_option(shell: Shell, user: Path) -> None:
    for words in (["x", "--hear", "python"], ["x", "--", "-x"], ["x"]):
        ran = shell("agents", "add", *words)
        assert ran.returncode == 2 and "[--here] [--replace]" in ran.stderr, ran.stderr
    assert list(agents_in(user)) == ["full"]


def test_replacing_shows_where_the_option_goes(shell: Shell, user: Path) -> None:
    ran = shell("agents", "add", "full", "python", "full.py", "--replace")
    assert ran.returncode == 2 and "acpella agents add --replace full COMMAND" in ran.stderr
    assert shell("agents", "add", "full", "--replace", "python", "full.py").returncode == 0
    assert agents_in(user)["full"] == {"command": "python", "args": ["full.py"]}


@pytest.mark.parametrize(
    "words", [["run", "-a", "", "hi"], ["agents", "doctor", ""], ["sessions", "list", "-a", " "]]
)
def test_an_empty_agent_is_a_mistake(shell: Shell, words: list[str]) -> None:
    ran = shell(*words)
    assert ran.returncode == 2 and "the agent is an empty word" in ran.stderr
    assert "Traceback" not in ran.stderr

"""Sessions by name and by id."""

import json
import os
import signal
from pathlib import Path

import pytest
from cli_shell import EXAMPLES, Shell

from cli.terminal import acpella

ECHO = str(EXAMPLES / "echo.py")


def rows(shell: Shell) -> list[tuple[str | None, str]]:
    return [(row["name"], row["sessionId"]) for row in json.loads(shell("sessions", "list", "--json").stdout)]


def begun(shell: Shell) -> str:
    """The id of a session without a name."""
    shell("run", "-a", shell.scripted, "one")
    ((_, session_id),) = rows(shell)
    return session_id


def test_a_session_without_a_name_goes_on_by_its_id_or_the_start_of_it(shell: Shell) -> None:
    session_id = begun(shell)
    for word in (session_id, session_id[:12]):
        ran = shell("run", "-s", word, f"on {word}")
        assert ran.returncode == 0, ran.stderr
    assert rows(shell) == [(None, session_id)]
    shown = shell("sessions", "show").stdout
    assert "> one" in shown and f"> on {session_id}" in shown and f"> on {session_id[:12]}" in shown
    assert session_id in shell("status", "-s", session_id[:12]).stdout
    assert "belongs to" in shell("run", "-s", session_id, "-a", ECHO, "x").stderr


def test_a_name_that_is_an_id_is_never_made(shell: Shell) -> None:
    session_id = begun(shell)
    elsewhere = shell.home / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    for ran in (
        shell("run", "-s", session_id, "--new", "x"),
        shell("run", "-s", session_id, "-a", shell.scripted, "x", cwd=elsewhere),
        shell("sessions", "fork", session_id, "-s", session_id),
    ):
        assert ran.returncode == 2 and "is the id of a session" in ran.stderr, ran.stderr
    assert rows(shell) == [(None, session_id)]


def test_the_start_of_two_ids_is_not_enough(shell: Shell) -> None:
    for word in ("one", "two"):
        shell("run", "-a", shell.scripted, word)
    file = shell.state / "sessions.json"
    ids = ["twins-aaaa1", "twins-aaaa2"]
    document = json.loads(file.read_text(encoding="utf-8"))
    for entry, session_id in zip(document["sessions"], ids, strict=True):
        entry["session_id"] = session_id
    file.write_text(json.dumps(document), encoding="utf-8")
    ran = shell("run", "-s", "twins-aaaa", "x")
    assert ran.returncode == 2 and all(one in ran.stderr for one in ids)


@pytest.mark.parametrize("name", ["two\nlines", "esc\x1b[2J", "back\u202ewards", " ", "x" * 101])
def test_names_are_one_readable_line(shell: Shell, name: str) -> None:
    ran = shell("run", "-a", ECHO, "-s", name, "hi")
    assert ran.returncode == 2 and "a session's name " in ran.stderr
    assert "\x1b" not in ran.stderr and not rows(shell)


def test_names_of_any_script_are_fine(shell: Shell) -> None:
    for name in ("می\u200cخواهم", "修正", "👩\u200d🔧"):
        assert shell("run", "-a", ECHO, "-s", name, "hi").returncode == 0
        assert name in shell("status", "-s", name).stdout


def test_chat_takes_ids_too_and_no_empty_agent(shell: Shell) -> None:
    session_id = begun(shell)
    terminal = acpella("chat", "-s", session_id[:12], cwd=shell.repo, **shell.env)
    try:
        terminal.see(r"one by \d+")  # told again
        terminal.see(r"\(starting\)", gone=True)
        terminal.type("\x04")
        assert terminal.wait() == 0
    finally:
        terminal.__exit__()
    assert rows(shell) == [(None, session_id)]
    terminal = acpella("chat", "-a", "", cwd=shell.repo, **shell.env)
    try:
        assert terminal.wait() == 2 and "the agent is an empty word" in terminal.all()
    finally:
        terminal.__exit__()


# -- status and cancel --------------------------------------------------------------------------------


def leave(shell: Shell, kept: list[dict[str, str]]) -> None:
    """As if prompts had been left with --no-wait and ended so."""
    (entry,) = json.loads((shell.state / "sessions.json").read_text(encoding="utf-8"))["sessions"]
    (shell.state / "daemons").mkdir(exist_ok=True)
    at = "2026-01-01T00:00:00Z"
    text = json.dumps([{"at": at, **one} for one in kept])
    (shell.state / "daemons" / f"{entry['key']}.results").write_text(text, encoding="utf-8")


def test_what_went_wrong_does_not_disappear_behind_what_went_well(shell: Shell) -> None:
    begun(shell)
    well = [{"prompt": f"well {n}", "stop_reason": "end_turn", "text": "fine"} for n in range(4)]
    leave(shell, [{"prompt": "bad", "error": "it broke"}, *well])
    _, *lines = shell("status").stdout.splitlines()
    assert [line.partition(": ")[2] for line in lines[:3]] == [
        "bad → it broke",
        "well 2 → fine",
        "well 3 → fine",
    ]
    assert lines[3:] == ["  … 2 more; `acpella status --json` shows all"]


def test_marks_follow_the_stop_reason(shell: Shell) -> None:
    begun(shell)
    reasons = ["refusal", "max_tokens", "end_turn"]
    leave(
        shell,
        [
            {"prompt": reason, "stop_reason": reason, "text": "a\x1b[2Jb" * (n % 2)}
            for n, reason in enumerate(reasons)
        ],
    )
    _, *lines = shell("status").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["✗", "·", "✓"]
    assert lines[0].endswith("refusal → refusal") and lines[1].endswith("max_tokens → ab (max_tokens)")


def test_a_command_that_was_stopped_is_named_by_cancel(shell: Shell) -> None:
    running = shell.start("run", "-a", shell.scripted, "wait never")
    shell.until_event("begin", "wait never")
    os.kill(running.pid, signal.SIGSTOP)
    for words in (["cancel"], ["cancel", "-s", rows(shell)[0][1]]):
        ran = shell(*words)
        assert ran.returncode == 7 and f"does not answer: process {running.pid}" in ran.stderr
    assert f"does not answer (process {running.pid})" in shell("status").stdout
    os.kill(running.pid, signal.SIGCONT)
    assert shell("cancel").returncode == 0
    running.communicate(timeout=60)
    assert running.returncode == 130


def test_a_name_of_another_repository_begins_a_session_and_says_so(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other repo"
    (other / ".git").mkdir(parents=True)
    assert shell("run", "-a", shell.scripted, "-s", "fix", "hello").stderr == ""
    ran = shell("run", "-a", shell.scripted, "-s", "fix", "hello", cwd=other)
    assert ran.returncode == 0
    assert "'fix' is a new session: sessions belong to a repository" in ran.stderr
    assert f"add --cwd {shell.repo}" in ran.stderr
    assert "is a new session" not in shell("run", "-s", "fix", "again", cwd=other).stderr
    assert (
        "is a new session" not in shell("run", "-s", "fix", "--cwd", str(shell.repo), "on", cwd=other).stderr
    )

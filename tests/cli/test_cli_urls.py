"""Sessions that stay, with agents behind a URL."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_shell import Shell


@pytest.fixture
def url(shell: Shell) -> Iterator[str]:
    with shell.serving("--", *shlex.split(shell.scripted)) as (url, _):
        yield url


def test_a_named_session_with_an_agent_behind_a_url(shell: Shell, url: str) -> None:
    for words in (["-s", "far"], ["-s", "far"], ["-c"]):
        done = shell("run", "-a", url, *words, "-o", "simple", "hello")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("hello by")
    assert "far" in shell("status").stdout


def test_a_url_of_the_settings_has_sessions_that_stay(shell: Shell, url: str) -> None:
    place = shell.repo / ".acpella" / "settings.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"agent_servers": {"remote": {"url": url, "headers": {"X-Team": "blue"}}}}))
    shell("agents", "trust", "--yes")
    for words in (["-s", "far"], ["-c"]):
        done = shell("run", *words, "-o", "simple", "hello")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("hello by")
    assert url in shell("agents", "list").stdout
    assert "X-Team" not in (shell.state / "sessions.json").read_text()


def test_the_doctor_leaves_no_session_behind_a_url(shell: Shell, url: str) -> None:
    done = shell("agents", "doctor", url)
    assert done.returncode == 0, done.stderr
    assert "cannot be closed" not in done.stdout


def test_sessions_of_another_token_are_not_listed(shell: Shell, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    token_of = {user: shell("tokens", "add", str(tokens), user).stdout.strip() for user in ("ann", "bob")}
    with shell.serving("--token-file", str(tokens), "--", *shlex.split(shell.scripted)) as (url, _):
        for user, token in token_of.items():
            ran = shell("run", "-a", url, "-s", f"of-{user}", "hello", env={"ACPELLA_TOKEN": token})
            assert ran.returncode == 0, ran.stderr
        for user, token in token_of.items():
            ran = shell("sessions", "list", "-a", url, "--json", env={"ACPELLA_TOKEN": token})
            assert [row["name"] for row in json.loads(ran.stdout)] == [f"of-{user}"], ran.stderr

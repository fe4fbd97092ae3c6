"""Sessions that stay, with agents behind a URL."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
from cli_shell import Shell


@pytest.fixture
def url(shell: Shell) -> Iterator[str]:
    process = shell.start("serve", "--port", "0", "--", *shlex.split(shell.scripted))
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found
    yield found[0]
    process.terminate()
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


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

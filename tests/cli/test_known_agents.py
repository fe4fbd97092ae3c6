"""Agents that need no settings, and what of them can be chosen from the shell."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from cli_shell import Shell
from terminal import acpella

RAW = f"{sys.executable} {Path(__file__).parent / 'raw_agent.py'}"
PROGRAM = f'#!/bin/sh\necho "$0 $*" >> "$HOME/started"\nexec {RAW} --load\n'


@pytest.fixture
def path(shell: Shell) -> Path:
    """A directory that alone is searched for programs, with `npx`."""
    place = shell.home / "bin"
    place.mkdir()
    shell.env["PATH"] = str(place)
    for program in ("git", "sh"):
        (place / program).symlink_to(shutil.which(program) or "/bin/false")
    install(place, "npx")
    return place


def install(place: Path, name: str) -> None:
    (place / name).write_text(PROGRAM, encoding="utf-8")
    (place / name).chmod(0o755)


def started(shell: Shell) -> list[str]:
    file = shell.home / "started"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line.rpartition("bin/")[2] for line in lines]


# -- names -------------------------------------------------------------------------------------------


def test_a_known_agent_that_is_installed_needs_no_settings(shell: Shell, path: Path) -> None:
    install(path, "gemini")
    ran = shell("run", "-a", "gemini", "hello")
    assert ran.returncode == 0, ran.stderr
    assert started(shell) == ["gemini --acp"]


def test_a_known_agent_is_not_downloaded_without_a_terminal_or_yes(shell: Shell, path: Path) -> None:
    ran = shell("run", "-a", "claude", "hello")
    assert ran.returncode == 3 and started(shell) == []
    assert "`npx -y @agentclientprotocol/claude-agent-acp` would download" in ran.stderr
    assert "--yes" in ran.stderr
    assert shell("run", "-a", "claude", "--yes", "hello").returncode == 0
    assert started(shell) == ["npx -y @agentclientprotocol/claude-agent-acp"]
    # who has agreed once is not asked again
    assert shell("run", "-a", "claude", "-s", "kept", "hello").returncode == 0
    assert shell("run", "-c", "hello").returncode == 0


def test_whether_to_download_is_asked_once(shell: Shell, path: Path) -> None:
    for typed, code, times in (("n\n", 3, 0), ("\n", 3, 0), ("y\n", 0, 1)):
        with acpella("run", "-a", "codex", "hello", cwd=shell.repo, columns=100, **shell.env) as terminal:
            terminal.see(r"Codex is not installed[^?]*@agentclientprotocol/codex-acp`\? \[y/N\]")
            terminal.type(typed)
            assert terminal.wait() == code
        assert len(started(shell)) == times
    with acpella("run", "-a", "codex", "hello", cwd=shell.repo, columns=100, **shell.env) as terminal:
        assert terminal.wait() == 0
        assert "[y/N]" not in terminal.all()


def test_settings_come_before_known_names(shell: Shell, path: Path) -> None:
    install(path, "gemini")
    install(path, "mine")
    shell("agents", "add", "gemini", "mine", "--fast")
    shell("run", "-a", "gemini", "hello")
    assert started(shell) == ["mine --fast"]


def test_known_agents_are_listed_with_how_they_would_start(shell: Shell, path: Path) -> None:
    install(path, "opencode")
    shown = shell("agents", "list").stdout
    assert "✓  opencode" in shown and "opencode acp\n" in shown
    assert "npx -y @google/gemini-cli --acp (downloads it)" in shown and "needs goose" in shown
    known = {one["name"]: one for one in json.loads(shell("agents", "list", "--json").stdout)["known"]}
    assert known["opencode"]["program"] == os.path.join(path, "opencode")


def test_an_agent_that_cannot_be_downloaded_says_what_is_missing(shell: Shell, path: Path) -> None:
    assert "there is no goose on the PATH" in shell("run", "-a", "goose", "hello").stderr
    (path / "npx").unlink()
    ran = shell("run", "-a", "gemini", "--yes", "hello")
    assert ran.returncode == 3 and "neither gemini nor npx" in ran.stderr


# -- models and modes --------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [[], ["-s", "kept"]])
@pytest.mark.parametrize(
    "words, answer",
    [
        (["--model", "gem-lite"], "ok gem-lite https://modes.example/#ask"),
        (["--model", "flash"], "ok gem-flash https://modes.example/#ask"),
        (["--model", "lite 1"], "ok gem-lite https://modes.example/#ask"),
        (["--mode", "plan"], "ok gem-pro https://modes.example/#plan"),
        (["--mode", "without"], "ok gem-pro https://modes.example/#planless"),
    ],
)
def test_a_model_or_mode_is_chosen_by_a_part_of_its_name(
    shell: Shell, words: list[str], answer: str, session: list[str]
) -> None:
    ran = shell("run", "-a", f"{RAW} --models --modes", *session, *words, "hello")
    assert ran.stdout == answer + "\n", ran.stderr


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["--model", "gem"], 2, "model 'gem' may be any of: gem-pro, gem-flash, gem-lite"),
        (["--model", "huge"], 2, "no model 'huge'; there are: gem-pro, gem-flash, gem-lite"),
        (["--mode", "la"], 2, "may be any of: https://modes.example/#plan, https://modes.example/#planless"),
    ],
)
def test_a_word_that_several_fit_is_answered_with_all_of_them(
    shell: Shell, words: list[str], code: int, message: str
) -> None:
    ran = shell("run", "-a", f"{RAW} --models --modes", *words, "hello")
    assert ran.returncode == code and message in ran.stderr


def test_an_option_of_the_category_model_is_chosen_as_well(shell: Shell) -> None:
    agent = str(Path(__file__).parents[2] / "examples" / "sessions.py")
    assert "large model" in shell("run", "-a", agent, "--model", "lar", "hi").stdout


def test_an_agent_without_models_says_so(shell: Shell) -> None:
    ran = shell("run", "-a", RAW, "--model", "flash", "hello")
    assert ran.returncode == 6 and "offers no choice of models" in ran.stderr

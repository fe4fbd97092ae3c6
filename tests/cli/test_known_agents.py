"""Agents that need no settings, and what of them can be chosen from the shell."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_shell import Shell

from acpella.client.names import hint_for
from acpella.client.settings import AgentServer, ClientSettings

RAW = f"{sys.executable} {Path(__file__).parent / 'raw_agent.py'}"
PROGRAM = f'#!/bin/sh\necho "$0 $*" >> "$HOME/started"\nexec {RAW} --load\n'


@pytest.fixture
def path(shell: Shell) -> Path:
    """A directory that alone is searched for programs."""
    place = shell.home / "bin"
    place.mkdir()
    shell.env["PATH"] = str(place)
    for program in ("git", "sh"):
        (place / program).symlink_to(shutil.which(program) or "/bin/false")
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
    install(path, "claude-agent-acp")
    assert shell("run", "-a", "claude", "hello").returncode == 0
    assert started(shell)[-1].split() == ["claude-agent-acp"]


def test_a_known_agent_is_not_installed_without_a_terminal_or_yes(shell: Shell, path: Path) -> None:
    ran = shell("run", "-a", "claude", "hello")
    assert ran.returncode == 3 and started(shell) == []
    assert "there is no claude-agent-acp on the PATH" in ran.stderr
    assert "`acpella registry install claude` installs it" in ran.stderr and "--yes" in ran.stderr


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
    assert "acpella registry install gemini\n" in shown
    known = {one["name"]: one for one in json.loads(shell("agents", "list", "--json").stdout)["known"]}
    assert known["opencode"]["command"] == [os.path.join(path, "opencode"), "acp"]
    assert known["gemini"]["command"] is None


@pytest.mark.parametrize(
    "word, meant", [("clade", "claude"), ("gemeni", "gemini"), ("open-code", "opencode"), ("myne", "mine")]
)
def test_a_slip_of_a_known_name_says_which_was_meant(shell: Shell, path: Path, word: str, meant: str) -> None:
    install(path, "program")
    shell("agents", "add", "mine", "program")
    ran = shell("run", "-a", word, "hello")
    assert ran.returncode == 3 and started(shell) == []
    assert f"there is no agent {word!r}; did you mean {meant!r}?" in ran.stderr


# -- in Python ---------------------------------------------------------------------------------------


def python(shell: Shell, name: str) -> "subprocess.CompletedProcess[str]":
    code = f"import acpella; print(acpella.ask({name!r}, 'hello').text)"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=shell.env,
        cwd=shell.repo,
        capture_output=True,
        text=True,
        timeout=40,
    )


def test_connect_knows_the_same_names(shell: Shell, path: Path) -> None:
    install(path, "gemini")
    ran = python(shell, "gemini")
    assert ran.returncode == 0, ran.stderr
    assert started(shell) == ["gemini --acp"] and ran.stdout.startswith("ok")


def test_connect_downloads_nothing_and_says_how_to_start_it(shell: Shell, path: Path) -> None:
    ran = python(shell, "codex")
    assert ran.returncode == 1 and started(shell) == []
    assert "Codex is not installed: there is no codex-acp on the PATH" in ran.stderr
    assert "`acpella registry install codex` installs it" in ran.stderr


def test_connect_says_which_name_was_meant(shell: Shell, path: Path) -> None:
    assert "there is no agent 'clade'; did you mean 'claude'?" in python(shell, "clade").stderr


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


def test_a_name_like_no_other_leads_to_the_registry() -> None:
    settings = ClientSettings(agents={"mine": AgentServer(command="my-agent")})
    hint = hint_for("zzzzzz", settings)
    assert "mine" in hint and "`acpella registry list` shows those that can be installed" in hint
    assert hint_for("zzzzzz", ClientSettings()) == ""

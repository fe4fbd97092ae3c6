"""Agents that fail while they start: which code, and what is said."""

from pathlib import Path

import pytest
from cli_shell import Shell


@pytest.fixture
def broken(tmp_path: Path) -> str:
    program = tmp_path / "broken.py"
    program.write_text("import no_such_module_anywhere\n", encoding="utf-8")
    return str(program)


@pytest.mark.parametrize("words", [[], ["-s", "work"]])
def test_an_agent_that_fails_at_an_import_did_not_start(shell: Shell, broken: str, words: list[str]) -> None:
    ran = shell("run", "-a", broken, *words, "hi")
    assert ran.returncode == 3
    assert "exited with code 1 before it answered\n" in ran.stderr  # and no guess about ACP
    assert ran.stderr.count("ModuleNotFoundError") == 1
    assert "acpella run --verbose" in ran.stderr


def test_verbose_shows_stderr_once_and_does_not_advise_itself(shell: Shell, broken: str) -> None:
    ran = shell("run", "-v", "-a", broken, "hi")
    assert ran.returncode == 3
    assert ran.stderr.count("ModuleNotFoundError") == 1
    assert "--verbose" not in ran.stderr and "acpella agents doctor" in ran.stderr


def test_verbose_shows_the_last_words_of_an_agent_that_dies_once(shell: Shell) -> None:
    shell("run", "-a", shell.scripted, "-s", "work", "hello")
    for words in (["-a", shell.forgetful], ["-s", "work"]):
        ran = shell("run", "-v", *words, "die")
        assert ran.returncode == 4
        assert ran.stderr.count("something broke inside") == 1, ran.stderr


def test_the_doctor_names_the_python_that_lacks_a_module(shell: Shell, broken: str) -> None:
    ran = shell("agents", "doctor", broken)
    assert ran.returncode == 3
    *_, advice, rest = ran.stdout.splitlines()
    assert "lacks this module" in advice and "Python of the environment that has it" in rest
    assert "ACP agent" not in ran.stdout


def test_the_doctor_leaves_the_last_word_to_the_agent(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("raise SystemExit('wrong.py needs --port')\n", encoding="utf-8")
    ran = shell("agents", "doctor", str(program))
    assert ran.returncode == 3 and "wrong.py needs --port" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "  It failed while it started. Its own words above say why."

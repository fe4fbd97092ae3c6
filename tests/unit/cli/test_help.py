"""`--help` of every command, its examples, and what shells complete."""

import argparse
import importlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from acpella.cli import COMMANDS, GROUPS, command_parser, main, main_parser
from acpella.cli.commands.completion import SHELLS, known_words
from acpella.cli.examples import EXAMPLES, subcommands


def parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    return [parser, *(p for child in subcommands(parser).values() for p in parsers(child))]


ALL = [parser for name in COMMANDS for parser in parsers(command_parser(name))]


def test_the_help_groups_every_command() -> None:
    text = main_parser().format_help()
    for group, commands in GROUPS.items():
        assert f"\n{group}:\n" in text
        for name, sentence in commands.items():
            assert f"  {name:<13}{sentence}" in text


@pytest.mark.parametrize("parser", ALL, ids=lambda p: p.prog)
def test_the_help_of_every_command_has_examples(parser: argparse.ArgumentParser) -> None:
    assert "examples:" in parser.format_help()


def _undocumented(parser: argparse.ArgumentParser) -> list[str]:
    actions = parser._actions
    return [
        action.dest for action in actions if not (action.help or "").strip() and subcommands(parser) == {}
    ]


@pytest.mark.parametrize("parser", ALL, ids=lambda p: p.prog)
def test_every_argument_has_a_sentence_in_the_help(parser: argparse.ArgumentParser) -> None:
    assert _undocumented(parser) == []


def test_the_help_of_run_groups_its_options() -> None:
    text = command_parser("run").format_help()
    headings = re.findall(r"^([a-z][a-z ]+):$", text, re.MULTILINE)
    assert headings[:8] == [
        *("options", "prompt", "agent", "session", "what the agent may do", "output", "limits", "examples")
    ]
    assert text.partition("\noptions:\n")[2].partition("\n\n")[0].strip().startswith("-h, --help")


def test_examples_belong_to_a_command() -> None:
    assert set(EXAMPLES) <= {parser.prog for parser in ALL}


@pytest.mark.parametrize("example", [e for group in EXAMPLES.values() for e in group])
def test_every_example_is_a_command_line_that_is_understood(example: str) -> None:
    words = shlex.split(example.partition("| ")[2] or example)
    words = words[: words.index(">")] if ">" in words else words
    assert words[0] == "acpella"
    parser = command_parser(words[1])
    parse = getattr(importlib.import_module(f"acpella.cli.commands.{words[1]}"), "parse", None)
    parser.parse_args(words[2:]) if parse is None else parse(parser, words[2:])


def test_a_mistyped_command_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rnu"])
    assert ended.value.code == 2
    assert "'rnu' is not a command; did you mean 'run'?" in capsys.readouterr().err


def completed(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    script = tmp_path / "acpella.bash"
    script.write_text(SHELLS["bash"](known_words()), encoding="utf-8")
    typed = " ".join(shlex.quote(word) for word in words)
    program = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
        '_acpella; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    shown = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, timeout=30)
    return shown.stdout.split()


@pytest.mark.parametrize(
    "words, offered",
    [
        (["acpella", "com"], ["completion"]),
        (["acpella", "run", "--mo"], ["--mode", "--model"]),
        (["acpella", "agents", "do"], ["doctor"]),
        (["acpella", "agents", "add", "--he"], ["--help", "--here"]),
        (["acpella", "completion", ""], ["--help", "bash", "fish", "zsh"]),
    ],
)
def test_bash_completes_commands_and_options(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    assert sorted(completed(tmp_path, *words)) == sorted(offered)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_a_script_knows_every_command_and_is_read_by_its_shell(tmp_path: Path, shell: str) -> None:
    script = tmp_path / f"acpella.{shell}"
    script.write_text(SHELLS[shell](known_words()), encoding="utf-8")
    text = script.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if name not in text] == []
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(script)], check=True, timeout=30)

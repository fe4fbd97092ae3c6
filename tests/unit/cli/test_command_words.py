"""Words behind `--` belong to another program."""

import pytest

from acpella.cli.command_words import split_command


@pytest.mark.parametrize(
    "words, options, command",
    [
        ([], [], []),
        (["--json"], ["--json"], []),
        (["--"], [], []),
        (["--json", "--", "agent", "--json", "--", "x"], ["--json"], ["agent", "--json", "--", "x"]),
    ],
)
def test_the_first_two_dashes_cut(words: list[str], options: list[str], command: list[str]) -> None:
    assert split_command(words) == (options, command)

"""Commands as lines of text, in the way of each system."""

import shlex

import pytest

from acpella._processes import has_directory, join_command, split_command


@pytest.mark.parametrize(
    "line, words",
    [
        (r"C:\Users\me\agent.exe --flag", [r"C:\Users\me\agent.exe", "--flag"]),
        (r'"C:\Program Files\a.exe" "two words" it\'s', [r"C:\Program Files\a.exe", "two words", r"it\'s"]),
        ("agent.exe #1 ''", ["agent.exe", "#1", "''"]),
        ('agent ""', ["agent", ""]),
        ("", []),
    ],
)
def test_on_windows_backslashes_are_part_of_paths(line: str, words: list[str]) -> None:
    assert split_command(line, platform="win32") == words


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_elsewhere_lines_are_read_as_a_shell_does(platform: str) -> None:
    line = r"""agent 'a b' "c d" e\ f #g"""
    assert split_command(line, platform=platform) == shlex.split(line)
    assert join_command(["agent", "a b"], platform=platform) == "agent 'a b'"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_line_means_the_words_that_it_was_made_of(platform: str) -> None:
    words = ["agent", "a b", "-x", "c:\\d"]
    assert split_command(join_command(words, platform=platform), platform=platform) == words


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_an_open_quotation_is_an_error(platform: str) -> None:
    with pytest.raises(ValueError, match="quotation"):
        split_command('agent "a', platform=platform)


def test_what_names_a_place() -> None:
    assert has_directory("./agent", platform="linux") and not has_directory(r"a\b", platform="linux")
    assert has_directory(r"a\b", platform="win32") and has_directory("a/b", platform="win32")
    assert not has_directory("npx", platform="win32")

"""What is chosen on Windows, with values: these run anywhere."""

import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from acpella._processes.windows import ProcessTree, command_line

NPX = r"C:\Program Files\nodejs\npx.CMD"


def find(program: str) -> str | None:
    return {"npx": NPX, "git": r"C:\git\git.exe"}.get(program)


def test_a_program_is_executed_by_its_whole_path() -> None:
    assert command_line(["git", "log", "a b"], find) == [r"C:\git\git.exe", "log", "a b"]
    assert command_line(["missing", "x"], find) == ["missing", "x"]  # the system says what is wrong


def test_a_batch_file_is_given_to_its_shell_with_every_word_quoted() -> None:
    line = command_line(["npx", "-y", "some agent", "a&b", "C:\\dir\\", ""], find)
    assert line == f'cmd.exe /d /s /c ""{NPX}" "-y" "some agent" "a&b" "C:\\dir\\\\" """'


@pytest.mark.parametrize("word", ["100%PATH%", 'say "hi"', "bang!", "two\nlines", "\r", "\0"])
def test_what_a_batch_file_would_interpret_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is a batch file, which cannot be given .* safely"):
        command_line(["npx", word], find)


@pytest.fixture
def sleeper() -> Generator["subprocess.Popen[bytes]", None, None]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        yield process
        process.kill()


class Taskkill:
    """Stands for the program of that name, which is on Windows only."""

    def __init__(self, process: "subprocess.Popen[bytes]", outcome: int | Exception) -> None:
        self.process = process
        self.outcome = outcome
        self.words: list[str] = []

    def __call__(self, words: list[str], **options: Any) -> "subprocess.CompletedProcess[bytes]":
        self.words = words
        assert options["timeout"] > 0
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.outcome == 0:
            self.process.kill()
            self.process.wait()
        return subprocess.CompletedProcess(words, self.outcome)


@pytest.mark.parametrize("way", ["kill", "terminate"])
def test_a_tree_ends_with_taskkill(sleeper: "subprocess.Popen[bytes]", way: str) -> None:
    taskkill = Taskkill(sleeper, 0)
    tree = ProcessTree(sleeper, taskkill)
    assert tree.runs()
    assert getattr(tree, way)()
    assert taskkill.words == ["taskkill", "/T", "/F", "/PID", str(sleeper.pid)]
    assert not tree.runs() and not tree.kill()


@pytest.mark.parametrize(
    "outcome", [1, FileNotFoundError("taskkill"), subprocess.TimeoutExpired("taskkill", 5)]
)
def test_without_taskkill_the_process_itself_ends(
    sleeper: "subprocess.Popen[bytes]", outcome: int | Exception
) -> None:
    assert ProcessTree(sleeper, Taskkill(sleeper, outcome)).kill()
    assert sleeper.wait() != 0

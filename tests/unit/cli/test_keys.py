"""What the terminal does while a line is read."""

import os
import pty
import sys
import termios
from collections.abc import Iterator

import pytest

from acpella.cli.terminal.keys import read_line

pytestmark = pytest.mark.anyio

LOCAL_FLAGS = 3
"""Where `termios.tcgetattr` has the flag for echo."""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Both ends of a terminal: where a person types, and what a program reads as its input."""
    typed, read = pty.openpty()
    with os.fdopen(read, "r", encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield typed, read
    os.close(typed)


def echoes(fd: int) -> bool:
    return bool(termios.tcgetattr(fd)[LOCAL_FLAGS] & termios.ECHO)


@pytest.mark.parametrize("secret", [True, False])
async def test_whoever_sees_the_question_can_type_a_secret_at_once(
    terminal: tuple[int, int], secret: bool
) -> None:
    typed, read = terminal
    echoed: list[bool] = []

    def show_question() -> None:
        echoed.append(echoes(read))
        os.write(typed, b"s3cret\n")

    assert echoes(read)
    assert await read_line(show_question, secret=secret) == "s3cret"
    assert echoed == [not secret]
    assert echoes(read)  # as it was before

"""A command as one line of text, in the way of the system's own shell."""

import shlex
import subprocess
import sys
from collections.abc import Iterable

__all__ = ["has_directory", "join_command", "split_command"]


def split_command(line: str, *, platform: str = sys.platform) -> list[str]:
    r"""The words of a line. On Windows a backslash is part of a path and double quotes keep blanks together.

    Raises:
        ValueError: a quotation is not closed.
    """
    if platform != "win32":
        return shlex.split(line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.escape = ""
    lexer.quotes = '"'
    lexer.commenters = ""
    return list(lexer)


def join_command(words: Iterable[str], *, platform: str = sys.platform) -> str:
    """One line that means these words."""
    if platform != "win32":
        return shlex.join(words)
    return subprocess.list2cmdline(list(words))


def has_directory(word: str, *, platform: str = sys.platform) -> bool:
    """Whether a word names a place, and not a program on the PATH."""
    return "/" in word or (platform == "win32" and "\\" in word)

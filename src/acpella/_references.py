"""How a Python object is named on a command line: `my.py:agent`, `package.module:agent`."""

import os

__all__ = ["absolute_reference", "is_reference"]


def is_reference(word: str) -> bool:
    """Whether a word names an object of a Python file or module."""
    where, colon, name = word.rpartition(":")
    if not colon or not name.isidentifier():
        return False
    return where.endswith(".py") or all(part.isidentifier() for part in where.split("."))


def absolute_reference(word: str) -> str:
    """The same, whatever the working directory is: with the whole path of a file."""
    where, _, name = word.rpartition(":")
    return f"{os.path.abspath(where)}:{name}" if where.endswith(".py") else word

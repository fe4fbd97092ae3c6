"""Errors of files, in a sentence that says what to name."""

import os

from .terminal.output import say

__all__ = ["RECORDING", "explain", "is_unfinished"]

RECORDING = "name a recording; `acpella record -- AGENT` and `acpella run --record FILE` write them"
"""What to do about a recording that is not there."""


def explain(error: BaseException, *, missing: str = "check the name") -> str:
    """What went wrong; `missing` says what to do about a file that is not there."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    name = os.fsdecode(error.filename)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {name}; {missing}"
    if isinstance(error, IsADirectoryError):
        return f"{name} is a directory, not a file"
    return f"{name} cannot be used: {(error.strerror or 'unknown error').lower()}"


def is_unfinished(path: str | os.PathLike[str]) -> bool:
    """Whether a recorder is still writing a file that is about to be read. If so, it is said."""
    from acpella.recording.reader import is_written

    unfinished = os.path.isfile(path) and is_written(path)  # what a pipe holds can be read only once
    if unfinished:
        say(f"{os.fspath(path)} is still being written; do this again when more of it is there")
    return unfinished

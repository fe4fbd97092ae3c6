"""This machine, fenced in: files beneath given roots, and commands in process groups of their own."""

from .files import (
    READ_LIMIT,
    SECRET_PATHS,
    Entry,
    Jail,
    JailError,
    NotAFile,
    NotText,
    OutsideRoots,
    SecretPath,
    TooLarge,
)
from .terminals import COMMAND_TIMEOUT, OUTPUT_LIMIT, CommandError, ExitStatus, Result, Terminal, run

__all__ = [
    "COMMAND_TIMEOUT",
    "CommandError",
    "Entry",
    "ExitStatus",
    "Jail",
    "JailError",
    "NotAFile",
    "NotText",
    "OUTPUT_LIMIT",
    "OutsideRoots",
    "READ_LIMIT",
    "Result",
    "SECRET_PATHS",
    "SecretPath",
    "Terminal",
    "TooLarge",
    "run",
]

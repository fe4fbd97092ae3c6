"""Safe access to this machine: files below given roots, and commands in process groups of their own."""

from .content import READ_LIMIT
from .files import Entry, Jail
from .names import ACTING_NAMES, SECRET_PATHS, acting_name
from .refusals import Forbidden, JailError, NotAFile, NotText, OutsideRoots, SecretPath, TooLarge
from .terminals import (
    COMMAND_TIMEOUT,
    OUTPUT_LIMIT,
    CommandError,
    CommandResult,
    ExitStatus,
    LocalTerminal,
    run_command,
)

__all__ = [
    "ACTING_NAMES",
    "COMMAND_TIMEOUT",
    "OUTPUT_LIMIT",
    "READ_LIMIT",
    "SECRET_PATHS",
    "CommandError",
    "CommandResult",
    "Entry",
    "ExitStatus",
    "Forbidden",
    "Jail",
    "JailError",
    "LocalTerminal",
    "NotAFile",
    "NotText",
    "OutsideRoots",
    "SecretPath",
    "TooLarge",
    "acting_name",
    "run_command",
]

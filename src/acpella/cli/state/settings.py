"""The settings of a command: those of the project before those of the user, or the file that was named."""

import os

from acpella.client.settings import ClientSettings

from ..terminal.output import say

__all__ = ["find"]


def find(path: str | os.PathLike[str] | None, cwd: str | os.PathLike[str] = ".") -> ClientSettings:
    """As `connect` finds them; a project's file that the user has not agreed to is named and left out.

    Raises:
        SettingsError: a file is missing although it was named, or is malformed.
    """
    return ClientSettings.find(path, cwd=cwd, on_untrusted=lambda error: say(str(error)))

"""Why a path is refused."""

from acpella.errors import AcpellaError

__all__ = ["Forbidden", "JailError", "NotAFile", "NotText", "OutsideRoots", "SecretPath", "TooLarge"]


class JailError(AcpellaError):
    """A path was refused. The message names it and says what to do."""


class OutsideRoots(JailError):
    """The path, or a symbolic link on it, leads out of the roots."""


class SecretPath(JailError):
    """The path is inside the roots, but usually holds keys or passwords."""


class Forbidden(JailError):
    """The owner of the jail refuses the path."""


class NotAFile(JailError):
    """The path is a directory, a device, a pipe or a socket, or it cannot be the name of a file."""


class NotText(JailError):
    """The content is not UTF-8 text."""


class TooLarge(JailError):
    """The file is larger than the limit."""

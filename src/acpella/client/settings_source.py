"""A settings file as the bytes it is, and the errors that name it."""

from pathlib import Path

from acpella.errors import AcpellaError

__all__ = ["SettingsError", "UntrustedSettings", "read_settings"]


class SettingsError(AcpellaError):
    """The settings file cannot be used; says where it is wrong."""


class UntrustedSettings(SettingsError):
    """The settings file belongs to a project, and the user has not agreed to it as it is now."""


def read_settings(path: Path) -> bytes:
    """The bytes of a settings file. Raises `SettingsError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None

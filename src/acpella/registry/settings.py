"""What the user's settings say about the registry; those of a project are never read."""

from typing import Any, cast

import msgspec

from acpella.client.jsonc import parse
from acpella.client.settings import SettingsError, read_settings, user_settings

__all__ = ["RegistrySettings", "registry_settings"]


class RegistrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The object `registry` of the settings file."""

    url: str = ""
    """The index: a URL or a file."""
    prefer: str = ""
    """`binary`, `npx` or `uvx`, for agents that have several distributions."""
    pins: dict[str, str] = {}
    """Pinned versions, by agent id."""


def registry_settings() -> RegistrySettings:
    """The user's own settings. Raises `SettingsError`."""
    path = user_settings()
    if not path.is_file():
        return RegistrySettings()
    try:
        top: Any = parse(read_settings(path).decode("utf-8-sig"))
        table: Any = cast("dict[str, Any]", top).get("registry", {}) if isinstance(top, dict) else {}
        return msgspec.convert(table, RegistrySettings)
    except (ValueError, msgspec.ValidationError) as error:
        raise SettingsError(f"{path}: registry: {error}") from None

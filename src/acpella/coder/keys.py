"""API keys that the user has stored with `acpella agent --login`; those of the environment come first."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from acpella import _directories as directories

__all__ = ["environment_with_keys", "forget_keys", "keys_file", "store_key"]


def keys_file() -> Path:
    """Where they are; a file for the user alone."""
    return directories.config() / "keys.json"


def environment_with_keys() -> Mapping[str, str]:
    """The environment, and the stored keys that it does not have.

    They are never put into the environment itself: commands that the agent runs would see them.
    """
    stored = _stored()
    return {**stored, **{name: value for name, value in os.environ.items() if value or name not in stored}}


def store_key(variable: str, key: str) -> None:
    """Remember a key under the variable that would hold it. Raises `OSError`."""
    directories.private(keys_file().parent)
    directories.write_private(keys_file(), msgspec.json.encode({**_stored(), variable: key}))


def forget_keys() -> None:
    """Delete all of them. Raises `OSError`."""
    keys_file().unlink(missing_ok=True)


def _stored() -> dict[str, str]:
    try:
        return msgspec.json.decode(keys_file().read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}

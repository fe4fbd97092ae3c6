"""The limits of an agent: defaults, changed by the author, changed by the environment of whoever runs it."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella import _directories as directories

if TYPE_CHECKING:
    from acpella._variables import Variable

__all__ = ["Settings", "variables"]

_AT_LEAST_ONE = ("max_sessions", "page_size")

_SWITCH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much an agent takes on. Each has an environment variable: `ACPELLA_` and its name in capitals."""

    max_sessions: int = 256
    """The most sessions in memory; with a store, the one unused for longest is unloaded to make room."""

    max_stored_sessions: int = 0
    """The most sessions of one user in the store, including those never used; 0 means no limit."""

    session_idle_timeout: float = 1800.0
    """How long a session may stay unused before it is unloaded to the store; 0 means for ever."""

    terminal_timeout: float = 120.0
    """How long a command may run; 0 means no limit."""

    editor_timeout: float = 60.0
    """How long the editor may take to answer a request that needs no person; 0 means no limit."""

    max_image_bytes: int = 20 * 1024 * 1024
    """The largest image or sound in a prompt, in bytes; larger ones are left out with a warning."""

    page_size: int = 50
    """How many sessions one answer to `session/list` lists."""

    permission_file: str = ""
    """The file that remembers "always" answers; by default it is in the user's configuration directory."""

    unstable: bool = True
    """Offer features that only ACP's unstable schema has; with 0 the agent sends nothing of them."""

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")

    def remembered_in(self) -> Path:
        if self.permission_file:
            return Path(self.permission_file).expanduser()
        return directories.config() / "permissions.toml"

    @classmethod
    def from_environment(cls, **chosen: Any) -> "Settings":
        """The author's choices, overridden by `ACPELLA_…` variables.

        Raises:
            ValueError: a variable is not what its setting needs.
        """
        field_names = [field.name for field in fields(cls)]
        for name in chosen:
            if name not in field_names:
                raise ValueError(f"no setting {name!r}; there are: {', '.join(field_names)}")
        for field in fields(cls):
            variable = f"ACPELLA_{field.name.upper()}"
            text = os.environ.get(variable)
            if text is None or text == "":
                continue
            chosen[field.name] = _parsed(variable, text, field.default, int(field.name in _AT_LEAST_ONE))
        return cls(**chosen)


def variables() -> "list[Variable]":
    """See `acpella._variables`."""
    from acpella._variables import Variable, of_settings

    return [
        *of_settings(Settings, "ACPELLA_"),
        Variable("ACPELLA_STORE", "path or URL", "", "The file or database that sessions are kept in"),
        Variable("ACPELLA_LOG", "path", "", "The file that an agent logs to; `off` for none"),
        Variable("ACPELLA_LOG_LEVEL", "text", "INFO", "DEBUG, INFO, WARNING or ERROR"),
    ]


def _parsed(variable: str, text: str, default: object, least: int) -> bool | int | float | str:
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in _SWITCH:
            raise ValueError(f"{variable}={text!r} is neither 1 nor 0")
        return _SWITCH[text.lower()]
    try:
        value = int(text) if isinstance(default, int) else float(text)
        if not least <= value < float("inf"):
            raise ValueError
    except ValueError:
        expected = f"a whole number from {least} on" if isinstance(default, int) else "a number of seconds"
        raise ValueError(f"{variable}={text!r} is not {expected}") from None
    return value

"""What the client of a page declares to its agent, and which of that a person has switched off."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from acpella.rpc.message import UNREADABLE

from .json_values import as_object

__all__ = ["SWITCHES", "names_of", "switch_of", "switches_of", "without"]

SWITCHES: dict[str, str] = {
    "fs.readTextFile": "Read files",
    "fs.writeTextFile": "Write files",
    "terminal": "Run commands",
    "elicitation.form": "Ask with forms",
    "elicitation.url": "Ask to open a page",
    "session.configOptions.boolean": "Options that are on or off",
    "session.notices": "Notices",
    "_meta.terminal_output": "Output of the agent's own commands",
    "_meta.prompt_usage": "Usage of each turn",
}
"""Capabilities by their place in `clientCapabilities`, each with what it lets the agent do."""

_METHODS = {"fs/read_text_file": "fs.readTextFile", "fs/write_text_file": "fs.writeTextFile"}


def names_of(typed: Iterable[str]) -> frozenset[str]:
    """Names that were typed. Raises `ValueError`: one of them is no capability."""
    names = frozenset(typed)
    if wrong := sorted(names - SWITCHES.keys()):
        raise ValueError(f"{wrong[0]} is not one of {', '.join(SWITCHES)}")
    return names


def without(capabilities: dict[str, Any], off: frozenset[str]) -> dict[str, Any]:
    """The capabilities without those in `off`: a flag becomes false, an object is removed."""
    left: dict[str, Any] = {}
    for name, value in capabilities.items():
        left[name] = _left(value, name, off)
    return {name: value for name, value in left.items() if value is not None}


def _left(value: Any, path: str, off: frozenset[str]) -> Any:
    if path in off:
        return False if isinstance(value, bool) else None
    fields = as_object(value)
    if not fields:
        return value
    members = {name: _left(inner, f"{path}.{name}", off) for name, inner in fields.items()}
    return {name: inner for name, inner in members.items() if inner is not None} or None


def switches_of(capabilities: dict[str, Any], off: frozenset[str]) -> list[dict[str, Any]]:
    """What a person can switch at a client with these capabilities."""
    return [
        {"name": name, "words": words, "on": name not in off}
        for name, words in SWITCHES.items()
        if _has(capabilities, name)
    ]


def _has(capabilities: dict[str, Any], name: str) -> bool:
    value: Any = capabilities
    for part in name.split("."):
        if part not in as_object(value):
            return False
        value = as_object(value)[part]
    return value is not False


class _Elicitation(msgspec.Struct):
    mode: str = "form"


def switch_of(method: str, params: Raw | None) -> str | None:
    """The capability without which an agent must not ask for something; None if it needs none."""
    if method.startswith("terminal/"):
        return "terminal"
    if method != "elicitation/create":
        return _METHODS.get(method)
    try:
        mode = msgspec.json.decode(params or b"{}", type=_Elicitation).mode
    except UNREADABLE:
        mode = "form"
    return "elicitation.url" if mode == "url" else "elicitation.form"

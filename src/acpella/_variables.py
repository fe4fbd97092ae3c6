"""What can be set in the environment: one line per variable, declared by the module that reads it.

Modules that read variables have a function `variables()`; `acpella.cli.environment` collects them.
"""

import ast
import inspect
from dataclasses import fields
from typing import Any, NamedTuple

__all__ = ["Variable", "of_settings"]


class Variable(NamedTuple):
    """A variable, for a table that people read."""

    name: str
    kind: str
    """What it holds: text, number, bytes, seconds, path, 1 or 0, list."""
    default: str
    """Empty if there is none."""
    about: str
    """One sentence."""


def of_settings(settings: type[Any], prefix: str) -> list[Variable]:
    """The variables of a settings class: its fields, and the sentences below them in its source."""
    sentences = _sentences(settings)
    return [
        Variable(
            name=prefix + field.name.upper(),
            kind=_kind(field.name, field.default),
            default=_written(field.default),
            about=sentences.get(field.name, ""),
        )
        for field in fields(settings)
    ]


_BYTES = ("max_body", "max_message", "max_header", "command_core", "command_memory", "command_address_space")
"""Settings whose names do not say that they count bytes."""

_PATHS = ("_file", "_directory", "session_owners", "record")
"""Endings of the names of settings that are files or directories."""


def _sentences(settings: type[Any]) -> dict[str, str]:
    """The first sentence of the text that follows each field."""
    tree = ast.parse(inspect.cleandoc(inspect.getsource(settings)))
    assert isinstance(tree.body[0], ast.ClassDef)
    body = tree.body[0].body
    sentences: dict[str, str] = {}
    for field, text in zip(body, body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            words = " ".join(text.value.value.split())
            sentences[field.target.id] = words.split(". ")[0].rstrip(".")
    return sentences


def _kind(name: str, default: object) -> str:
    if isinstance(default, bool):
        return "1 or 0"
    if isinstance(default, tuple):
        return "list"
    if isinstance(default, int | float):
        return (
            "seconds"
            if name.endswith(("_seconds", "_timeout"))
            else "bytes"
            if _counts_bytes(name)
            else "number"
        )
    return "path" if name.endswith(_PATHS) else "text"


def _counts_bytes(name: str) -> bool:
    return name.endswith("_bytes") or name in _BYTES


def _written(default: object) -> str:
    if isinstance(default, bool):
        return str(int(default))
    if isinstance(default, tuple):
        return ",".join(map(str, default))  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - of any settings
    if isinstance(default, int | float):
        return f"{default:g}" if isinstance(default, float) else str(default)
    return default if isinstance(default, str) else ""

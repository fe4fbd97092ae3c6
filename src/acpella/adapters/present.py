"""What a tool call looks like to the user: kind, title, places and change, from its name and arguments."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from acpella.schema import ToolKind

from .jsonable import as_text

__all__ = ["Change", "Presentation", "Presented", "command_argument", "present"]

TITLE_LIMIT = 120
"""The most characters of a title. A command is shown whole, because the user decides whether it may run."""

VALUE_LIMIT = 40

_PATHS = (
    "path",
    "file_path",
    "filename",
    "filepath",
    "file",
    "target_file",
    "absolute_path",
    "notebook_path",
)
_COMMANDS = ("command", "cmd", "script")
_LINES = ("line", "start_line", "offset")
_OLD = ("old_string", "old_str", "old_text", "old")
_NEW = ("new_string", "new_str", "new_text", "new")
_WHOLE = ("content", "contents", "text", "file_text")

_WORDS: Mapping[ToolKind, str] = {
    "search": "search grep find glob query lookup",
    "fetch": "fetch download browse http url crawl web",
    "execute": "run execute exec shell bash command terminal",
    "delete": "delete remove rm unlink",
    "move": "move rename mv",
    "edit": "write edit replace create update patch save insert append modify",
    "read": "read view cat open load get list ls show",
    "think": "think reason",
}
_KINDS: Mapping[str, ToolKind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}

_OF_FILES = ("edit", "delete", "move")
"""Kinds that are only for calls that name a file: `update_ticket` edits nothing that an editor shows."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file. `old` is None for a text that replaces the whole file."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Presented:
    """A tool call in the words of the protocol."""

    title: str
    kind: ToolKind = "other"
    locations: list[str | tuple[str, int]] = field(default_factory=list[str | tuple[str, int]])
    change: Change | None = None


Presentation: TypeAlias = Mapping[str, Any] | Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""How the author wants one tool shown: `kind`, `title` (with `{argument}` in it), `location` (the name of an
argument); or a function from the arguments to these."""


def present(
    name: str, arguments: Mapping[str, Any], overrides: Mapping[str, Presentation] | None = None
) -> Presented:
    """How to show a call of this tool."""
    guessed = _guessed(name, arguments)
    override = (overrides or {}).get(name)
    return guessed if override is None else _overridden(guessed, override, arguments)


def command_argument(arguments: Mapping[str, Any]) -> str | None:
    """The command that a call would run."""
    for key in _COMMANDS:
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value:
            return shlex.join(map(str, cast("list[Any]", value)))
    return None


def _guessed(name: str, arguments: Mapping[str, Any]) -> Presented:
    words = _words(name)
    path = _path(arguments)
    command = command_argument(arguments)
    kind = _kind(words)
    if command is not None and path is None:
        return Presented(command, "execute")
    if path is None:
        return Presented(_call_title(name, arguments), "other" if kind in _OF_FILES else kind)
    change = _change(path, arguments, kind)
    if change is not None:
        kind = "edit"
    line = next((arguments[key] for key in _LINES if _is_line(arguments.get(key))), None)
    title = f"{words[0].capitalize()} {path}" if words and words[0] in _KINDS else f"{name} {path}"
    return Presented(_short(title), kind, [path if line is None else (path, line)], change)


def _kind(words: list[str]) -> ToolKind:
    for word in words:
        if word in _KINDS:
            return _KINDS[word]
    return "other"


def _overridden(guessed: Presented, override: Presentation, arguments: Mapping[str, Any]) -> Presented:
    presentation = override(arguments) if callable(override) else override
    unknown = set(presentation) - {"title", "kind", "location"}
    if unknown:
        raise ValueError(f"present= knows title, kind and location, not {', '.join(sorted(unknown))}")
    title = guessed.title
    if "title" in presentation:
        try:
            title = str(presentation["title"]).format_map(
                _Blanks({k: as_text(v) for k, v in arguments.items()})
            )
        except (ValueError, IndexError, AttributeError, KeyError):
            title = str(presentation["title"])
    locations: list[str | tuple[str, int]] = guessed.locations
    place = arguments.get(presentation.get("location", ""))
    if isinstance(place, str) and place:
        locations = [place]
    return Presented(title, presentation.get("kind", guessed.kind), locations, guessed.change)


class _Blanks(dict[str, str]):
    """Leaves the placeholders of missing arguments in the title unchanged."""

    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


def _words(name: str) -> list[str]:
    """`readFile`, `read_file` and `read-file` are the words read and file."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def _path(arguments: Mapping[str, Any]) -> str | None:
    for key in _PATHS:
        value = arguments.get(key)
        if isinstance(value, str) and 0 < len(value) < 4096 and "\n" not in value and "://" not in value:
            return value
    return None


def _change(path: str, arguments: Mapping[str, Any], kind: str) -> Change | None:
    old = next((arguments[key] for key in _OLD if isinstance(arguments.get(key), str)), None)
    new = next((arguments[key] for key in _NEW if isinstance(arguments.get(key), str)), None)
    if old is not None and new is not None:
        return Change(path, old, new)
    whole = next((arguments[key] for key in _WHOLE if isinstance(arguments.get(key), str)), None)
    return Change(path, None, whole) if whole is not None and kind == "edit" else None


def _is_line(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _call_title(name: str, arguments: Mapping[str, Any]) -> str:
    values = (f"{key}={_short(as_text(value), VALUE_LIMIT)}" for key, value in arguments.items())
    return _short(f"{name}({', '.join(values)})")


def _short(text: str, limit: int = TITLE_LIMIT) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"

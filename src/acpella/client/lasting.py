"""What an answer for always is about, and how long it lasts."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from acpella.schema import Diff, PermissionOption, ToolCallUpdate

__all__ = ["Span", "command_in", "key_of", "span_of"]

Span: TypeAlias = Literal["once", "session", "always"]

LONGEST_KEY = 300
"""Characters of what is remembered; of longer ones the beginning and a fingerprint are kept."""

_DIRECTORIES = ("cwd", "workdir", "working_directory", "dir_path", "directory")
"""Where agents write in which directory a command runs."""

_FILES = ("path", "file_path", "filePath", "file_text")
_FILE_KINDS = ("read", "edit", "delete", "move")

_SESSION = re.compile(r"\b(session|conversation|chat)\b", re.IGNORECASE)


def command_in(call: ToolCallUpdate, cwd: str | Path = "") -> str:
    """The command that a call wants to run, with its arguments and variables, and where unless in `cwd`.

    Empty if its input names none. Tools that edit have a `command`, too, such as `create` of a `path`.
    """
    raw: Any = call.raw_input
    if not isinstance(raw, dict) or call.kind in _FILE_KINDS:
        return ""
    table = cast("dict[str, Any]", raw)
    command, env = table.get("command"), table.get("env")
    words = _words(command)
    if not words or any(isinstance(table.get(name), str) for name in _FILES):
        return ""
    shown = command if isinstance(command, str) else shlex.join(words)
    if more := _words(table.get("args")):
        shown = f"{shown} {shlex.join(more)}"
    if isinstance(env, Mapping) and env:
        pairs = cast("Mapping[str, Any]", env).items()
        shown = " ".join([*(f"{name}={shlex.quote(str(value))}" for name, value in pairs), shown])
    where = next((value for name in _DIRECTORIES if isinstance(value := table.get(name), str) and value), "")
    if not where or (cwd and os.path.normpath(os.path.join(cwd, where)) == os.path.normpath(cwd)):
        return shown
    return f"cd {shlex.quote(where)} && {shown}"


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(word) for word in cast("list[Any]", value)] if isinstance(value, list) else []


def key_of(call: ToolCallUpdate, roots: Sequence[str | Path] = ()) -> str:
    """What an answer for always is about: the very command, or the title with the files; in this project.

    Empty if the call tells neither: "always" for a call with the title `Bash` would be always for everything.
    """
    what = command_in(call, roots[0] if roots else "")
    if not what:
        paths = [place.path for place in call.locations or []]
        paths += [item.path for item in call.content or [] if isinstance(item, Diff)]
        title = call.title or call.name
        if not title or not paths or not all(map(os.path.isabs, paths)):
            return ""
        what = f"{call.kind or 'other'} {title}: {', '.join(sorted(set(map(os.path.normpath, paths))))}"
    what = _short(what)
    return f"{what} (in {roots[0]})" if roots else what


def span_of(option: PermissionOption, call: ToolCallUpdate) -> Span:
    """How long the answer is remembered here; the agent may remember it in its own way."""
    if not option.kind.endswith("_always") or not key_of(call):
        return "once"
    return "session" if _SESSION.search(option.name) else "always"


def _short(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # halves of characters cannot be written
    if len(text) <= LONGEST_KEY:
        return text
    import hashlib

    return f"{text[: LONGEST_KEY - 20]}... {hashlib.sha256(text.encode()).hexdigest()[:16]}"

"""What an answer for always is about, and how long it lasts."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec

from acpella.schema import Diff, PermissionOption, ToolCallUpdate

__all__ = ["Span", "command_in", "input_beside", "key_of", "span_of"]

Span: TypeAlias = Literal["once", "session", "always"]

LONGEST_KEY = 300
"""Most characters of what is remembered; anything longer is cut and gets a fingerprint."""

_DIRECTORIES = ("cwd", "workdir", "working_directory", "dir_path", "directory")
"""Fields in which agents name the directory of a command."""

_PROSE = frozenset(
    "description explanation justification reason timeout timeout_ms timeoutMs call_id turn_id process_id "
    "started_at_ms parsed_cmd proposed_execpolicy_amendment available_decisions".split()
)
"""Fields that change nothing of how a command runs: words for the user, numbers of calls, limits of time."""

_FILES = ("path", "file_path", "filePath", "file_text")
_FILE_KINDS = ("read", "edit", "delete", "move")

_TEXTS = frozenset(
    "content text file_text old_string new_string old_str new_str old_text new_text oldText newText "
    "replace_all edits insert_line instruction".split()
)
"""Fields that say how a file is edited: the diff shows that, and "always" is about the file."""

_SESSION = re.compile(r"\b(session|conversation|chat|thread|task|for now)\b", re.IGNORECASE)


def command_in(call: ToolCallUpdate, cwd: str | Path = "") -> str:
    """The command that a call wants to run, with arguments and variables, and with `cd` if not in `cwd`.

    Empty if the input names none. Tools that edit have a `command` too, such as `create`; it does not count.
    """
    raw: Any = call.raw_input
    if not isinstance(raw, dict) or call.kind in _FILE_KINDS:
        return ""
    table = cast("dict[str, Any]", raw)
    command, env = table.get("command"), table.get("env")
    words = _words(command)
    if not words or any(isinstance(table.get(name), str) for name in _FILES):
        return ""
    line = command if isinstance(command, str) else shlex.join(words)
    if more := _words(table.get("args")):
        line = f"{line} {shlex.join(more)}"
    if isinstance(env, Mapping) and env:
        pairs = cast("Mapping[str, Any]", env).items()
        line = " ".join([*(f"{name}={shlex.quote(str(value))}" for name, value in pairs), line])
    where = table[place] if (place := _directory(table)) else ""
    if not where or (cwd and os.path.normpath(os.path.join(cwd, where)) == os.path.normpath(cwd)):
        return line
    return f"cd {shlex.quote(where)} && {line}"


def input_beside(call: ToolCallUpdate, *, prose: bool = False) -> dict[str, Any]:
    """What goes into a call besides the command that `command_in` tells, such as its `stdin`.

    With `prose` also what changes nothing of how that command runs.
    """
    raw: Any = call.raw_input
    if not isinstance(raw, dict):
        return {} if raw is None or raw is msgspec.UNSET else {"input": raw}
    table = cast("dict[str, Any]", raw)
    if not command_in(call):
        return dict(table)  # in any other call, a description may be what it writes
    elsewhere = {"command"} if prose else {"command"} | _PROSE
    if place := _directory(table):
        elsewhere.add(place)
    if not (args := table.get("args")) or _words(args):
        elsewhere.add("args")
    if not (env := table.get("env")) or isinstance(env, Mapping):
        elsewhere.add("env")
    return {name: value for name, value in table.items() if name not in elsewhere}


def _directory(table: Mapping[str, Any]) -> str:
    """The field that says where a command runs."""
    return next((name for name in _DIRECTORIES if isinstance(table.get(name), str) and table[name]), "")


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(word) for word in cast("list[Any]", value)] if isinstance(value, list) else []


def key_of(call: ToolCallUpdate, roots: Sequence[str | Path] = ()) -> str:
    """What an "always" answer applies to, in this project: the exact command, or the title with the files.

    All other input belongs to it. Empty if the call names neither a command nor files nor an address:
    "always" for a call that is just titled `Bash` would allow everything.

    Each part is quoted: no text of an agent can look like a part of another kind.
    """
    kind = call.kind or "other"
    command = command_in(call, roots[0] if roots else "")
    beside = input_beside(call)
    parts: list[Any]
    if command:
        kind = call.kind or "execute"
        parts = [command]
    else:
        diffs = [item.path for item in call.content or [] if isinstance(item, Diff)]
        paths = [place.path for place in call.locations or []] + diffs
        title = call.title or call.name
        fetches = call.kind == "fetch" and isinstance(beside.get("url"), str)
        if not title or not (paths or fetches) or not all(map(os.path.isabs, paths)):
            return ""
        parts = [title, sorted(set(map(os.path.normpath, paths)))]
        beside = {name: value for name, value in beside.items() if name not in _FILES or value not in paths}
        if call.kind == "edit" and diffs:
            beside = {name: value for name, value in beside.items() if name not in _TEXTS}
    import json  # few questions come so far

    if beside:
        parts.append(beside)
    words = (json.dumps(part, ensure_ascii=False, sort_keys=True) for part in parts)
    what = _short(" ".join([kind if kind.isalpha() else json.dumps(kind), *words]))
    return f"{what} (in {roots[0]})" if roots else what


def span_of(option: PermissionOption, call: ToolCallUpdate) -> Span:
    """How long the answer is remembered here; the agent may remember it in its own way."""
    if option.kind not in ("allow_always", "reject_always") or not key_of(call):
        return "once"
    return "session" if _SESSION.search(option.name) else "always"


def _short(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # halves of characters cannot be written
    if len(text) <= LONGEST_KEY:
        return text
    import hashlib

    return f"{text[: LONGEST_KEY - 68]}... {hashlib.sha256(text.encode()).hexdigest()}"

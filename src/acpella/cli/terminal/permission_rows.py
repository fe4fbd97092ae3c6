"""What a permission question shows: all that the call tells of itself, and the options with their keys."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, cast

from acpella.client.permission_keys import command_in, input_beside, span_of
from acpella.schema import (
    Content,
    ContentBlock,
    Diff,
    EmbeddedResource,
    PermissionOption,
    RequestPermissionRequest,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolCallUpdate,
    Unknown,
)

from .command_output import unfenced
from .diffs import whole_diff_rows
from .permission_kinds import kind_note
from .reveal import CUT, MAX_ROWS, reveal, whole_rows
from .rows import Row, terminal_width
from .shown_paths import relative_path
from .update_rows import describe

__all__ = ["call_rows", "head_rows", "keys_for", "note_of", "option_rows", "untold"]

_LETTERS = {"allow_once": "a", "allow_always": "A", "reject_once": "r", "reject_always": "R"}

_PIECES = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old", "new"),
)
"""Fields in which tools that edit name a piece of a file, and what stands there afterwards."""


def head_rows(call: ToolCallUpdate, *, waiting: int) -> list[Row]:
    """What is asked; `waiting` questions come after it."""
    more = f"  ({waiting} more wait)" if waiting else ""
    head = [("? ", "yellow bold"), (f"{reveal(call.kind or 'other')} ", "dim")]
    return whole_rows(call.title or call.name or "go on", head, "bold", lines=False, note=more)


def call_rows(call: ToolCallUpdate, cwd: str) -> list[Row]:
    """All that the call tells of itself; nothing of it is cut or left out without saying so."""
    title = call.title or call.name or "go on"
    rows: list[Row] = []
    paths = list(dict.fromkeys(relative_path(place.path, cwd) for place in call.locations or []))
    words = title.split()
    for path in paths[:MAX_ROWS]:
        if words[-1:] != [path] or len(words) > 2:  # the title is more than a verb and this path
            rows += whole_rows(path, [("    ", "")], "dim", lines=False)
    if len(paths) > MAX_ROWS:
        rows.append([("    ", ""), (f"… not all of {len(paths)} paths are shown", CUT)])
    command = command_in(call, cwd)
    if command and command != title:
        rows += whole_rows(command, [("    ", "")])
    beneath: list[Row] = []
    for item in call.content or []:
        if isinstance(item, Diff):
            beneath += whole_diff_rows(item, terminal_width(), cwd=cwd, limit=MAX_ROWS)
        elif isinstance(item, Content) and (text := _text_of(item.content)):
            if command and unfenced(text).strip() == command.strip():
                continue  # the command again, for editors that do not show what goes into a call
            beneath += whole_rows(text.strip("\n"), [("    ", "")], "dim")
        elif isinstance(item, Unknown):  # of a newer version, or a mistake: it may be what matters
            beneath += whole_rows(_field("content", item.value), [("    ", "")], "dim")
    beside = input_beside(call)
    prose = [
        _field(name, value) for name, value in input_beside(call, prose=True).items() if name not in beside
    ]
    fields = [_field(name, value) for name, value in untold(call, beside, cwd).items()]
    for text in [*fields, *(["; ".join(prose)] if prose else [])]:
        rows += whole_rows(text, [("    ", "")], "dim")
    return rows + beneath


def option_rows(request: RequestPermissionRequest, keys: Mapping[str, int]) -> list[Row]:
    """The options, each with its number, its letter and what it does."""
    rows: list[Row] = []
    for index, option in enumerate(request.options):
        letter = next((key for key, at in keys.items() if at == index and key.isalpha()), " ")
        before = [(f"  {index + 1} {letter}  ", "cyan")]
        rows += whole_rows(option.name, before, lines=False, note=note_of(option, request.tool_call))
    return rows


def keys_for(options: Sequence[PermissionOption]) -> dict[str, int]:
    """Which key chooses which option: its number, and a letter if it is the only one of its kind."""
    kinds = [option.kind for option in options]
    keys = {str(i + 1): i for i in range(len(options))} if len(options) <= 9 else {}
    for kind, letter in _LETTERS.items():
        if kinds.count(kind) == 1:  # if two options are of the same kind, no letter chooses between them
            keys[letter] = kinds.index(kind)
    return keys


def _text_of(block: ContentBlock) -> str:
    """What there is to read of content: its text, or where it is."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return f"[link {block.title or block.name}: {block.uri}]"
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        text = inner.text if isinstance(inner, TextResourceContents) else "(not text, so it is not shown)"
        return f"[file {inner.uri}]\n{text}"
    return _field("content", block.value) if isinstance(block, Unknown) else describe(block)


def untold(call: ToolCallUpdate, fields: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    """The fields of a call's input that neither its one path nor its diffs tell.

    Only whole values count: what is a part of another text may stand there by chance, or to hide it.
    """
    diffs = [item for item in call.content or [] if isinstance(item, Diff)]
    paths = {one.path for one in [*(call.locations or []), *diffs] if one.path}
    texts = {text for diff in diffs for text in (diff.old_text, diff.new_text) if text}
    if len(paths) == 1:  # of several, only the name of a field says which is which
        texts |= paths | {relative_path(path, cwd) for path in paths}
    texts.discard("")
    pieces = {name for pair in _PIECES if _is_replaced(fields, pair, diffs) for name in pair}
    return {
        name: value for name, value in fields.items() if name not in pieces and not _is_told(value, texts)
    }


def _is_told(value: Any, texts: Set[str]) -> bool:
    if isinstance(value, list):
        values = cast("list[Any]", value)
        return bool(values) and all(isinstance(each, str) and each in texts for each in values)
    return isinstance(value, str) and value in texts


def _is_replaced(fields: Mapping[str, Any], pair: tuple[str, str], diffs: Sequence[Diff]) -> bool:
    """Whether a diff is what comes of putting the one text in the place of the other."""
    old, new = (fields.get(name) for name in pair)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return False
    return any(
        diff.new_text in (before.replace(old, new, 1), before.replace(old, new))
        for diff in diffs
        if (before := diff.old_text) and before != diff.new_text  # which would tell of any replacement
    )


def _field(name: str, value: Any) -> str:
    import json  # few questions come so far

    return f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def note_of(option: PermissionOption, call: ToolCallUpdate) -> str:
    """What an option does, where its name does not say so."""
    note = kind_note(option.name, option.kind)
    if option.kind in ("allow_always", "reject_always") and span_of(option, call) == "once":
        note += "; " if note else ""
        note += "acpella does not remember it: the agent does not say what it is about"
    return f"  ({note})" if note else ""

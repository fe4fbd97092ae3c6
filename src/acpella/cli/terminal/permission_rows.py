"""What a permission question shows: all that the call tells of itself, and the options with their keys."""

from collections.abc import Mapping, Sequence
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
)

from .diffs import whole_diff_rows
from .facts import describe, unfenced
from .permission_kinds import kind_note
from .reveal import CUT, MOST_ROWS, reveal, whole_rows
from .rows import Row, terminal_width
from .shown_paths import relative_path

__all__ = ["call_rows", "head_rows", "keys_for", "note_of", "option_rows"]

_LETTERS = {"allow_once": "a", "allow_always": "A", "reject_once": "r", "reject_always": "R"}


def head_rows(call: ToolCallUpdate, *, waiting: int) -> list[Row]:
    """What is asked; `waiting` questions come after it."""
    more = f"  ({waiting} more wait)" if waiting else ""
    head = [("? ", "yellow bold"), (f"{reveal(call.kind or 'other')} ", "dim")]
    return whole_rows(call.title or call.name or "go on", head, "bold", lines=False, note=more)


def call_rows(call: ToolCallUpdate, cwd: str) -> list[Row]:
    """All that the call tells of itself; nothing of it is cut or left out without saying so."""
    title = call.title or call.name or "go on"
    rows: list[Row] = []
    paths = [relative_path(place.path, cwd) for place in call.locations or []]
    for path in list(dict.fromkeys(paths))[:MOST_ROWS]:
        if path not in title.split():
            rows += whole_rows(path, [("    ", "")], "dim", lines=False)
    if len(paths) > MOST_ROWS:
        rows.append([("    ", ""), (f"… not all of {len(paths)} paths are shown", CUT)])
    command = command_in(call, cwd)
    if command and command != title:
        rows += whole_rows(command, [("    ", "")])
    beneath: list[Row] = []
    texts = [title, *(place.path for place in call.locations or [])]
    changes = False
    for item in call.content or []:
        if isinstance(item, Diff):
            changes = True
            texts += [item.path, item.old_text or "", item.new_text]
            beneath += whole_diff_rows(item, terminal_width(), cwd=cwd, limit=MOST_ROWS)
        elif isinstance(item, Content) and (text := _text_of(item.content)):
            if command and unfenced(text).strip() == command.strip():
                continue  # the command again, for editors that do not show what goes into a call
            texts.append(text)
            beneath += whole_rows(text.strip("\n"), [("    ", "")], "dim")
    beside = input_beside(call)
    if beside and not (changes and call.kind == "edit") and not _is_told(beside, texts):
        import json

        for name, value in beside.items():
            words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows += whole_rows(f"{name}: {words}", [("    ", "")], "dim")
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
        return f"[file {inner.uri}]\n{inner.text if isinstance(inner, TextResourceContents) else ''}"
    return describe(block)


def _is_told(value: Any, texts: Sequence[str]) -> bool:
    """Whether all that goes into a call stands in one of these texts."""
    if isinstance(value, dict):
        return all(_is_told(each, texts) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return all(_is_told(each, texts) for each in cast("list[Any]", value))
    return isinstance(value, str) and any(value in text for text in texts)


def note_of(option: PermissionOption, call: ToolCallUpdate) -> str:
    """What an option does, where its name does not say so."""
    note = kind_note(option.name, option.kind)
    if option.kind.endswith("_always") and span_of(option, call) == "once":
        note += "; " if note else ""
        note += "acpella does not remember it: the agent does not say what it is about"
    return f"  ({note})" if note else ""

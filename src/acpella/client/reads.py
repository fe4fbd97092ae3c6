"""Which questions are about reading inside the session's directories, and about nothing else."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import UNSET

from acpella.schema import Diff, ToolCallUpdate

__all__ = ["READS", "is_read_inside"]

READS = ("read", "search", "think")
"""Kinds of tools that change nothing. `fetch` is none of them: its address may carry anything to anybody."""

_ACTS = frozenset("command commands cmd script code program stdin url urls uri".split())
"""Fields of a tool's input that say more than what is read, whatever the agent calls the kind."""

_PATHS = frozenset(
    "path paths file file_path filePath filename absolute_path dir_path dir directory cwd".split()
)


def is_read_inside(call: ToolCallUpdate, roots: Sequence[str | Path]) -> bool:
    """Whether all that the call is known to touch is inside the roots, and no place of secrets.

    The kind is the agent's word for its tool, so it counts only as long as nothing else contradicts it; and
    a file that is not named is not known to be inside. Blocks: the paths are walked.
    """
    if call.kind not in READS or not roots or any(isinstance(item, Diff) for item in call.content or []):
        return False
    raw: Any = call.raw_input
    if not (raw is None or raw is UNSET or isinstance(raw, dict)):
        return False  # text or a list: it may be a command
    paths = [place.path for place in call.locations or []]
    for name, text in _texts(raw, ""):
        if name in _ACTS and text:
            return False
        if name in _PATHS or _may_lead_out(text):
            paths.append(text)
    if any("://" in path for path in paths) or (call.kind == "read" and not paths):
        return False
    from acpella.local import Jail, JailError  # few runs come so far

    jail = Jail(roots)
    try:
        for path in paths:
            jail.resolve(os.path.expanduser(path))
    except (JailError, OSError, ValueError):
        return False
    return True


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """All texts in an input, each with the field that it stands in, however deep."""
    pending: list[tuple[str, Any]] = [(name, value)]
    while pending:
        field, part = pending.pop()
        if isinstance(part, str):
            yield field, part
        elif isinstance(part, dict):
            pending += cast("dict[str, Any]", part).items()
        elif isinstance(part, list):
            pending += [(field, item) for item in cast("list[Any]", part)]


def _may_lead_out(text: str) -> bool:
    """Whether a field of any name may lead out of the roots."""
    return "\n" not in text and (os.path.isabs(text) or text.startswith("~") or ".." in text or "://" in text)

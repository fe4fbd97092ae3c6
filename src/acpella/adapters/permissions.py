"""Decides whether a tool may run: by the mode, by an earlier answer of the user, or by asking now."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from acpella.agent import Mode, ToolRun, Turn

from .present import command_argument

__all__ = ["MODES", "PermissionKey", "may_run"]

MODES = (
    Mode("ask", "Ask", "Ask before each tool that needs approval"),
    Mode("accept-edits", "Accept edits", "Change files of the project without asking; ask for the rest"),
    Mode("auto", "Automatic", "Never ask"),
)

PermissionKey: TypeAlias = Callable[[str, Mapping[str, Any]], str]
"""Returns what "always" covers, given a tool's name and arguments."""


async def may_run(
    turn: Turn,
    call: ToolRun,
    name: str,
    arguments: Mapping[str, Any],
    *,
    key: PermissionKey | None,
    question: str | None = None,
) -> bool:
    """Ask for permission where the session's mode requires it. A call that may run is then in progress."""
    mode = turn.session.mode
    if mode == "auto" or (mode == "accept-edits" and _edits_project(turn, call)):
        await call.start()
        return True
    command = command_argument(arguments) if call.kind == "execute" else None
    if key is not None:
        covered = key(name, arguments)
        covers = covered
    elif command is not None:  # the tool's name alone would cover every command
        covered, covers = f"{name} {command}", f"`{command}`"
    elif call.kind == "execute":
        covered, covers = f"{name} {call.title}", "exactly this"
    else:
        covered, covers = name, f"all calls of {name}"
    return await turn.permit(call, question, key=covered, covers=covers)


def _edits_project(turn: Turn, call: ToolRun) -> bool:
    """Whether a call only changes files inside the session's directories."""
    if call.kind != "edit" or not call.locations:
        return False
    roots = [Path(root).resolve() for root in turn.session.roots]
    places = [Path(location.path).resolve() for location in call.locations]
    return all(any(place.is_relative_to(root) for root in roots) for place in places)

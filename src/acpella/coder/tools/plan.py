"""The plan: what the agent means to do, shown to the user."""

from pathlib import Path
from typing import Any, cast, get_args

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.schema import PlanEntry, PlanEntryStatus, ToolKind

from ..models import ToolSpec
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import BuiltIn, object_schema, say

__all__ = ["MakePlan"]

ENTRIES = 50

ENTRY_CHARS = 1000
"""Characters of one entry; the whole plan is sent again at every change."""

_STATES: tuple[str, ...] = get_args(PlanEntryStatus)


class MakePlan(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "plan",
        "Show the user your plan for work of several steps. Give all entries each time; call it again when "
        "one is begun or done.",
        object_schema(
            ("entries",),
            entries={
                "type": "array",
                "items": object_schema(
                    ("content", "status"),
                    content={"type": "string"},
                    status={"type": "string", "enum": ["pending", "in_progress", "completed"]},
                ),
            },
        ),
    )
    kind: ToolKind = "think"
    danger: Danger = "none"

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        return Announcement(title="Plan")

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        items = arguments.get("entries")
        if not isinstance(items, list) or not items or len(cast("list[Any]", items)) > ENTRIES:
            raise ToolError(f"`entries` must be a list of 1 to {ENTRIES} entries")
        entries = [_entry(each) for each in cast("list[Any]", items)]
        await turn.plan(*entries)
        done = sum(entry.status == "completed" for entry in entries)
        return say(f"the user sees the plan: {done} of {len(entries)} done")


def _entry(item: object) -> PlanEntry:
    entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {"content": item}
    content, status = entry.get("content"), cast("PlanEntryStatus", entry.get("status", "pending"))
    if not isinstance(content, str) or not content.strip():
        raise ToolError("each entry needs a `content` that says what is to be done")
    if len(content) > ENTRY_CHARS:
        raise ToolError(f"an entry has at most {ENTRY_CHARS} characters; say it in a sentence")
    if status not in _STATES:
        raise ToolError(f"the status of an entry is one of {', '.join(_STATES)}, not {status!r}")
    return PlanEntry(content=content, priority="medium", status=status)

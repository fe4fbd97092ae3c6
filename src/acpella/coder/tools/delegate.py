"""A sub-agent: works on a task of its own and reports; its doings are shown inside the tool call."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.schema import ToolKind

from ..models import ToolSpec
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import BuiltIn, object_schema, say, string

if TYPE_CHECKING:
    from ..session_tools import SessionTools

__all__ = ["Delegate"]

Worker = Callable[[Turn, str], Awaitable[str]]
"""Works on a task and gives the report."""


class Delegate(BuiltIn):
    spec: ToolSpec = ToolSpec(
        "delegate",
        "Give a self-contained task to a helper with the same tools and a fresh memory: searching far and "
        "wide, or one part of a large change. It knows nothing but the task text, and gives back a report.",
        object_schema(("task",), task={"type": "string", "description": "All that the helper must know."}),
    )
    kind: ToolKind = "think"
    danger: Danger = "none"  # what the helper does is checked and asked for use by use

    def __init__(self, session_tools: "SessionTools", worker: Worker) -> None:
        super().__init__(session_tools)
        self._worker = worker

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        task = arguments.get("task")
        words = " ".join(task.split()) if isinstance(task, str) else "a task"
        return Announcement(title="Delegate: " + (words if len(words) <= 80 else words[:79] + "…"))

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        task = string(arguments, "task")
        if not task.strip():
            raise ToolError("`task` is empty; say what is to be done")
        report = await self._worker(turn.under(call), task)
        call.show(report)
        return say(report)

"""Running commands: in the editor's terminal, on this machine, or in the sandbox."""

import re
import shlex
from pathlib import Path
from typing import Any

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.schema import ToolKind

from ..models import ToolSpec
from ._builtin import BuiltIn, number, object_schema, say, string
from .base import Announcement, Danger, ToolError, ToolOutput

__all__ = ["Run", "permission_key"]

_SYNTAX = re.compile(r"[|&;<>()$`\\\n\r{}*?\[\]~#!=]")
"""What makes more of a command than one program with its words."""

_SIMPLE = frozenset(
    "cat date df du echo file head ls mypy pwd pyright pytest ruff stat tail tree tsc uname wc which".split()
)
"""Programs that stay what they are whatever their arguments."""

_SUBCOMMANDS = {
    "cargo": "build check clippy doc fmt test",
    "git": "add blame branch commit diff fetch log pull push restore rev-parse show stash status switch",
    "go": "build fmt list test vet",
    "npm": "ci install ls outdated test",
    "pip": "freeze install list show",
    "uv": "lock sync tree",
}
"""Programs whose second word says what they do, and those words that an "always" may stand for."""

SHOWN = 100


def permission_key(command: str) -> str:
    """What "always" stands for: the program, with its subcommand; or exactly this command.

    Coarse only where arguments cannot turn it into something else: `sh -c`, `find -exec`, pipes and the
    like are remembered word for word.
    """
    command = command.strip()
    exact = f"run:{command}"
    if _SYNTAX.search(command):
        return exact
    try:
        words = shlex.split(command)
    except ValueError:
        return exact
    if not words:
        return exact
    if words[0] in _SIMPLE:
        return f"run:{words[0]}"
    if len(words) > 1 and words[1] in _SUBCOMMANDS.get(words[0], "").split():
        return f"run:{words[0]} {words[1]}"
    return exact


class Run(BuiltIn):
    spec = ToolSpec(
        "run",
        "Run a shell command in the working directory and get its output and exit code. It has no input "
        "and no screen: nothing that asks, pages or edits.",
        object_schema(
            ("command",),
            command={"type": "string"},
            timeout={
                "type": "integer",
                "description": "Seconds until it is killed; 120 by default, 0 for no limit.",
            },
        ),
    )
    kind: ToolKind = "execute"
    danger: Danger = "execute"
    confined = True

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        command = arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            return Announcement(title="Run a command", permission_key="run")
        line = " ".join(command.split())
        shown = line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
        return Announcement(title=f"Run {shown}", permission_key=permission_key(command))

    async def preview(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> None:
        if not string(arguments, "command").strip():
            raise ToolError("`command` is empty; say what to run")
        number(arguments, "timeout")

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        command, timeout = string(arguments, "command"), number(arguments, "timeout")
        place = await self.bench.place(turn, changing=True)
        result = await place.run(call, command, timeout)
        call.output({"exitCode": result.exit_code, "signal": result.signal})
        if not result.ok:
            call.fail()
        ended = (
            "timed out and was killed"
            if result.timed_out
            else f"killed by {result.signal}"
            if result.signal
            else f"exit code {result.exit_code}"
        )
        cut = "[older output was dropped]\n" if result.truncated else ""
        return say(f"{cut}{result.output.rstrip()}\n[{ended}]".lstrip("\n"))

"""Running commands: in the editor's terminal, on this machine, or in the sandbox."""

import re
from pathlib import Path
from typing import Any

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.local import Jail
from acpella.schema import ToolKind

from ..models import ToolSpec
from ..tool import Announcement, Danger, ToolError, ToolOutput
from ._builtin import BuiltIn, number, object_schema, say, string
from .command_keys import known_program

__all__ = ["Run"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that change what a terminal or an editor shows of a command, but not what a shell runs."""

SHOWN = 100
"""Characters of a command in the title of its call; the rest is shown beneath."""

LONGEST = 20_000
"""Characters of a command; nobody reads more before saying yes."""


_BLANKS = " \t\n"
"""What a shell takes for blank. Other blanks belong to a word, and a file may have them in its name."""


def _line(command: str) -> str:
    line = " ".join(re.split(f"[{_BLANKS}]+", command.strip(_BLANKS)))
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _fenced(command: str) -> str:
    """The command as Markdown shows it letter by letter; no backticks of its own end the block."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", command)), 0)
    return f"{fence}sh\n{command}\n{fence}"


class Run(BuiltIn):
    spec: ToolSpec = ToolSpec(
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
        jail = self.session_tools.session.jail() if self.session_tools else Jail([cwd])
        program = known_program(command, cwd, jail)
        return Announcement(
            title=f"Run {_line(command)}",
            # two prefixes: `git diff` may be one here, and the other where the session has other directories
            permission_key=f"run:{command}" if program is None else f"run program:{program}",
            covers="exactly this" if program is None else f'"{program}" with harmless options',
        )

    async def preview(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> None:
        command = string(arguments, "command")
        if not command.strip():
            raise ToolError("`command` is empty; say what to run")
        if len(command) > LONGEST:
            raise ToolError(f"the command has more than {LONGEST} characters; write a script and run that")
        if hidden := _CONTROL.search(command):
            raise ToolError(
                f"the command contains the control character {hidden[0]!r}; nobody can see what it does. Use "
                "tabs and line ends only, and write others as the shell does, such as $'\\x1b'"
            )
        number(arguments, "timeout")
        if _line(command) != command.strip(_BLANKS):  # nobody should say yes to what the title leaves out
            call.show(_fenced(command))
            await call.progress()

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        command, timeout = string(arguments, "command"), number(arguments, "timeout")
        place = await self.session_tools.place(turn, changing=True)
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

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

_PROGRAMS = ("--exec", "--receive-pack", "--upload-pack", "--toolexec", "--vettool", "--config")
_FILES = ("--output", "--output-directory")
"""Options that make another program, or a writing one, of these; git takes their beginnings, too."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Characters that change what a terminal shows of a command, but not what a shell runs."""

SHOWN = 100
"""Characters of a command in the title of its call; the rest is shown beneath."""

LONGEST = 20_000
"""Characters of a command; nobody reads more before saying yes."""


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
    if any(_turns_it(word) for word in words[1:]):
        return exact
    if words[0] in _SIMPLE:
        return f"run:{words[0]}"
    if len(words) > 1 and words[1] in _SUBCOMMANDS.get(words[0], "").split():
        return f"run:{words[0]} {words[1]}"
    return exact


def _turns_it(word: str) -> bool:
    """Whether a word may be an option that names a program to run or a file to write."""
    if word in ("-o", "-exec", "-toolexec", "-vettool"):
        return True
    return len(word) > 2 and any(option.startswith(word) for option in (*_PROGRAMS, *_FILES))


def _line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _fenced(command: str) -> str:
    """The command as Markdown shows it letter by letter; no backticks of its own end the block."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", command)), 0)
    return f"{fence}sh\n{command}\n{fence}"


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
        key = permission_key(command)
        exact = key == f"run:{command.strip()}"
        return Announcement(
            title=f"Run {_line(command)}",
            permission_key=key,
            covers="exactly this" if exact else f"`{key.removeprefix('run:')}`, with any arguments",
        )

    async def preview(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> None:
        command = string(arguments, "command")
        if not command.strip():
            raise ToolError("`command` is empty; say what to run")
        if len(command) > LONGEST:
            raise ToolError(f"the command has more than {LONGEST} characters; write a script and run that")
        if found := _CONTROL.search(command):
            raise ToolError(
                f"the command contains the control character {found[0]!r}; nobody can see what it does. Use "
                "tabs and line ends only, and write others as the shell does, such as $'\\x1b'"
            )
        number(arguments, "timeout")
        if _line(command) != command.strip():  # nobody should say yes to what the title leaves out
            call.show(_fenced(command))
            await call.progress()

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

"""What a tool of the coding agent is, built in or from an MCP server."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.errors import AcpellaError
from acpella.schema import ToolKind

from .models import Image, Text, ToolSpec

__all__ = ["Announcement", "CoderTool", "Danger", "ToolError", "ToolOutput"]

Danger: TypeAlias = Literal["none", "claimed", "write", "execute", "network"]
"""What a tool may do to the world. Modes forbid by it, and everything but "none" asks permission.

"claimed" is a third-party tool that says it changes nothing. No mode forbids it, but as nobody here can check
that, every mode except `full` asks.
"""


class ToolError(AcpellaError):
    """A tool could not do what was asked. The model is told the message and may try otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """How one use of a tool looks to the user, before it runs."""

    title: str
    locations: list[str | tuple[str, int]] = field(default_factory=list[str | tuple[str, int]])
    permission_key: str = ""
    """What an "always" answer stands for: the tool's name, or finer ("run program:git status")."""
    wider_key: str = ""
    """A key whose answer counts, too, where there is none for this one."""
    covers: str = ""
    """The same in words, for the user who is asked; editors show it as it is, without Markdown."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What the model is told of a tool's run."""

    content: list[Text | Image]


class CoderTool(Protocol):
    """One tool. The loop announces it, asks permission where `danger` wants it, and runs it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def kind(self) -> ToolKind: ...

    @property
    def danger(self) -> Danger: ...

    def announce(self, arguments: dict[str, Any], cwd: Path) -> Announcement:
        """Never raises: the arguments may be nonsense."""
        ...

    async def run(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> ToolOutput:
        """Do it. `call` is open: show diffs, output and locations on it.

        Raises:
            ToolError: with what the model should know.
        """
        ...

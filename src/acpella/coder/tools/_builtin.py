"""What the tools of this package have in common: where they work, and how they read their arguments."""

from typing import TYPE_CHECKING, Any, ClassVar

from acpella.agent import Turn
from acpella.agent.tool_call import ToolRun
from acpella.schema import ToolKind

from ..models import Text, ToolSpec
from ..tool import Danger, ToolError, ToolOutput

if TYPE_CHECKING:
    from ..session_tools import SessionTools

__all__ = ["LARGEST", "BuiltIn", "clip", "number", "object_schema", "say", "string"]

OUTPUT_CHARS = 30_000
"""Characters of one result that the model is told; without it one log fills the context window."""


LARGEST = 2**31 - 1
"""No line and no time limit is larger, and clocks and the protocol cannot take everything."""


class BuiltIn:
    """A tool of ours; one object for each session."""

    spec: ToolSpec
    kind: ToolKind
    danger: Danger
    confined: ClassVar[bool] = False
    """Whether it stays inside the sandbox when there is one."""

    def __init__(self, session_tools: "SessionTools") -> None:
        self.session_tools = session_tools

    async def preview(self, turn: Turn, call: ToolRun, arguments: dict[str, Any]) -> None:
        """Show on the call what it would change, before the user is asked.

        Raises:
            ToolError: it could not work, so that nobody needs to be asked.
        """


def object_schema(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def string(arguments: dict[str, Any], name: str, default: str | None = None) -> str:
    """A text among the arguments, which come from a model and may be anything."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"`{name}` must be a string" if name in arguments else f"`{name}` is missing")
    return value


def number(arguments: dict[str, Any], name: str) -> int | None:
    value: Any = arguments.get(name)
    if isinstance(value, str) and value.strip().isdigit():  # some models quote numbers
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
        raise ToolError(f"`{name}` must be a whole number from 0 to {LARGEST}")
    return value


def clip(text: str, limit: int = OUTPUT_CHARS) -> str:
    """Beginning and end of a text that is too long, with a word about the middle."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"


def say(text: str) -> ToolOutput:
    return ToolOutput([Text(clip(text))])

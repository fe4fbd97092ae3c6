"""Tool calls: what the agent does on the model's behalf."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET

from ._wire import U32, Meta, Unknown, Wire, field
from .content import ContentBlock
from .terminals import TerminalId

__all__ = [
    "Content",
    "Diff",
    "Terminal",
    "ToolCall",
    "ToolCallContent",
    "ToolCallId",
    "ToolCallLocation",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolKind",
]

ToolCallId: TypeAlias = str
ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class Content(Wire, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """A content block that a tool call produced."""

    content: ContentBlock
    meta: Meta | None = field(default=None, name="_meta")


class Diff(Wire, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """A change of a file's text; without `old_text` the file is new."""

    path: str
    new_text: str
    old_text: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class Terminal(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal shown inside the tool call, live."""

    terminal_id: TerminalId
    meta: Meta | None = field(default=None, name="_meta")


ToolCallContent: TypeAlias = Content | Diff | Terminal | Unknown


class ToolCallLocation(Wire, frozen=True, kw_only=True):
    """A place in a file that a tool call touches; `line` counts from 1."""

    path: str
    line: U32 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call that has just begun."""

    tool_call_id: ToolCallId
    title: str
    name: str | None = None
    kind: ToolKind = "other"
    status: ToolCallStatus = "pending"
    content: list[ToolCallContent] = []
    locations: list[ToolCallLocation] = []
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Meta | None = field(default=None, name="_meta")


class ToolCallUpdate(Wire, frozen=True, kw_only=True):
    """What changed in a tool call: fields left None stay as they were, lists are replaced whole."""

    tool_call_id: ToolCallId
    title: str | None = None
    name: str | None = None
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    content: list[ToolCallContent] | None = None
    locations: list[ToolCallLocation] | None = None
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Meta | None = field(default=None, name="_meta")

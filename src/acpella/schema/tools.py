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
    """What the tool call produced: text, an image, a link or the like."""
    meta: Meta | None = field(default=None, name="_meta")


class Diff(Wire, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """A change of a file's text; without `old_text` the file is new."""

    path: str
    """The file that changes, as an absolute path."""
    new_text: str
    """The text after the change."""
    old_text: str | None = None
    """The text before the change. Absent means that the file is new."""
    meta: Meta | None = field(default=None, name="_meta")


class Terminal(Wire, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal shown inside the tool call, live."""

    terminal_id: TerminalId
    """The terminal to show, by the id that the client gave it."""
    meta: Meta | None = field(default=None, name="_meta")


ToolCallContent: TypeAlias = Content | Diff | Terminal | Unknown


class ToolCallLocation(Wire, frozen=True, kw_only=True):
    """A place in a file that a tool call touches; `line` counts from 1."""

    path: str
    """The file that the tool call reads or changes, as an absolute path."""
    line: U32 | None = None
    """The line in the file, counted from 1. Absent means no line in particular."""
    meta: Meta | None = field(default=None, name="_meta")


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call that has just begun."""

    tool_call_id: ToolCallId
    """The agent's id for the tool call, which no other call of the session has."""
    title: str
    """What the agent is doing, in words for the user."""
    name: str | None = None
    """The tool's name in the agent's program. It must not decide what is permitted."""
    kind: ToolKind = "other"
    """What sort of thing the tool does, so that a client can choose an icon. Absent means `other`."""
    status: ToolCallStatus = "pending"
    """How far the call is. Absent means `pending`: it has not started, or waits for permission."""
    content: list[ToolCallContent] = []
    """What the call has produced so far, for the user to see."""
    locations: list[ToolCallLocation] = []
    """The files that the call touches, so that an editor can follow along."""
    raw_input: Any = UNSET
    """What the tool was given, in the tool's own form."""
    raw_output: Any = UNSET
    """What the tool returned, in the tool's own form."""
    meta: Meta | None = field(default=None, name="_meta")


class ToolCallUpdate(Wire, frozen=True, kw_only=True):
    """What changed in a tool call: fields left None stay as they were, lists are replaced whole."""

    tool_call_id: ToolCallId
    """The tool call that has changed, by the id that the agent gave it."""
    title: str | None = None
    """What the agent is doing, in new words. Absent means that the title stays."""
    name: str | None = None
    """The tool's name in the agent's program. Absent means that it stays."""
    kind: ToolKind | None = None
    """What sort of thing the tool does, so that a client can choose an icon. Absent means that it stays."""
    status: ToolCallStatus | None = None
    """How far the call is now. Absent means that the status stays."""
    content: list[ToolCallContent] | None = None
    """All that the call has produced so far. Absent means that what was shown stays."""
    locations: list[ToolCallLocation] | None = None
    """All the files that the call touches. Absent means that they stay."""
    raw_input: Any = UNSET
    """What the tool was given, in the tool's own form. Absent means that it stays."""
    raw_output: Any = UNSET
    """What the tool returned, in the tool's own form. Absent means that it stays."""
    meta: Meta | None = field(default=None, name="_meta")

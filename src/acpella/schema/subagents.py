"""Child sessions and the messages between sessions (unstable).

In the patches absent (`UNSET`) means unchanged and null (`None`) means cleared.
"""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from ._wire import Meta, Strict, Unknown, Wire, field
from .content import ContentBlock
from .prompt import StopReason, Usage
from .protocol import Error, MessageId, SessionId

__all__ = [
    "IdleStateUpdate",
    "RequiresActionStateUpdate",
    "RunningStateUpdate",
    "SessionCancelCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "StateUpdate",
    "SubagentCapabilities",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "UnknownStateUpdate",
]


class SubagentCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows child sessions."""

    meta: Meta | None = field(default=None, name="_meta")


class SessionCancelCapabilities(Wire, frozen=True, kw_only=True):
    """The client may cancel the child's work."""

    meta: Meta | None = field(default=None, name="_meta")


class SubagentSessionCapabilities(Wire, frozen=True, kw_only=True):
    """What the client may do with a child session."""

    cancel: SessionCancelCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class RunningStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="running"):
    """The child works."""

    meta: Meta | None = field(default=None, name="_meta")


class IdleStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="idle"):
    """The child waits for its next prompt; `error` belongs to the stop reason "error"."""

    stop_reason: StopReason | Literal["error"] | str | None = None
    error: Error | None = None
    usage: Usage | None = None
    meta: Meta | None = field(default=None, name="_meta")


class RequiresActionStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="requires_action"):
    """The child waits for the user."""

    meta: Meta | None = field(default=None, name="_meta")


class UnknownStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="unknown"):
    """The agent cannot tell what the child does."""

    meta: Meta | None = field(default=None, name="_meta")


StateUpdate: TypeAlias = (
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate | Unknown
)


class SubagentUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="subagent_update"):
    """A child session is new or has changed."""

    session_id: SessionId
    title: str | None | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    capabilities: SubagentSessionCapabilities | None | UnsetType = UNSET
    state: StateUpdate | None | UnsetType = UNSET
    cwd: Strict[str | None | UnsetType] = UNSET
    additional_directories: Strict[list[str] | None | UnsetType] = UNSET
    meta: Meta | None | UnsetType = field(default=UNSET, name="_meta")


class SessionMessage(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message"):
    """A message from one session to another is new or has changed."""

    message_id: MessageId
    sender_session_id: SessionId | None | UnsetType = UNSET
    recipient_session_id: SessionId | None | UnsetType = UNSET
    sender_message_id: MessageId | None | UnsetType = UNSET
    recipient_message_id: MessageId | None | UnsetType = UNSET
    content: list[ContentBlock] | None | UnsetType = UNSET
    meta: Meta | None | UnsetType = field(default=UNSET, name="_meta")


class SessionMessageChunk(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message_chunk"
):
    """A piece to append to a message between sessions."""

    message_id: MessageId
    content: ContentBlock
    meta: Meta | None = field(default=None, name="_meta")

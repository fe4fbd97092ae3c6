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
    """An object here, even `{}`, means that the client may cancel what the child does."""
    meta: Meta | None = field(default=None, name="_meta")


class RunningStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="running"):
    """The child works."""

    meta: Meta | None = field(default=None, name="_meta")


class IdleStateUpdate(Wire, frozen=True, kw_only=True, tag_field="state", tag="idle"):
    """The child waits for its next prompt; `error` belongs to the stop reason "error"."""

    stop_reason: StopReason | Literal["error"] | str | None = None
    """Why the child stopped; `error` means that it failed. Absent means that the agent does not say."""
    error: Error | None = None
    """What failed, if the stop reason is `error`."""
    usage: Usage | None = None
    """The tokens that the child spent on the work that is over. Absent means that the agent does not say."""
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
    """The child session, by the id that all its messages carry; the agent chose it."""
    title: str | None | UnsetType = UNSET
    """What the parent calls the child, for the user to see. Null clears it."""
    description: str | None | UnsetType = UNSET
    """What the child is there for, for the user to see. Null clears it."""
    capabilities: SubagentSessionCapabilities | None | UnsetType = UNSET
    """All that the client may do with the child. Null, or never sent, means that it may only watch."""
    state: StateUpdate | None | UnsetType = UNSET
    """What the child does now. Null means that this is not known; it does not mean idle."""
    cwd: Strict[str | None | UnsetType] = UNSET
    """The directory that the child works in, as an absolute path. Null means that of its parent."""
    additional_directories: Strict[list[str] | None | UnsetType] = UNSET
    """All other directories of the child, as absolute paths. Null means those of its parent."""
    meta: Meta | None | UnsetType = field(default=UNSET, name="_meta")


class SessionMessage(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message"):
    """A message from one session to another is new or has changed."""

    message_id: MessageId
    """The agent's id for the message within the session that this update belongs to."""
    sender_session_id: SessionId | None | UnsetType = UNSET
    """The session that the message comes from. Null clears it."""
    recipient_session_id: SessionId | None | UnsetType = UNSET
    """The session that the message goes to. Null clears it."""
    sender_message_id: MessageId | None | UnsetType = UNSET
    """The id that the same message has in the sender's session. Null clears it."""
    recipient_message_id: MessageId | None | UnsetType = UNSET
    """The id that the same message has in the recipient's session. Null clears it."""
    content: list[ContentBlock] | None | UnsetType = UNSET
    """The whole content, in place of what came before. Null or an empty list clears it."""
    meta: Meta | None | UnsetType = field(default=UNSET, name="_meta")


class SessionMessageChunk(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message_chunk"
):
    """A piece to append to a message between sessions."""

    message_id: MessageId
    """The message to append to, by its id within the session that this update belongs to."""
    content: ContentBlock
    """The next piece of the message, which goes after all that came before."""
    meta: Meta | None = field(default=None, name="_meta")

"""`session/update`: everything the agent tells about a session as it happens."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from ._wire import U64, Meta, Unknown, Wire, field
from .commands import AvailableCommandsUpdate
from .config import ConfigOptionUpdate, CurrentModeUpdate
from .content import ContentBlock
from .plan import Plan, PlanRemoved, PlanUpdate
from .protocol import MessageId, SessionId
from .subagents import SessionMessage, SessionMessageChunk, SubagentUpdate
from .tools import ToolCall, ToolCallUpdate

__all__ = [
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "CompactionId",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "Cost",
    "Notice",
    "NoticeSeverity",
    "SessionInfoUpdate",
    "SessionNotification",
    "SessionUpdate",
    "ToolCallProgress",
    "UsageUpdate",
    "UserMessageChunk",
]

CompactionId: TypeAlias = str
CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class ContentChunk(Wire, frozen=True, kw_only=True):
    """A piece of a message; pieces with one `message_id` belong together."""

    content: ContentBlock
    """The piece itself, mostly a few words of text."""
    message_id: MessageId | None = None
    """The agent's id for the whole message; a new id starts a new message."""
    meta: Meta | None = field(default=None, name="_meta")


class UserMessageChunk(
    ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="user_message_chunk"
):
    """A piece of what the user said."""


class AgentMessageChunk(
    ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_message_chunk"
):
    """A piece of what the agent says."""


class AgentThoughtChunk(
    ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_thought_chunk"
):
    """A piece of what the agent thinks."""


class ToolCallProgress(
    ToolCallUpdate, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"
):
    """A tool call has changed."""


class SessionInfoUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_info_update"
):
    """The session's description has changed: absent (`UNSET`) keeps a value, null (`None`) clears it."""

    title: str | None | UnsetType = UNSET
    """What to call the session from now on. Null clears the title."""
    updated_at: str | None | UnsetType = UNSET
    """When something last happened in the session, as an ISO 8601 time. Null clears it."""
    meta: Meta | None = field(default=None, name="_meta")


class Cost(Wire, frozen=True, kw_only=True):
    """Money, or another unit such as credits."""

    amount: float
    """How much the session has cost so far, all turns together."""
    currency: str
    """What the amount is counted in: a currency, by its code such as `USD`, or for instance `credits`."""
    meta: Meta | None = field(default=None, name="_meta")


class UsageUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="usage_update"):
    """How full the context window is, and what the session has cost."""

    used: U64
    """How many tokens the context holds now."""
    size: U64
    """How many tokens the context window can hold."""
    cost: Cost | None = None
    """What the session has cost so far. Absent means that the agent does not say."""
    meta: Meta | None = field(default=None, name="_meta")


class Notice(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="notice"):
    """Something worth telling the user that does not belong to the conversation."""

    severity: NoticeSeverity
    """How serious it is, so that a client can choose colours; even `error` does not end the turn."""
    title: Annotated[str, msgspec.Meta(min_length=1)]
    """What happened, in plain text that makes sense without the description."""
    description: str | None = None
    """More about it, or what the user can do, in plain text."""
    meta: Meta | None = field(default=None, name="_meta")


class CompactionUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="compaction_update"):
    """The context is being summarized: absent (`UNSET`) keeps a value, null (`None`) clears it."""

    compaction_id: CompactionId
    """The agent's id for this compaction, which no other of the session has."""
    status: CompactionStatus
    """How far the compaction is: under way, completed, failed or cancelled."""
    summary: list[ContentBlock] | None | UnsetType = UNSET
    """The whole summary, in place of all pieces before. Null or an empty list clears it."""
    error: str | None | UnsetType = UNSET
    """Why the compaction failed, in words for the user. Null clears it."""
    meta: Meta | None | UnsetType = field(default=UNSET, name="_meta")


class CompactionSummaryChunk(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="compaction_summary_chunk"
):
    """A piece to append to a compaction's summary."""

    compaction_id: CompactionId
    """The compaction whose summary grows, by the id that the agent gave it."""
    content: ContentBlock
    """The next piece of the summary, which goes after all that came before."""
    meta: Meta | None = field(default=None, name="_meta")


SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallProgress
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
    | Unknown
)


class SessionNotification(Wire, frozen=True, kw_only=True):
    """One update of one session."""

    session_id: SessionId
    """The session that the update is about."""
    update: SessionUpdate
    """What has happened; its `sessionUpdate` says which kind of update it is."""
    meta: Meta | None = field(default=None, name="_meta")

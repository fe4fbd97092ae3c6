"""The prompt turn: asking, the answer's end, cancelling."""

from typing import Literal, TypeAlias

from ._wire import U64, Meta, Opened, Wire, field
from .content import ContentBlock
from .protocol import SessionId

__all__ = ["CancelNotification", "PromptRequest", "PromptResponse", "StopReason", "Usage"]

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class PromptRequest(Wire, frozen=True, kw_only=True):
    """Give the agent something to do; it answers when the turn is over."""

    session_id: SessionId
    """The session that the prompt belongs to."""
    prompt: list[ContentBlock]
    """What the user says. Text and links always work; the rest only if the agent advertises it."""
    meta: Meta | None = field(default=None, name="_meta")


class Usage(Wire, frozen=True, kw_only=True):
    """Tokens spent (unstable)."""

    total_tokens: U64
    """How many tokens were spent, of all kinds together."""
    input_tokens: U64
    """How many tokens the model read."""
    output_tokens: U64
    """How many tokens the model wrote."""
    thought_tokens: U64 | None = None
    """How many tokens the model spent on thinking. Absent means that the agent does not say."""
    cached_read_tokens: U64 | None = None
    """How many tokens came from the model's cache. Absent means that the agent does not say."""
    cached_write_tokens: U64 | None = None
    """How many tokens were put into the model's cache. Absent means that the agent does not say."""
    meta: Meta | None = field(default=None, name="_meta")


class PromptResponse(Wire, frozen=True, kw_only=True):
    """The turn is over."""

    stop_reason: Opened[StopReason | str]  # a reason that we do not know must not fail the turn
    """Why the turn ended: the agent was done, reached a limit, refused, or was cancelled."""
    usage: Usage | None = None
    """The tokens that were spent (unstable). Absent means that the agent does not say."""
    meta: Meta | None = field(default=None, name="_meta")


class CancelNotification(Wire, frozen=True, kw_only=True):
    """End the turn; its prompt is still answered."""

    session_id: SessionId
    """The session whose turn should end."""
    meta: Meta | None = field(default=None, name="_meta")

"""The prompt turn: asking, the answer's end, cancelling."""

from typing import Literal, TypeAlias

from ._wire import U64, Meta, Wire, field
from .content import ContentBlock
from .protocol import SessionId

__all__ = ["CancelNotification", "PromptRequest", "PromptResponse", "StopReason", "Usage"]

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class PromptRequest(Wire, frozen=True, kw_only=True):
    """Give the agent something to do; it answers when the turn is over."""

    session_id: SessionId
    prompt: list[ContentBlock]
    meta: Meta | None = field(default=None, name="_meta")


class Usage(Wire, frozen=True, kw_only=True):
    """Tokens spent (unstable)."""

    total_tokens: U64
    input_tokens: U64
    output_tokens: U64
    thought_tokens: U64 | None = None
    cached_read_tokens: U64 | None = None
    cached_write_tokens: U64 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class PromptResponse(Wire, frozen=True, kw_only=True):
    """The turn is over."""

    stop_reason: StopReason | str  # closed in v1, but a reason we do not know must not fail the turn
    usage: Usage | None = None
    meta: Meta | None = field(default=None, name="_meta")


class CancelNotification(Wire, frozen=True, kw_only=True):
    """End the turn; its prompt is still answered."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")

"""Asking the user before a tool runs."""

from typing import Literal, TypeAlias

from ._wire import Meta, Opened, Unknown, Wire, field
from .protocol import SessionId
from .tools import ToolCallUpdate

__all__ = [
    "CancelledPermissionOutcome",
    "PermissionOption",
    "PermissionOptionId",
    "PermissionOptionKind",
    "RequestPermissionOutcome",
    "RequestPermissionRequest",
    "RequestPermissionResponse",
    "SelectedPermissionOutcome",
]

PermissionOptionId: TypeAlias = str
PermissionOptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class PermissionOption(Wire, frozen=True, kw_only=True):
    """One answer the user may give."""

    option_id: PermissionOptionId
    """The agent's id for this answer; the client sends it back if the user chooses it."""
    name: str
    """What the user sees on the button."""
    kind: Opened[PermissionOptionKind | str]
    """Whether this allows or rejects the call, and whether only once or from now on. A newer agent may have
    another kind: the user can choose it, and no policy does."""
    meta: Meta | None = field(default=None, name="_meta")


class RequestPermissionRequest(Wire, frozen=True, kw_only=True):
    """Ask whether a tool call may run; `tool_call` also updates what was reported of it."""

    session_id: SessionId
    """The session whose tool call waits for the answer."""
    tool_call: ToolCallUpdate
    """What the agent wants to do, for the user to judge."""
    options: list[PermissionOption]
    """The answers that the user can choose from."""
    meta: Meta | None = field(default=None, name="_meta")


class SelectedPermissionOutcome(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="selected"):
    """The user chose an option."""

    option_id: PermissionOptionId
    """The answer that was chosen, by the id that the agent gave it."""
    meta: Meta | None = field(default=None, name="_meta")


class CancelledPermissionOutcome(Wire, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """The turn was cancelled before the user chose."""


RequestPermissionOutcome: TypeAlias = SelectedPermissionOutcome | CancelledPermissionOutcome | Unknown


class RequestPermissionResponse(Wire, frozen=True, kw_only=True):
    """What the user decided."""

    outcome: RequestPermissionOutcome
    """Which answer was chosen, or that the turn was cancelled first."""
    meta: Meta | None = field(default=None, name="_meta")

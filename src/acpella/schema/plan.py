"""Plans: what the agent intends to do."""

from typing import Literal, TypeAlias

from ._wire import Lenient, Meta, Unknown, Wire, field

__all__ = [
    "Plan",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanFile",
    "PlanId",
    "PlanItems",
    "PlanMarkdown",
    "PlanRemoved",
    "PlanUpdate",
    "PlanUpdateContent",
]

PlanId: TypeAlias = str
PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


class PlanEntry(Wire, frozen=True, kw_only=True):
    """One step of a plan."""

    content: str
    """What the agent intends to do in this step."""
    priority: PlanEntryPriority
    """How important the step is for the goal."""
    status: PlanEntryStatus
    """How far the agent is with the step."""
    meta: Meta | None = field(default=None, name="_meta")


class Plan(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan"):
    """The whole plan; it replaces the one before."""

    entries: Lenient[list[PlanEntry]]
    """Every step, including those that are done or unchanged."""
    meta: Meta | None = field(default=None, name="_meta")


class PlanItems(Wire, frozen=True, kw_only=True, tag_field="type", tag="items"):
    """A plan given as steps (unstable)."""

    plan_id: PlanId
    """The agent's id for the plan; it tells the plans of a session apart."""
    entries: Lenient[list[PlanEntry]]
    """Every step, including those that are done or unchanged."""
    meta: Meta | None = field(default=None, name="_meta")


class PlanFile(Wire, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A plan kept in a file (unstable)."""

    plan_id: PlanId
    """The agent's id for the plan; it tells the plans of a session apart."""
    uri: str
    """The URI of the file that holds the plan."""
    meta: Meta | None = field(default=None, name="_meta")


class PlanMarkdown(Wire, frozen=True, kw_only=True, tag_field="type", tag="markdown"):
    """A plan written as Markdown (unstable)."""

    plan_id: PlanId
    """The agent's id for the plan; it tells the plans of a session apart."""
    content: str
    """The whole plan as Markdown."""
    meta: Meta | None = field(default=None, name="_meta")


PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown | Unknown


class PlanUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_update"):
    """One of several plans is new or has changed (unstable)."""

    plan: PlanUpdateContent
    """The plan as it is now: as steps, as Markdown or in a file."""
    meta: Meta | None = field(default=None, name="_meta")


class PlanRemoved(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_removed"):
    """One of several plans is gone (unstable)."""

    plan_id: PlanId
    """The plan that is gone, by the id that the agent gave it."""
    meta: Meta | None = field(default=None, name="_meta")

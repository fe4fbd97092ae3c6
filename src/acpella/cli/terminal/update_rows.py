"""Plans, notices, usage and content as rows; and which updates are shown at all."""

from acpella.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AudioContent,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    ContentBlock,
    CurrentModeUpdate,
    EmbeddedResource,
    ImageContent,
    Notice,
    PlanEntry,
    ResourceLink,
    SessionInfoUpdate,
    TextContent,
    TextResourceContents,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from .clean import one_line
from .rows import Row

__all__ = ["count", "describe", "is_visible", "notice_row", "plan_rows", "usage_text"]

_PLAN = {"pending": ("○", "dim"), "in_progress": ("◐", "yellow"), "completed": ("●", "green")}
_SEVERITY = {"error": "red", "warning": "yellow"}


def describe(block: ContentBlock) -> str:
    """A line about content that a terminal does not show."""
    if isinstance(block, TextContent):
        return one_line(block.text)
    if isinstance(block, ImageContent | AudioContent):
        what = "image" if isinstance(block, ImageContent) else "audio"
        where = f" {block.uri}" if isinstance(block, ImageContent) and block.uri else ""
        return one_line(f"[{what} {block.mime_type}, {_size(len(block.data) * 3 // 4)}{where}]")
    if isinstance(block, ResourceLink):
        size = f", {_size(block.size)}" if block.size is not None else ""
        return one_line(f"[link {block.title or block.name}{size}: {block.uri}]")
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        size = len(inner.text) if isinstance(inner, TextResourceContents) else len(inner.blob) * 3 // 4
        return one_line(f"[file {inner.uri}, {_size(size)}]")
    return one_line(f"[{block.tag}]")


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


_BESIDE = (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    UsageUpdate,
    UserMessageChunk,
)


def is_visible(update: object) -> bool:
    """Whether an update says or does anything; others only tell the state of the session."""
    if isinstance(update, AgentMessageChunk | AgentThoughtChunk) and isinstance(update.content, TextContent):
        return bool(update.content.text.strip())
    return not isinstance(update, _BESIDE)


def plan_rows(entries: list[PlanEntry], limit: int = 100) -> list[Row]:
    """A plan as a checklist."""
    rows: list[Row] = []
    for entry in entries[:limit]:
        mark, colour = _PLAN.get(entry.status, ("○", "dim"))
        style = {"completed": "dim", "in_progress": "bold"}.get(entry.status, "")
        rows.append([("  ", ""), (f"{mark} ", colour), (one_line(entry.content), style)])
    if len(entries) > limit:
        rows.append([("  ", ""), (f"… {len(entries) - limit} more", "dim")])
    return rows


def notice_row(notice: Notice) -> Row:
    colour = _SEVERITY.get(notice.severity, "cyan")
    row = [("! ", colour), (one_line(notice.title), colour)]
    if notice.description:
        row.append((f"  {one_line(notice.description)}", "dim"))
    return row


def usage_text(context: UsageUpdate | None, usage: Usage | None = None) -> str:
    """How full the context is, what the turn took and cost; empty if nothing is known."""
    parts: list[str] = []
    if usage is not None:
        parts.append(f"{count(usage.input_tokens)} in, {count(usage.output_tokens)} out")
    if context is not None and context.size:
        parts.append(f"{count(context.used)}/{count(context.size)} ({context.used * 100 // context.size} %)")
    if context is not None and context.cost is not None and context.cost.amount:
        parts.append(f"{context.cost.amount:.2f} {one_line(context.cost.currency, 10)}")
    return " · ".join(parts)


def count(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"

"""A whole turn as one JSON document, for programs that read it when it is over."""

from collections.abc import Sequence
from typing import Any

import msgspec

from acpella.client import ClientSession, Result, ToolCallState
from acpella.schema import SessionUpdate, Usage

from .output import show_json
from .rows import Row

__all__ = ["NoDisplay", "show_result"]


class NoDisplay:
    """Shows nothing while the turn runs."""

    def start(self) -> None: ...

    def update(self, update: SessionUpdate, calls: dict[str, ToolCallState]) -> None: ...

    def tell(self, rows: Sequence[Row]) -> None: ...

    def end(self, stop_reason: str = "end_turn", usage: Usage | None = None) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def saw_diff(self, tool_call_id: str) -> None: ...


def show_result(session: ClientSession, result: Result, *, agent: str, error: str | None = None) -> None:
    """Print what is known of a turn; `error` says why it broke off."""
    show_json(
        {
            "agent": agent,
            "sessionId": session.id,
            "title": session.title or None,
            "stopReason": result.stop_reason,
            "text": result.text,
            "thoughts": result.thoughts,
            "toolCalls": [_tool_call(call) for call in result.tool_calls.values()],
            "plan": msgspec.to_builtins(result.plan),
            "refused": result.refused,
            "usage": msgspec.to_builtins(result.usage),
            "context": msgspec.to_builtins(result.context),
            "error": error,
        }
    )


def _tool_call(call: ToolCallState) -> dict[str, Any]:
    """As on the wire, with the status that it has for a reader: `cancelled` and `unfinished` included."""
    return {**msgspec.to_builtins(call.to_update()), "status": call.status}

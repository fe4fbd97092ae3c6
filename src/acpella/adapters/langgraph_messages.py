"""Messages of LangChain: what to show of one, and which results a conversation lacks."""

import importlib
from collections.abc import Iterable
from typing import Any

__all__ = ["missing_results", "shown_blocks"]

CANCELLED = "This call was cancelled by the user before it ended."


def shown_blocks(message: Any) -> Iterable[tuple[str, str]]:
    """The texts of a message: ("text", …) and ("reasoning", …)."""
    content = message.content
    if not message.additional_kwargs:  # where some providers put their reasoning
        if isinstance(content, str):
            return (("text", content),) if content else ()
        # `content_blocks` translates what providers say in their own ways; for text that is needless work
        if len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
            return (("text", content[0].get("text") or ""),)
    return [
        (block["type"], block.get(block["type"]) or "")
        for block in message.content_blocks
        if block["type"] in ("text", "reasoning")
    ]


def missing_results(state: Any) -> list[Any]:
    """Results for calls that have none: the actual one if the tool had ended before the others were
    cancelled, otherwise a sentence. Providers refuse calls without a result."""
    tool_message = importlib.import_module("langchain_core.messages").ToolMessage
    messages: list[Any] = list(state.values.get("messages", ()))
    answered_ids = {message.tool_call_id for message in messages if message.type == "tool"}
    ended: dict[str, Any] = {}
    for task in state.tasks:
        results: Any = task.result
        for message in results.get("messages", ()) if hasattr(results, "get") else ():
            if getattr(message, "type", None) == "tool":
                ended[message.tool_call_id] = message
    missing: list[Any] = []
    for message in messages:
        for call in getattr(message, "tool_calls", None) or ():
            if call["id"] not in answered_ids:
                cancelled = tool_message(
                    CANCELLED, tool_call_id=call["id"], name=call["name"], status="error"
                )
                missing.append(ended.get(call["id"], cancelled))
    return missing

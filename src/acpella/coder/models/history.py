"""Puts a conversation into the order that providers insist on."""

from collections.abc import Sequence

from .base import AssistantMessage, Message, Text, ToolMessage, ToolUse

__all__ = ["NOT_RUN", "paired"]

NOT_RUN = "This tool was not run: the turn was ended before."


def paired(messages: Sequence[Message]) -> list[Message]:
    """Every tool use directly followed by its result, and no result without its use.

    A conversation may be cut anywhere (a crash, a compaction); such a history would be rejected for ever.
    """
    results = {message.tool_use_id: message for message in messages if isinstance(message, ToolMessage)}
    ordered: list[Message] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        if isinstance(message, AssistantMessage) and not message.content:
            continue
        ordered.append(message)
        if isinstance(message, AssistantMessage):
            for part in message.content:
                if isinstance(part, ToolUse):
                    missing = ToolMessage(part.id, [Text(NOT_RUN)], is_error=True)
                    ordered.append(results.get(part.id, missing))
    return ordered

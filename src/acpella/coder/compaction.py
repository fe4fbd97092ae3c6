"""Makes room: what was said so far becomes a summary."""

import asyncio
import logging
import uuid
from contextlib import aclosing

import msgspec

from acpella.agent import Turn
from acpella.schema import CompactionSummaryChunk, CompactionUpdate, TextContent

from .history import History, fitted
from .models import (
    AssistantMessage,
    Audio,
    Image,
    Message,
    Model,
    ModelError,
    ModelRequest,
    Text,
    TextDelta,
    Thinking,
    ToolMessage,
    ToolUse,
    UserMessage,
)

__all__ = ["compact"]

log: logging.Logger = logging.getLogger(__name__)

SUMMARY_TOKENS = 2000
SUMMARY_SECONDS = 120.0
PART_CHARS = 1500
"""Characters of one part of a message that the summarizing model sees."""

KEPT_CHARS = 20_000
"""Characters of the running prompt that survive word for word."""

_SYSTEM = (
    "You summarize the conversation of a coding agent with its user, so that the agent can go on with the "
    "summary alone. Keep: what the user wants and has decided, which files matter and what was changed in "
    "them, commands and their outcomes, open problems, and what comes next. Be exact with names and paths. "
    "No preamble."
)


async def compact(turn: Turn, model: Model, history: History, *, running: bool) -> None:
    """Replace the history by its summary and tell the user. With `running`, the last prompt stays as it is.

    A model that cannot summarize does not stop the turn: an outline made without it takes the place.
    """
    messages = history.messages
    number = f"compaction_{uuid.uuid4().hex[:16]}"
    before = history.tokens
    try:
        await turn.update(CompactionUpdate(compaction_id=number, status="in_progress"))
        summary = await _summary(turn, model, messages, number)
    except asyncio.CancelledError:
        await turn.update(CompactionUpdate(compaction_id=number, status="cancelled"))
        raise
    text = "Summary of the conversation so far:\n\n" + summary
    if running:
        prompt = next((m for m in reversed(messages) if isinstance(m, UserMessage)), None)
        parts = [] if prompt is None else [_clipped(part) for part in prompt.content]
        history.replace(
            [UserMessage([Text(text + "\n\nGo on with what the user asked for last, which was:"), *parts])]
        )
    else:
        history.replace(
            [
                UserMessage([Text(text)]),
                AssistantMessage([Text("I have read the summary and go on from there.")]),
            ]
        )
    done = [TextContent(text=summary)]
    await turn.update(CompactionUpdate(compaction_id=number, status="completed", summary=list(done)))
    await turn.session.save()
    if not turn.session.shows(CompactionUpdate):
        await turn.notice(
            "The conversation was summarized to make room.",
            description=f"About {before} tokens became {history.tokens}.",
        )


async def _summary(turn: Turn, model: Model, messages: list[Message], number: str) -> str:
    if model.name == "offline":
        return _outline(messages)
    text = _transcript(messages, chars=int(model.context_window * 1.5))
    question = UserMessage([Text(f"<conversation>\n{text}\n</conversation>\n\nSummarize this conversation.")])
    request = ModelRequest(
        system=_SYSTEM, messages=fitted([question], model.accepts), max_tokens=SUMMARY_TOKENS
    )
    pieces: list[str] = []
    try:
        async with asyncio.timeout(SUMMARY_SECONDS), aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                    chunk = TextContent(text=event.text)
                    await turn.update(CompactionSummaryChunk(compaction_id=number, content=chunk))
    except (ModelError, TimeoutError) as error:
        log.warning("the model could not summarize: %s", error)
    return "".join(pieces).strip() or _outline(messages)


def _transcript(messages: list[Message], *, chars: int) -> str:
    """The conversation as text, the oldest left out if it is too long."""
    lines: list[str] = []
    left = chars
    for message in reversed(messages):
        line = _line(message)
        left -= len(line)
        if left < 0:
            lines.append("[what came before is left out]")
            break
        lines.append(line)
    return "\n\n".join(reversed(lines))


def _line(message: Message) -> str:
    parts: list[str] = []
    for part in message.content:
        if isinstance(part, Text):
            parts.append(_short(part.text))
        elif isinstance(part, ToolUse):
            parts.append(f"[uses {part.name}: {_short(msgspec.json.encode(part.arguments).decode())}]")
        elif not isinstance(part, Thinking):
            parts.append(f"[{part.mime_type}]")
    who = {UserMessage: "User", AssistantMessage: "Agent", ToolMessage: "Tool"}[type(message)]
    return f"{who}: " + "\n".join(parts)


def _outline(messages: list[Message]) -> str:
    """What can be said without a model: what the user asked, and which tools were used on what."""
    lines: list[str] = []
    for message in messages:
        for part in message.content:
            if isinstance(message, UserMessage) and isinstance(part, Text):
                lines.append(f"- The user: {_short(part.text, 300)}")
            elif isinstance(part, ToolUse):
                words = ", ".join(
                    f"{name}={_short(str(value), 80)}" for name, value in part.arguments.items()
                )
                lines.append(f"- Used {part.name}: {words}")
    return "\n".join(lines[-100:]) or "- Nothing was said yet."


def _short(text: str, limit: int = PART_CHARS) -> str:
    return text if len(text) <= limit else f"{text[: limit * 2 // 3]} […] {text[-limit // 3 :]}"


def _clipped(part: Text | Image | Audio) -> Text | Image | Audio:
    return Text(_short(part.text, KEPT_CHARS)) if isinstance(part, Text) else part

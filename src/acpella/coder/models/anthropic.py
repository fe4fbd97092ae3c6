"""Models behind the Anthropic Messages API."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from acpella._plain_json import as_dict, as_int, as_list, as_str

from .base import (
    AssistantMessage,
    Audio,
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    Stop,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolMessage,
    ToolUse,
    ToolUseStarted,
    UserMessage,
)
from .history import paired
from .loose import read_arguments
from .model_server import ModelServer
from .server_errors import Adjusted, Rejected, server_error

__all__ = ["AnthropicModel"]

VERSION = "2023-06-01"

THINKING_BUDGETS = {"low": 2048, "medium": 8192, "high": 24576}
"""Tokens for thought, on top of the tokens of the answer."""

# Thoughts carry who made them, so that no provider is shown the signature of another.
_SIGNED = "anthropic:"
_REDACTED = "anthropic-redacted:"

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

# Later ones decide themselves how much they think, and take an effort instead of a budget.
_WITH_BUDGET = re.compile(r"(?!claude-)|claude-(?:\d|[a-z]+-4(?:-(?:[0-5]|\d{8}))?(?:-\d{8}|-latest)?$)")

_STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Block:
    """A part of the answer that is being written."""

    kind: str
    id: str = ""
    name: str = ""
    json: list[str] = field(default_factory=list[str])
    input: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class _Manner:
    """How to phrase this one request, as learnt from rejections by the server."""

    without_thoughts: bool = False
    caching: bool = True
    """What the last attempt did; another request may have learnt better meanwhile."""


class AnthropicModel:
    """A model of Anthropic, or of anybody who offers the same API."""

    def __init__(
        self,
        name: str,
        server: ModelServer,
        *,
        context_window: int = 200_000,
        accepts: frozenset[Literal["image", "audio"]] = frozenset({"image"}),
    ) -> None:
        self._name = name
        self._server = server
        self._context_window = context_window
        self._accepts = accepts
        # learnt from rejections, for all requests to come
        budget_first = _WITH_BUDGET.match(server.model) is not None
        self._thinking = ["enabled", "adaptive"] if budget_first else ["adaptive", "enabled"]
        self._without: set[str] = set()
        self._max_output: int | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def context_window(self) -> int:
        return self._context_window

    @property
    def accepts(self) -> frozenset[Literal["image", "audio"]]:
        return self._accepts

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        manner = _Manner()
        async with aclosing(self._server.stream(lambda: self._attempt(request, manner))) as events:
            async for event in events:
                yield event

    # -- the request ------------------------------------------------------------------------------

    def _body(self, request: ModelRequest, manner: _Manner) -> dict[str, Any]:
        caching = manner.caching = "cache_control" not in self._without
        messages = _messages(request.messages, self._accepts, thoughts=not manner.without_thoughts)
        body: dict[str, Any] = {
            "model": self._server.model,
            "stream": True,
            "max_tokens": max(1, min(request.max_tokens, self._context_window // 2)),
            "messages": messages,
        }
        if request.system.strip():
            system: dict[str, Any] = {"type": "text", "text": request.system}
            if caching:
                system["cache_control"] = {"type": "ephemeral"}
            body["system"] = [system]
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        if caching:
            # mark the current end, and the end of the last request, up to which the cache reaches
            for message in [message for message in messages if message["role"] == "user"][-2:]:
                message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        if request.thinking != "off" and self._thinking and not manner.without_thoughts:
            budget = THINKING_BUDGETS[request.thinking]
            body["max_tokens"] += budget
            thinking: dict[str, Any] = {"type": self._thinking[0]}
            body["thinking"] = thinking
            if self._thinking[0] == "enabled":
                thinking["budget_tokens"] = budget
            else:
                if "display" not in self._without:
                    thinking["display"] = "summarized"
                if "output_config" not in self._without:
                    body["output_config"] = {"effort": request.thinking}
        if self._max_output is not None:
            body["max_tokens"] = min(body["max_tokens"], self._max_output)
            thinking = as_dict(body.get("thinking"))
            if as_int(thinking.get("budget_tokens")) >= body["max_tokens"]:
                thinking["budget_tokens"] = max(1024, body["max_tokens"] // 2)
        return body

    def _adjust(self, rejected: Rejected, body: dict[str, Any], manner: _Manner) -> bool:
        """True if the request can be put in another way that this rejection does not forbid."""
        if rejected.status not in (400, 422) or rejected.overflow:
            return False
        words = rejected.raw
        if limit := re.search(r"max_tokens: \d+ > (\d+)", words):
            self._max_output = max(1, int(limit[1]))
            return body["max_tokens"] > self._max_output
        if "cache_control" in words and manner.caching:
            self._without.add("cache_control")
            return True
        about_history = (
            "signature" in words or "redacted_thinking" in words or re.search(r"messages\.\d+", words)
        )
        if about_history and re.search("thinking|signature", words) and not manner.without_thoughts:
            manner.without_thoughts = True  # thoughts of another model, or of another account
            return True
        if "thinking" not in body:
            return False
        if re.search("output_config|effort", words) and "output_config" in body:
            self._without.add("output_config")
            return True
        if "display" in words and "display" in body["thinking"]:
            self._without.add("display")
            return True
        if re.search("thinking|budget_tokens|adaptive", words):
            self._thinking = [kind for kind in self._thinking if kind != body["thinking"]["type"]]
            return True
        return False

    # -- the answer -------------------------------------------------------------------------------

    async def _attempt(self, request: ModelRequest, manner: _Manner) -> AsyncGenerator[ModelEvent, None]:
        body = self._body(request, manner)
        answer = _Answer(self._server)
        try:
            async with aclosing(self._server.events(body)) as events:
                while not answer.complete:
                    # after the stop reason, one event without content follows
                    limit = self._server.limits.ending if answer.stop_reason else None
                    try:
                        async with asyncio.timeout(limit):
                            name, data = await anext(events)
                    except (StopAsyncIteration, TimeoutError):
                        break
                    for event in answer.read(name, data):
                        yield event
        except Rejected as rejected:
            if self._adjust(rejected, body, manner):
                raise Adjusted(rejected) from None
            raise self._server.errors.explained(rejected) from None
        for event in answer.end():
            yield event


class _Answer:
    """Reads the events of one answer."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._blocks: dict[int, _Block] = {}
        self._usage = ModelUsage()
        self._streamed = False
        self._tools = 0
        self.stop_reason = ""
        self.complete = False

    def read(self, name: str, data: dict[str, Any]) -> list[ModelEvent]:
        kind = as_str(data.get("type")) or (
            name if name != "message" else ""
        )  # what SSE calls events without name
        events: list[ModelEvent] = []
        index = as_int(data.get("index"))
        if kind == "message_start":
            events = self._count(as_dict(as_dict(data.get("message")).get("usage")))
        elif kind == "content_block_start":
            events = self._begin(index, as_dict(data.get("content_block")))
        elif kind == "content_block_delta":
            events = self._continue(index, as_dict(data.get("delta")))
        elif kind == "content_block_stop":
            events = self._finish(index)
        elif kind == "message_delta":
            self.stop_reason = as_str(as_dict(data.get("delta")).get("stop_reason")) or self.stop_reason
            events = self._count(as_dict(data.get("usage")))
        elif kind == "message_stop":
            self.complete = True
        elif kind == "message":  # a server that does not stream
            for index, block in enumerate(as_list(data.get("content"))):
                events += self._begin(index, as_dict(block)) + self._finish(index)
            events += self._count(as_dict(data.get("usage")))
            self.stop_reason, self.complete = as_str(data.get("stop_reason")), True
        elif kind == "error" or (kind == "json" and "error" in data):
            raise self._server.errors.in_stream(server_error(data), streamed=self._streamed)
        self._streamed = self._streamed or any(not isinstance(event, ModelUsage) for event in events)
        return events  # "ping", and whatever is invented later, says nothing

    def end(self) -> list[ModelEvent]:
        if not self.stop_reason:
            raise self._server.errors.cut()
        events = [event for index in list(self._blocks) for event in self._finish(index)]
        usual: StopReason = "tool_use" if self._tools else "end"
        return [*events, Stop(_STOPS.get(self.stop_reason, usual))]

    def _begin(self, index: int, block: dict[str, Any]) -> list[ModelEvent]:
        kind = as_str(block.get("type"))
        opened = _Block(
            kind, as_str(block.get("id")), as_str(block.get("name")), input=as_dict(block.get("input"))
        )
        self._blocks[index] = opened
        if kind == "text" and (text := as_str(block.get("text"))):
            return [TextDelta(text)]
        if kind == "thinking":
            text, signature = as_str(block.get("thinking")), as_str(block.get("signature"))
            return (
                [ThinkingDelta(text, _SIGNED + signature if signature else "")] if text or signature else []
            )
        if kind == "redacted_thinking":
            return [ThinkingDelta("", _REDACTED + as_str(block.get("data")))]
        if kind == "tool_use":
            self._tools += 1
            return [ToolUseStarted(opened.id, opened.name)]
        return []

    def _continue(self, index: int, delta: dict[str, Any]) -> list[ModelEvent]:
        kind = as_str(delta.get("type"))
        if kind == "text_delta" and (text := as_str(delta.get("text"))):
            return [TextDelta(text)]
        if kind == "thinking_delta" and (text := as_str(delta.get("thinking"))):
            return [ThinkingDelta(text)]
        if kind == "signature_delta":
            return [ThinkingDelta("", _SIGNED + as_str(delta.get("signature")))]
        if kind == "input_json_delta" and index in self._blocks:
            self._blocks[index].json.append(as_str(delta.get("partial_json")))
        return []

    def _finish(self, index: int) -> list[ModelEvent]:
        block = self._blocks.pop(index, None)
        if block is None or block.kind != "tool_use":
            return []
        text = "".join(block.json)
        arguments, invalid = read_arguments(text) if text else (block.input, "")
        return [ToolUse(block.id, block.name, arguments, invalid)]

    def _count(self, usage: dict[str, Any]) -> list[ModelEvent]:
        """The last event of a stream may name the output alone, so the fields are kept one by one."""
        if not usage:
            return []
        read = as_int(usage.get("cache_read_input_tokens"))
        fresh = as_int(usage.get("input_tokens")) + as_int(usage.get("cache_creation_input_tokens")) + read
        output = as_int(usage.get("output_tokens"))
        before = self._usage
        self._usage = ModelUsage(
            max(fresh, before.input), max(output, before.output), max(read, before.cached)
        )
        return [self._usage]


# -- messages as the API wants them ------------------------------------------------------------------


def _messages(
    messages: list[Message], accepts: frozenset[Literal["image", "audio"]], *, thoughts: bool
) -> list[dict[str, Any]]:
    """Alternating turns of user and assistant; tool results come first in the turn of the user."""
    turns: list[dict[str, Any]] = []
    for message in paired(messages):
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        content = _content(message, accepts, thoughts=thoughts)
        if not content:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(content)
        else:
            turns.append({"role": role, "content": content})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": "(the conversation goes on)"}]})
    return turns


def _content(
    message: Message, accepts: frozenset[Literal["image", "audio"]], *, thoughts: bool
) -> list[dict[str, Any]]:
    if isinstance(message, ToolMessage):
        inner = [block for part in message.content for block in _block(part, accepts)]
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": _id(message.tool_use_id),
            "content": inner or [{"type": "text", "text": "(nothing)"}],
        }
        return [{**result, "is_error": True} if message.is_error else result]
    if isinstance(message, UserMessage):
        return [block for part in message.content for block in _block(part, accepts)]
    blocks: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ToolUse):
            used = {"type": "tool_use", "id": _id(part.id), "name": part.name, "input": part.arguments}
            blocks.append(used)
        elif isinstance(part, Text):
            blocks.extend(_block(part, accepts))
        elif thoughts and part.signature.startswith(_SIGNED):
            signature = part.signature.removeprefix(_SIGNED)
            blocks.append({"type": "thinking", "thinking": part.text, "signature": signature})
        elif thoughts and part.signature.startswith(_REDACTED):
            blocks.append({"type": "redacted_thinking", "data": part.signature.removeprefix(_REDACTED)})
    if blocks and all(block["type"] in ("thinking", "redacted_thinking") for block in blocks):
        return []  # a thought alone does not make a turn
    return blocks


def _block(
    part: Text | Image | Audio | Thinking, accepts: frozenset[Literal["image", "audio"]]
) -> list[dict[str, Any]]:
    if isinstance(part, Image):
        if "image" in accepts and part.mime_type in _IMAGES:
            source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
            return [{"type": "image", "source": source}]
        return [
            {
                "type": "text",
                "text": f"(an image of type {part.mime_type} that cannot be shown to this model)",
            }
        ]
    if isinstance(part, Audio):
        return [
            {
                "type": "text",
                "text": f"(a sound of type {part.mime_type} that cannot be played to this model)",
            }
        ]
    return [{"type": "text", "text": part.text}] if part.text.strip() else []  # empty ones are rejected


def _id(tool_use_id: str) -> str:
    """The API takes nothing else, and ids of other models may be anything."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool_use_id)[:64] or "_"

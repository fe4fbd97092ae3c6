"""Models behind chat completions: the API of OpenAI, Ollama, vLLM, LM Studio, OpenRouter, Google."""

import asyncio
import re
import secrets
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
    ModelError,
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
from .loose import encode, read_arguments
from .model_server import ModelServer
from .server_errors import Adjusted, Rejected, server_error

__all__ = ["OpenAIModel"]

# Signatures of thoughts that only this module reads: under which field a thought came, and Google's proof of
# thought that belongs to a tool call.
_FIELD = "field:"
_GOOGLE = "google:"

GOOGLE_UNSIGNED = "skip_thought_signature_validator"
"""What Google takes instead of its signature, for tool calls that another model made."""

# What a server may not know, and the words by which its answer shows that.
_OPTIONAL = {
    "stream_options": "stream_options|include_usage",
    "reasoning_effort": "reasoning|thinking|think value",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_completion_tokens",
    "reasoning_content": "reasoning_content",
    "extra_content": "extra_content",
}
_UNKNOWN_FIELD = re.compile(
    "unknown|unrecognized|unexpected|extra (?:inputs|fields)|additional properties", re.IGNORECASE
)

_STOPS: dict[str, StopReason] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}


@dataclass(slots=True)
class _Call:
    """A tool use that is being written."""

    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    started: bool = False


class OpenAIModel:
    """A model that is asked by OpenAI-compatible chat completions."""

    def __init__(
        self,
        name: str,
        server: ModelServer,
        *,
        context_window: int = 32_768,
        accepts: frozenset[Literal["image", "audio"]] = frozenset(),
        completion_tokens: bool = False,
        google: bool = False,
    ) -> None:
        self._name = name
        self._server = server
        self._context_window = context_window
        self._accepts = accepts
        self._google = google
        # OpenAI's own newer models know one name of this field, everybody else the other
        self._without = {"max_tokens" if completion_tokens else "max_completion_tokens"}

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
        async with aclosing(self._server.stream(lambda: self._attempt(request))) as events:
            async for event in events:
                yield event

    # -- the request ------------------------------------------------------------------------------

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        tokens = max(1, min(request.max_tokens, self._context_window // 2))
        messages = _Messages(self._accepts, google=self._google, fields=self._without).of(request)
        body: dict[str, Any] = {
            "model": self._server.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": messages,
            "max_tokens": tokens,
            "max_completion_tokens": tokens,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        if request.thinking != "off":
            body["reasoning_effort"] = request.thinking
        return {key: value for key, value in body.items() if key not in self._without}

    def _adjust(self, rejected: Rejected, body: dict[str, Any]) -> bool:
        """True if the request has a field fewer the next time."""
        if rejected.status not in (400, 422) or rejected.overflow:
            return False
        sent = {field for field in _OPTIONAL if field in body or _in_messages(field, body)}
        fields = {field for field in sent if re.search(_OPTIONAL[field], rejected.raw, re.IGNORECASE)}
        if not fields and _UNKNOWN_FIELD.search(rejected.raw):
            fields = sent  # one of them, but it does not say which
        if fields & {"max_tokens", "max_completion_tokens"} and len(fields) == 1:
            return self._other_limit(rejected, *fields)
        fields -= {"max_tokens", "max_completion_tokens"}
        self._without |= fields
        return bool(fields)

    def _other_limit(self, rejected: Rejected, field: str) -> bool:
        if _asks_less(rejected.raw):
            return False  # it knows the field, and minds the number
        if field in self._without:
            return True  # another request has learnt it meanwhile
        other = "max_completion_tokens" if field == "max_tokens" else "max_tokens"
        again = other in self._without and "limits" not in self._without
        if again:
            self._without = (self._without - {other}) | {field, "limits"}  # the other name once, not for ever
        return again

    # -- the answer -------------------------------------------------------------------------------

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        body = self._body(request)
        answer = _Answer(self._server)
        try:
            async with aclosing(self._server.events(body)) as events:
                while not answer.done:
                    # the usage follows the reason to finish, and not every server closes the stream
                    limit = self._server.limits.ending if answer.finish_reason else None
                    try:
                        async with asyncio.timeout(limit):
                            _, data = await anext(events)
                    except (StopAsyncIteration, TimeoutError):
                        break
                    for event in answer.read(data):
                        yield event
        except Rejected as rejected:
            if self._adjust(rejected, body):
                raise Adjusted(rejected) from None
            if "does not support tools" in rejected.raw:
                raise ModelError(
                    f"{self._server.model} cannot use tools, so an agent cannot use it; choose another"
                ) from None
            raise self._server.errors.explained(rejected) from None
        for event in answer.end():
            yield event


def _asks_less(words: str) -> bool:
    return (
        re.search(r"too large|at most|less than|exceed|maximum (?:allowed|value)", words, re.IGNORECASE)
        is not None
    )


def _in_messages(field: str, body: dict[str, Any]) -> bool:
    return any(
        field in message or any(field in as_dict(call) for call in as_list(message.get("tool_calls")))
        for message in body["messages"]
    )


class _Answer:
    """Reads the chunks of one answer."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._streamed = False
        self._refused = False
        self._thought_field = ""
        self.finish_reason = ""
        self.done = False

    def read(self, data: dict[str, Any]) -> list[ModelEvent]:
        if data.get("error") or data.get("object") == "error":
            raise self._server.errors.in_stream(server_error(data), streamed=self._streamed)
        self.done = data.get("done") is True
        events: list[ModelEvent] = []
        for choice in as_list(data.get("choices"))[:1]:
            choice = as_dict(choice)
            events += self._delta(as_dict(choice.get("delta")) or as_dict(choice.get("message")))
            reason = as_str(choice.get("finish_reason"))
            if reason == "error":
                error = server_error(choice, "the answer ended with an error")
                raise self._server.errors.in_stream(error, streamed=self._streamed or bool(events))
            self.finish_reason = reason or self.finish_reason
        if usage := as_dict(data.get("usage")):
            events.append(_usage(usage))
        self._streamed = self._streamed or any(not isinstance(event, ModelUsage) for event in events)
        return events

    def end(self) -> list[ModelEvent]:
        if not self.finish_reason and not (self.done and (self._streamed or self._calls)):
            raise self._server.errors.cut()
        events: list[ModelEvent] = []
        if self._thought_field:
            events.append(ThinkingDelta("", _FIELD + self._thought_field))
        for call in self._calls:
            if call.name:
                arguments, invalid = read_arguments("".join(call.arguments))
                events.append(ToolUse(call.id, call.name, arguments, invalid))
        usual: StopReason = "tool_use" if any(call.name for call in self._calls) else "end"
        reason = _STOPS.get(self.finish_reason.lower(), usual)
        return [*events, Stop("refusal" if self._refused else reason)]

    def _delta(self, delta: dict[str, Any]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for name in ("reasoning_content", "reasoning"):
            if thought := as_str(delta.get(name)):
                self._thought_field = name
                events.append(ThinkingDelta(thought))
                break
        text = _said(delta.get("content"))
        if text or delta.get("tool_calls"):
            events += self._end_thought()
        if text:
            events.append(TextDelta(text))
        if refusal := as_str(delta.get("refusal")):
            self._refused = True
            events.append(TextDelta(refusal))
        for call in as_list(delta.get("tool_calls")):
            events += self._call(as_dict(call))
        return events

    def _end_thought(self) -> list[ModelEvent]:
        field, self._thought_field = self._thought_field, ""
        return [ThinkingDelta("", _FIELD + field)] if field else []

    def _call(self, delta: dict[str, Any]) -> list[ModelEvent]:
        function = as_dict(delta.get("function"))
        id, name = as_str(delta.get("id")), as_str(function.get("name"))
        call = self._open(delta.get("index"), id, name)
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments:
            call.arguments.append(encode(arguments).decode())
        events: list[ModelEvent] = []
        proof = as_str(as_dict(as_dict(delta.get("extra_content")).get("google")).get("thought_signature"))
        if proof:
            events.append(ThinkingDelta("", f"{_GOOGLE}{call.id}:{proof}"))
        if call.name and not call.started:
            call.started = True
            events.append(ToolUseStarted(call.id, call.name))
        return events

    def _open(self, index: Any, id: str, name: str) -> _Call:
        """The call that a delta belongs to; some servers leave out index or id, or number every call 0."""
        earlier = (
            self._at.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        )
        if earlier is not None and not (name and earlier.name and id != earlier.id and (id or index is None)):
            return earlier
        call = _Call(id or f"call_{secrets.token_hex(8)}")
        self._calls.append(call)
        if isinstance(index, int):
            self._at[index] = call
        return call


def _said(content: Any) -> str:
    """Text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    return "".join(as_str(as_dict(part).get("text")) for part in as_list(content))


def _usage(usage: dict[str, Any]) -> ModelUsage:
    cached = as_int(as_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return ModelUsage(as_int(usage.get("prompt_tokens")), as_int(usage.get("completion_tokens")), cached)


# -- messages as the API wants them ------------------------------------------------------------------


class _Messages:
    def __init__(
        self, accepts: frozenset[Literal["image", "audio"]], *, google: bool, fields: set[str]
    ) -> None:
        self._accepts = accepts
        self._google = google
        self._without = fields

    def of(self, request: ModelRequest) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        if request.system.strip():
            out.append({"role": "system", "content": request.system})
        history = paired(request.messages)
        users = [i for i, message in enumerate(history) if isinstance(message, UserMessage)]
        last_user = users[-1] if users else -1
        waiting: list[dict[str, Any]] = []  # pictures that tools gave; they may not stand between results
        for index, message in enumerate(history):
            if isinstance(message, ToolMessage):
                out.append(self._result(message))
                waiting += self._pictures(message)
                continue
            if waiting:
                out.append({"role": "user", "content": waiting})
                waiting = []
            out += self._message(message, current=index > last_user)
        if waiting:
            out.append({"role": "user", "content": waiting})
        return out

    def _message(self, message: Message, *, current: bool) -> list[dict[str, Any]]:
        if isinstance(message, UserMessage):
            parts = [self._part(part) for part in message.content]
            if all(part["type"] == "text" for part in parts):  # small servers know no list of parts
                return [{"role": "user", "content": "\n\n".join(part["text"] for part in parts)}]
            return [{"role": "user", "content": parts}]
        if isinstance(message, ToolMessage):
            return []
        return self._assistant(message, current=current)

    def _assistant(self, message: AssistantMessage, *, current: bool) -> list[dict[str, Any]]:
        text = "".join(part.text for part in message.content if isinstance(part, Text))
        calls = [self._use(part, message) for part in message.content if isinstance(part, ToolUse)]
        if not text and not calls:
            return []
        reply: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            reply["tool_calls"] = calls
            if self._google and "extra_content" not in self._without:
                _sign(calls[0])
        if current and "reasoning_content" not in self._without:
            thoughts = [part for part in message.content if isinstance(part, Thinking)]
            if any(part.signature == _FIELD + "reasoning_content" for part in thoughts):
                reply["reasoning_content"] = "".join(part.text for part in thoughts)
        return [reply]

    def _use(self, use: ToolUse, message: AssistantMessage) -> dict[str, Any]:
        function = {"name": use.name, "arguments": encode(use.arguments).decode()}
        call: dict[str, Any] = {"id": use.id, "type": "function", "function": function}
        mark = f"{_GOOGLE}{use.id}:"
        for part in message.content:
            if self._google and isinstance(part, Thinking) and part.signature.startswith(mark):
                call["extra_content"] = {"google": {"thought_signature": part.signature.removeprefix(mark)}}
        return {key: value for key, value in call.items() if key not in self._without}

    def _result(self, message: ToolMessage) -> dict[str, Any]:
        texts = [part.text for part in message.content if isinstance(part, Text)]
        pictures = sum(isinstance(part, Image) for part in message.content)
        if pictures:
            note = "shown in the next message" if "image" in self._accepts else "that this model cannot see"
            texts.append(f"({pictures} image{'s' if pictures > 1 else ''} {note})")
        content = "\n".join(texts) or "(nothing)"
        if message.is_error:
            content = f"Error: {content}"
        return {"role": "tool", "tool_call_id": message.tool_use_id, "content": content}

    def _pictures(self, message: ToolMessage) -> list[dict[str, Any]]:
        if "image" not in self._accepts:
            return []
        return [self._part(part) for part in message.content if isinstance(part, Image)]

    def _part(self, part: Text | Image | Audio) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        if isinstance(part, Image):
            if "image" in self._accepts:
                url = f"data:{part.mime_type};base64,{part.data}"
                return {"type": "image_url", "image_url": {"url": url}}
            return {"type": "text", "text": f"(an image of type {part.mime_type} that this model cannot see)"}
        kind = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}.get(
            part.mime_type
        )
        if "audio" in self._accepts and kind:
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": kind}}
        return {"type": "text", "text": f"(a sound of type {part.mime_type} that this model cannot hear)"}


def _sign(call: dict[str, Any]) -> None:
    """Google wants a signature on the first call of each step, also where another model made it."""
    call.setdefault("extra_content", {"google": {"thought_signature": GOOGLE_UNSIGNED}})

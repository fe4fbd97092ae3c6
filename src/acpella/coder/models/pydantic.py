"""Any other model, through pydantic-ai (the extra `models`)."""

import asyncio
import base64
import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Literal

from acpella._redact import redact

from . import families
from .base import (
    AssistantMessage,
    ContextOverflow,
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

if TYPE_CHECKING:
    from pydantic_ai import messages as pai
    from pydantic_ai.models import Model as PydanticAIModel

__all__ = ["PydanticModel"]

_SIGNED = "pydantic:"

SILENCE = 300.0
"""Seconds without an event; without it, a provider that hangs would hang the turn."""

_OVERFLOW = re.compile(
    "context.{0,20}(?:length|window|limit|size)|too (?:long|many tokens)|maximum.{0,20}tokens", re.IGNORECASE
)


class PydanticModel:
    """A model that pydantic-ai knows: "provider:name", or one of its model objects.

    Retries, keys and addresses are those of pydantic-ai and of the provider's library.
    """

    def __init__(self, model: "str | PydanticAIModel", *, context_window: int | None = None) -> None:
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError:
            raise ModelError(
                "models by pydantic-ai need the extra `models`: pip install 'acpella[models]'"
            ) from None
        try:
            self._model = infer_model(model)
        except (UserError, ValueError, ImportError) as error:
            raise ModelError(f"pydantic-ai cannot use {model!r}: {_short(str(error))}") from None
        self._name = f"pydantic:{model if isinstance(model, str) else self._model.model_name}"
        self._context_window = context_window or families.context_window(self._model.model_name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def context_window(self) -> int:
        return self._context_window

    @property
    def accepts(self) -> frozenset[Literal["image", "audio"]]:
        return families.accepts(self._model.model_name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        from pydantic_ai import messages as pai
        from pydantic_ai.exceptions import AgentRunError, UserError
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.settings import ModelSettings
        from pydantic_ai.tools import ToolDefinition

        settings = ModelSettings(max_tokens=max(1, min(request.max_tokens, self._context_window // 2)))
        if request.thinking != "off":
            settings["thinking"] = request.thinking
        tools = [
            ToolDefinition(name=t.name, description=t.description, parameters_json_schema=t.parameters)
            for t in request.tools
        ]
        parameters = ModelRequestParameters(function_tools=tools, allow_text_output=True)
        streamed, used = False, False
        try:
            settings_and_parameters = self._model.prepare_request(settings, parameters)
            async with self._model.request_stream(_history(request), *settings_and_parameters) as response:
                events = aiter(response)
                while True:
                    async with asyncio.timeout(SILENCE):
                        event = await anext(events, None)
                    if event is None:
                        break
                    for ours in _translate(event):
                        streamed = True
                        used = used or isinstance(ours, ToolUseStarted)
                        yield ours
                final = response.get()
                for part in final.parts:
                    if isinstance(part, pai.ToolCallPart):
                        raw_arguments = (
                            part.args if isinstance(part.args, str) else encode(part.args or {}).decode()
                        )
                        arguments, invalid = read_arguments(raw_arguments)
                        yield ToolUse(part.tool_call_id, part.tool_name, arguments, invalid)
                usage = final.usage
                yield ModelUsage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
        except (AgentRunError, UserError) as error:
            raise _explained(error, self._name, streamed=streamed) from None
        except TimeoutError:
            raise ModelError(f"{self._name} sent nothing for {SILENCE:.0f} seconds") from None
        except Exception as error:
            # every provider's library has errors of its own
            raise ModelError(f"{self._name} failed: {type(error).__name__}: {_short(str(error))}") from error
        reasons: dict[str | None, StopReason] = {"length": "max_tokens", "content_filter": "refusal"}
        yield Stop(reasons.get(final.finish_reason, "tool_use" if used else "end"))


def _translate(event: Any) -> list[ModelEvent]:
    from pydantic_ai import messages as pai

    if isinstance(event, pai.PartStartEvent):
        part = event.part
        if isinstance(part, pai.TextPart):
            return [TextDelta(part.content)] if part.content else []
        if isinstance(part, pai.ThinkingPart):
            return [ThinkingDelta(part.content)] if part.content else []
        if isinstance(part, pai.ToolCallPart):
            return [ToolUseStarted(part.tool_call_id, part.tool_name)]
    elif isinstance(event, pai.PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, pai.TextPartDelta):
            return [TextDelta(delta.content_delta)] if delta.content_delta else []
        if isinstance(delta, pai.ThinkingPartDelta):
            return [ThinkingDelta(delta.content_delta)] if delta.content_delta else []
    elif isinstance(event, pai.PartEndEvent):
        part = event.part
        if isinstance(part, pai.ThinkingPart) and part.signature:
            return [ThinkingDelta("", f"{_SIGNED}{part.provider_name or ''}:{part.signature}")]
    return []


def _history(request: ModelRequest) -> "list[pai.ModelMessage]":
    from pydantic_ai import messages as pai

    history: list[pai.ModelMessage] = []
    parts: list[pai.ModelRequestPart] = []
    if request.system.strip():
        parts.append(pai.SystemPromptPart(content=request.system))
    names: dict[str, str] = {}
    for message in paired(request.messages):
        if isinstance(message, AssistantMessage):
            if parts:
                history.append(pai.ModelRequest(parts=parts))
                parts = []
            names |= {part.id: part.name for part in message.content if isinstance(part, ToolUse)}
            history.append(pai.ModelResponse(parts=[_said(part) for part in message.content]))
        else:
            parts += _asked(message, names)
    if parts:
        history.append(pai.ModelRequest(parts=parts))
    return history


def _said(part: Text | Thinking | ToolUse) -> "pai.ModelResponsePart":
    from pydantic_ai import messages as pai

    if isinstance(part, ToolUse):
        return pai.ToolCallPart(tool_name=part.name, args=part.arguments, tool_call_id=part.id)
    if isinstance(part, Text):
        return pai.TextPart(content=part.text)
    if part.signature.startswith(_SIGNED):
        provider, _, signature = part.signature.removeprefix(_SIGNED).partition(":")
        return pai.ThinkingPart(content=part.text, signature=signature, provider_name=provider or None)
    return pai.ThinkingPart(content=part.text)


def _asked(message: Message, names: dict[str, str]) -> "list[pai.ModelRequestPart]":
    from pydantic_ai import messages as pai

    if isinstance(message, UserMessage):
        content: list[pai.UserContent] = [
            part.text
            if isinstance(part, Text)
            else pai.BinaryContent(data=base64.b64decode(part.data), media_type=part.mime_type)
            for part in message.content
        ]
        return [pai.UserPromptPart(content=content)]
    if isinstance(message, ToolMessage):
        text = "\n".join(part.text for part in message.content if isinstance(part, Text))
        result = pai.ToolReturnPart(
            tool_name=names.get(message.tool_use_id, "tool"),
            content=f"Error: {text}" if message.is_error else text or "(nothing)",
            tool_call_id=message.tool_use_id,
        )
        pictures = [
            pai.BinaryContent(data=base64.b64decode(part.data), media_type=part.mime_type)
            for part in message.content
            if isinstance(part, Image)
        ]
        return [result, pai.UserPromptPart(content=pictures)] if pictures else [result]
    return []


def _explained(error: Exception, name: str, *, streamed: bool) -> ModelError:
    words = _short(str(error))
    if not streamed and (
        _OVERFLOW.search(str(error)) or type(error).__name__ == "ModelContextWindowExceededError"
    ):
        return ContextOverflow(f"the conversation is too long for {name}: {words}")
    return ModelError(f"{name} failed: {words}")


def _short(text: str) -> str:
    text = " ".join(redact(text).split())
    return text if len(text) <= 600 else text[:599] + "…"

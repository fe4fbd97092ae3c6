"""Agents of pydantic-ai with a scripted model."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True


def model(script: Script, name: str = "scripted") -> FunctionModel:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        seen = _seen(messages, [tool.name for tool in info.function_tools])
        seen.model = name
        for index, piece in enumerate(script.next(seen)):
            if isinstance(piece, str):
                yield piece
            elif isinstance(piece, Think):
                yield {index: DeltaThinkingPart(content=piece.text)}
            elif isinstance(piece, Call):
                yield {index: DeltaToolCall(piece.name, _json(piece.arguments), tool_call_id=piece.id)}
            elif isinstance(piece, Wait):
                piece.reached.set()
                await _for_ever()

    return FunctionModel(stream_function=stream, model_name=name)


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    made = [Tool(tool, requires_approval=tool.__name__ in set(approve)) for tool in tools]
    return Agent(model(script), name="scripted", tools=made)


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    from acpella.adapters.pydantic_ai import show_events

    helper = agent(inner, tools)

    async def delegate(task: str) -> str:
        return (await helper.run(task, event_stream_handler=show_events)).output

    return agent(script, [delegate])


def options(agent: Any) -> dict[str, Any]:
    return {}


def _json(value: Any) -> str:
    import json

    return json.dumps(value)


async def _for_ever() -> None:
    import asyncio

    await asyncio.Event().wait()


def _seen(messages: list[ModelMessage], tools: list[str]) -> Seen:
    seen = Seen(tools=tools)
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                content = [part.content] if isinstance(part.content, str) else part.content
                seen.user += [item for item in content if isinstance(item, str)]
                seen.images += [item.media_type for item in content if isinstance(item, BinaryContent)]
            elif isinstance(part, TextPart) and isinstance(message, ModelResponse):
                seen.assistant.append(part.content)
            elif isinstance(part, ToolCallPart):
                seen.calls.append(part.tool_call_id)
            elif isinstance(part, ToolReturnPart):
                seen.results[part.tool_call_id] = part.model_response_str()
            elif isinstance(part, RetryPromptPart) and part.tool_call_id:
                seen.results[part.tool_call_id] = part.model_response()
    return seen

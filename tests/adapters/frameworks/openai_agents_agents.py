"""Agents of the OpenAI Agents SDK with a scripted model."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from agents import Agent, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseReasoningTextDeltaEvent,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from pydantic import BaseModel

from acpella.adapters.openai_agents import show_events
from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True

set_tracing_disabled(True)

_ids = itertools.count(1)


class Task(BaseModel):
    task: str


class ScriptedModel(Model):
    def __init__(self, script: Script, name: str) -> None:
        self._script = script
        self._name = name

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: Any,
        tools: list[Any],
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        seen = _seen(input, [tool.name for tool in tools])
        seen.model = self._name
        text, thought, output = "", "", []
        numbers = itertools.count()
        for piece in self._script.next(seen):
            if isinstance(piece, str):
                text += piece
                yield ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    delta=piece,
                    content_index=0,
                    item_id="m",
                    output_index=0,
                    sequence_number=next(numbers),
                    logprobs=[],
                )
            elif isinstance(piece, Think):
                thought += piece.text
                yield ResponseReasoningTextDeltaEvent(
                    type="response.reasoning_text.delta",
                    delta=piece.text,
                    content_index=0,
                    item_id="r",
                    output_index=0,
                    sequence_number=next(numbers),
                )
            elif isinstance(piece, Call):
                output.append(
                    ResponseFunctionToolCall(
                        type="function_call",
                        call_id=piece.id,
                        name=piece.name,
                        arguments=json.dumps(piece.arguments),
                    )
                )
            elif isinstance(piece, Wait):
                piece.reached.set()
                await asyncio.Event().wait()
        if text:
            part = ResponseOutputText(type="output_text", text=text, annotations=[])
            output.insert(
                0,
                ResponseOutputMessage(
                    id=f"msg_{next(_ids)}",
                    type="message",
                    role="assistant",
                    status="completed",
                    content=[part],
                ),
            )
        if thought:
            output.insert(0, ResponseReasoningItem(id=f"rs_{next(_ids)}", type="reasoning", summary=[]))
        response = Response(
            id=f"resp_{next(_ids)}",
            created_at=0,
            model=self._name,
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
            usage=ResponseUsage.model_validate(
                {
                    "input_tokens": 7,
                    "output_tokens": 5,
                    "total_tokens": 12,
                    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                    "output_tokens_details": {"reasoning_tokens": 0},
                }
            ),
        )
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=next(numbers)
        )


def model(script: Script, name: str = "scripted") -> ScriptedModel:
    return ScriptedModel(script, name)


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    wanted = set(approve)
    made: list[Any] = [function_tool(tool, needs_approval=tool.__name__ in wanted) for tool in tools]
    return Agent(name="scripted", model=model(script), tools=made)


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    helper = agent(inner, tools)
    delegate = helper.as_tool("delegate", "Let a helper do it", on_stream=show_events, parameters=Task)
    outer = agent(script)
    outer.tools.append(delegate)
    return outer


def options(agent: Any) -> dict[str, Any]:
    return {}


def _seen(given: Any, tools: list[str]) -> Seen:
    seen = Seen(tools=tools)
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items:
        content = item.get("content")
        if item.get("role") == "user":
            parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
            seen.user += [part["text"] for part in parts if part["type"] == "input_text"]
            images = [part["image_url"] for part in parts if part["type"] == "input_image"]
            seen.images += [url.partition(";")[0].removeprefix("data:") for url in images]
        elif item.get("type") == "message":
            seen.assistant.append("".join(part["text"] for part in content))
        elif item.get("type") == "function_call":
            seen.calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            seen.results[item["call_id"]] = item["output"]
    return seen

"""Agents of Strands with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from strands import Agent, tool
from strands.models import Model

from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True

_approve: dict[int, "tuple[Any, set[str]]"] = {}


class ScriptedModel(Model):
    def __init__(self, script: Script, name: str) -> None:
        self.script = script
        self.name = name

    def update_config(self, **config: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {"model_id": self.name}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        seen = _seen(messages, [spec["name"] for spec in tool_specs or ()])
        seen.model = self.name
        reason = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        for piece in self.script.next(seen):
            if isinstance(piece, Wait):
                piece.reached.set()
                await asyncio.Event().wait()
            start: dict[str, Any] = {}
            delta: dict[str, Any] = {}
            if isinstance(piece, str):
                delta = {"text": piece}
            elif isinstance(piece, Think):
                delta = {"reasoningContent": {"text": piece.text}}
            elif isinstance(piece, Call):
                start = {"toolUse": {"toolUseId": piece.id, "name": piece.name}}
                delta = {"toolUse": {"input": json.dumps(piece.arguments)}}
                reason = "tool_use"
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}
        usage = {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def model(script: Script, name: str = "scripted") -> ScriptedModel:
    return ScriptedModel(script, name)


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    made = Agent(model=model(script), tools=[tool(each) for each in tools], name="scripted")
    _approve[id(made)] = made, set(approve)
    return made


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    helper = agent(inner, tools)

    async def delegate(task: str) -> AsyncIterator[Any]:
        """Let a helper do it."""
        answer = ""
        async for event in helper.stream_async(task):
            yield event
            answer = str(event.get("result", answer))
        yield answer

    return agent(script, [delegate])


def options(agent: Any) -> dict[str, Any]:
    approve = _approve[id(agent)][1]
    return {"approve": approve} if approve else {}


def _seen(messages: list[Any], tools: list[str]) -> Seen:
    seen = Seen(tools=tools)
    for message in messages:
        said = ""
        for block in message["content"]:
            if "toolUse" in block:
                seen.calls.append(block["toolUse"]["toolUseId"])
            elif "toolResult" in block:
                texts = [part.get("text", "") for part in block["toolResult"]["content"]]
                seen.results[block["toolResult"]["toolUseId"]] = "".join(texts)
            elif "image" in block:
                seen.images.append("image/" + block["image"]["format"])
            elif "text" in block and message["role"] == "user":
                seen.user.append(block["text"])
            elif "text" in block:
                said += block["text"]
        if said:
            seen.assistant.append(said)
    return seen

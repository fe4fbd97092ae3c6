"""Agents of LangChain with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from acpella.adapters.langgraph import session_middleware
from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True


class ScriptedModel(BaseChatModel):
    script: Any
    name_: str = "scripted"
    tools_: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        names = [t["function"]["name"] if isinstance(t, dict) else t.name for t in tools]
        return self.model_copy(update={"tools_": names})

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        seen = _seen(messages, self.tools_)
        seen.model = self.name_
        index = 0
        for piece in self.script.next(seen):
            if isinstance(piece, Wait):
                piece.reached.set()
                await asyncio.Event().wait()
            message = _chunk(piece, index)
            index += isinstance(piece, Call)
            chunk = ChatGenerationChunk(message=message)
            if run_manager:
                await run_manager.on_llm_new_token(message.text, chunk=chunk)
            yield chunk
        usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))  # type: ignore[arg-type]


def _chunk(piece: Any, index: int) -> AIMessageChunk:
    if isinstance(piece, str):
        return AIMessageChunk(content=[{"type": "text", "text": piece, "index": 0}])
    if isinstance(piece, Think):
        return AIMessageChunk(content=[{"type": "reasoning", "reasoning": piece.text, "index": 1}])
    arguments = json.dumps(piece.arguments)
    call = {"name": piece.name, "args": arguments, "id": piece.id, "index": index, "type": "tool_call_chunk"}
    return AIMessageChunk(content="", tool_call_chunks=[call])  # type: ignore[list-item]


def model(script: Script, name: str = "scripted") -> ScriptedModel:
    return ScriptedModel(script=script, name_=name)


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    middleware: list[Any] = [session_middleware()]
    if approve:
        middleware.append(HumanInTheLoopMiddleware(interrupt_on=dict.fromkeys(approve, True)))
    made = [tool(each) for each in tools]
    return create_agent(model(script), made, middleware=middleware, name="scripted")


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    helper = agent(inner, tools)

    async def delegate(task: str) -> str:
        """Let a helper do it."""
        result = await helper.ainvoke({"messages": [{"role": "user", "content": task}]})
        return result["messages"][-1].text

    return agent(script, [delegate])


def options(agent: Any) -> dict[str, Any]:
    return {}


def _seen(messages: list[BaseMessage], tools: list[str]) -> Seen:
    seen = Seen(tools=list(tools))
    for message in messages:
        if isinstance(message, HumanMessage):
            blocks: list[Any] = message.content_blocks
            seen.user += [block["text"] for block in blocks if block["type"] == "text"]
            seen.images += [block["mime_type"] for block in blocks if block["type"] == "image"]
        elif isinstance(message, AIMessage):
            if message.text:
                seen.assistant.append(message.text)
            seen.calls += [call["id"] or "" for call in message.tool_calls]
        elif isinstance(message, ToolMessage):
            seen.results[message.tool_call_id] = message.text
    return seen

"""Agents of the Google ADK with a scripted model."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel

from adapters.script import Call, Script, Seen, Think, Wait

SUBAGENTS = True


class ScriptedModel(BaseLlm):
    script: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        seen = _seen(llm_request)
        seen.model = self.model
        whole: list[types.Part] = []
        text = ""
        for piece in self.script.next(seen):
            if isinstance(piece, str):
                text += piece
                yield _response([types.Part(text=piece)], partial=True)
            elif isinstance(piece, Think):
                whole.append(types.Part(text=piece.text, thought=True))
                yield _response([types.Part(text=piece.text, thought=True)], partial=True)
            elif isinstance(piece, Call):
                call = types.FunctionCall(id=piece.id, name=piece.name, args=piece.arguments)
                whole.append(types.Part(function_call=call))
            elif isinstance(piece, Wait):
                piece.reached.set()
                await asyncio.Event().wait()
        if text:
            whole.insert(0, types.Part(text=text))
        yield _response(whole, partial=False)


def _response(parts: list[types.Part], *, partial: bool) -> LlmResponse:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=5)
    content = types.Content(role="model", parts=parts)
    return LlmResponse(content=content, partial=partial, usage_metadata=None if partial else usage)


def model(script: Script, name: str = "scripted") -> ScriptedModel:
    return ScriptedModel(model=name, script=script)


def agent(script: Script, tools: Iterable[Callable[..., Any]] = (), approve: Iterable[str] = ()) -> Any:
    wanted = set(approve)
    made: list[Any] = [FunctionTool(tool, require_confirmation=tool.__name__ in wanted) for tool in tools]
    return LlmAgent(name="scripted", model=model(script), tools=made)


class Task(BaseModel):
    task: str


def nested(script: Script, inner: Script, tools: Iterable[Callable[..., Any]] = ()) -> Any:
    made: list[Any] = list(tools)
    helper = LlmAgent(name="delegate", description="Helps", model=model(inner), tools=made, input_schema=Task)
    return LlmAgent(name="scripted", model=model(script), tools=[AgentTool(helper)])


def options(agent: Any) -> dict[str, Any]:
    return {}


def _seen(request: LlmRequest) -> Seen:
    seen = Seen(tools=list(request.tools_dict))
    for content in request.contents:
        for part in content.parts or []:
            if part.function_call is not None:
                seen.calls.append(part.function_call.id or "")
            elif part.function_response is not None:
                response = part.function_response.response or {}
                text = response.get("result", response.get("error", response))
                seen.results[part.function_response.id or ""] = str(text)
            elif part.inline_data is not None:
                seen.images.append(part.inline_data.mime_type or "")
            elif part.text and content.role == "user":
                seen.user.append(part.text)
            elif part.text and not part.thought:
                seen.assistant.append(part.text)
    return seen

"""An agent on the official Python SDK: echoes, reads a file, asks permission, waits to be cancelled."""

import asyncio
from typing import Any

import acp
from acp.schema import AgentMessageChunk, TextContentBlock


def message(text: str) -> AgentMessageChunk:
    """Text of the agent. Spelt out: the helpers for it are not in every version."""
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text)
    )


class Agent(acp.Agent):
    def __init__(self) -> None:
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="s1")

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> acp.PromptResponse:
        verb, _, rest = prompt[0].text.partition(" ")
        say = lambda text: self._client.session_update(session_id, message(text))  # noqa: E731
        if verb == "read":
            read = await self._client.read_text_file(session_id=session_id, path=rest)
            await say(read.content)
        elif verb == "ask":
            options = [{"optionId": "x-allow", "name": "Go", "kind": "allow_once"}]
            answer = await self._client.request_permission(
                session_id=session_id,
                tool_call=acp.schema.ToolCallUpdate(tool_call_id="t1", title=rest),
                options=[acp.schema.PermissionOption.model_validate(option) for option in options],
            )
            await say(answer.outcome.outcome)
        elif verb == "wait":
            await say("waiting")
            await self._cancelled.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        else:
            for word in prompt[0].text.split():
                await say(word)
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent()))

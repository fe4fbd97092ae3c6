"""A remote agent on the official Python SDK, over HTTP and WebSocket. Prints the port it listens on."""

import asyncio
import socket
from typing import Any

import acp
import uvicorn
from acp.http.asgi import create_asgi_app
from acp.schema import AgentMessageChunk, TextContentBlock


def message(text: str) -> AgentMessageChunk:
    """Text of the agent. Spelt out: the helpers for it are not in every version."""
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text)
    )


class Agent(acp.Agent):
    """Echoes, asks permission, waits to be cancelled, remembers what it said for loads, counts."""

    said: dict[str, list[str]] = {}

    def __init__(self, client: Any) -> None:
        self._client = client
        self._cancelled = asyncio.Event()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=acp.schema.AgentCapabilities(load_session=True),
        )

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        name = f"s{len(self.said) + 1}"
        self.said[name] = []
        return acp.NewSessionResponse(session_id=name)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        for text in list(self.said[session_id]):
            await self._client.session_update(session_id, message(text))
        return acp.LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> acp.PromptResponse:
        verb, _, rest = prompt[0].text.partition(" ")

        async def say(text: str) -> None:
            self.said[session_id].append(text)
            await self._client.session_update(session_id, message(text))

        if verb == "ask":
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
        elif verb == "count":
            for number in range(int(rest)):
                await say(f"{number} ")
        else:
            for word in prompt[0].text.split():
                await say(word)
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(create_asgi_app(Agent), log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])

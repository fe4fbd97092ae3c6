"""The benchmark agent behind the official Python SDK's server. Prints its port."""

import itertools
import socket
from typing import Any

import acp
import uvicorn
from acp.http.asgi import create_asgi_app
from acp.schema import AgentMessageChunk, TextContentBlock

numbers = itertools.count(1)


def message(text: str) -> AgentMessageChunk:
    """Text of the agent. Spelt out: the helpers for it are not in every version."""
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text)
    )


class BenchmarkAgent(acp.Agent):
    def __init__(self, client: Any) -> None:
        self._client = client

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id=f"session-{next(numbers)}")

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> acp.PromptResponse:
        for number in range(int(prompt[0].text.split()[1])):
            text = f"update {number:08d} of a stream of text"
            await self._client.session_update(session_id, message(text))
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(create_asgi_app(BenchmarkAgent), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])

"""The benchmark agent on the official Python SDK (`agent-client-protocol`), with that SDK's own settings."""

import asyncio
from typing import Any

import acp
from _agent import Client, perform
from acp.schema import AgentMessageChunk, ImageContentBlock, TextContentBlock


def message(text: str) -> AgentMessageChunk:
    """Text of the agent. Spelt out: the helpers for it are not in every version."""
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=TextContentBlock(type="text", text=text)
    )


class BenchmarkAgent(acp.Agent):
    """Answers prompts with what they order."""

    def __init__(self) -> None:
        self._sessions = 0

    def on_connect(self, conn: acp.Client) -> None:
        self._connection = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        self._sessions += 1
        return acp.NewSessionResponse(session_id=f"session-{self._sessions}")

    async def prompt(
        self, session_id: str, prompt: list[TextContentBlock | ImageContentBlock], **_: Any
    ) -> acp.PromptResponse:
        meta = await perform(prompt[0].text, self._client(session_id))
        return acp.PromptResponse(stop_reason="end_turn", field_meta=meta)

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass

    def _client(self, session_id: str) -> Client:
        connection = self._connection

        def send_text(text: str) -> Any:
            return connection.session_update(session_id, message(text))

        def send_image(data: str) -> Any:
            update = AgentMessageChunk(
                session_update="agent_message_chunk",
                content=acp.schema.ImageContentBlock(type="image", data=data, mime_type="image/png"),
            )
            return connection.session_update(session_id, update)

        async def read_file(path: str) -> str:
            return (await connection.read_text_file(session_id=session_id, path=path)).content

        return Client(send_text, send_image, read_file)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(BenchmarkAgent()))

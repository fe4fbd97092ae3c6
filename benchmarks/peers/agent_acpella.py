"""The benchmark agent on acpella's protocol core."""

import asyncio
from collections.abc import Awaitable
from itertools import count

from _agent import Client, perform

from acpella.rpc import Connection
from acpella.schema import (
    AgentMessageChunk,
    CancelNotification,
    ImageContent,
    InitializeRequest,
    InitializeResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    SessionNotification,
    TextContent,
    methods,
)
from acpella.transport import StdioChannel


class BenchmarkAgent:
    """Answers prompts with what they order."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._connection = Connection(
            StdioChannel(),
            methods.AGENT,
            requests={
                "initialize": self._on_initialize,
                "session/new": self._on_new_session,
                "session/prompt": self._on_prompt,
            },
            notifications={"session/cancel": self._on_cancel},
        )

    async def run(self) -> None:
        """Serve until the client is gone."""
        async with self._connection as connection:
            await connection.wait_closed()

    async def _on_initialize(self, params: InitializeRequest) -> InitializeResponse:
        return InitializeResponse(protocol_version=params.protocol_version)

    async def _on_new_session(self, params: NewSessionRequest) -> NewSessionResponse:
        return NewSessionResponse(session_id=f"session-{next(self._numbers)}")

    async def _on_prompt(self, params: PromptRequest) -> PromptResponse:
        order = params.prompt[0]
        assert isinstance(order, TextContent)
        meta = await perform(order.text, self._client(params.session_id))
        return PromptResponse(stop_reason="end_turn", meta=meta)

    def _on_cancel(self, params: CancelNotification) -> None:
        pass

    def _client(self, session_id: str) -> Client:
        connection = self._connection

        def send_text(text: str) -> Awaitable[None]:
            update = AgentMessageChunk(content=TextContent(text=text))
            return connection.notify(
                methods.UPDATE, SessionNotification(session_id=session_id, update=update)
            )

        def send_image(data: str) -> Awaitable[None]:
            update = AgentMessageChunk(content=ImageContent(data=data, mime_type="image/png"))
            return connection.notify(
                methods.UPDATE, SessionNotification(session_id=session_id, update=update)
            )

        async def read_file(path: str) -> str:
            params = ReadTextFileRequest(session_id=session_id, path=path)
            return (await connection.call(methods.READ_TEXT_FILE, params)).content

        return Client(send_text, send_image, read_file)


if __name__ == "__main__":
    asyncio.run(BenchmarkAgent().run())

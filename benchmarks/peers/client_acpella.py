"""The benchmark client on acpella's protocol core."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from _client import FILE_TEXT, Tally, main

from acpella.rpc import Connection
from acpella.schema import (
    AgentMessageChunk,
    ContentBlock,
    ImageContent,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    SessionNotification,
    TextContent,
    methods,
)
from acpella.transport import ProcessChannel


class AcpellaDriver:
    """The connection behind what the benchmarks ask for."""

    def __init__(self, command: list[str]) -> None:
        self.tally = Tally()
        self.connection = Connection(
            ProcessChannel(command),
            methods.CLIENT,
            requests={"fs/read_text_file": self._on_read_text_file},
            notifications={"session/update": self._on_update},
        )

    async def open_session(self) -> str:
        params = NewSessionRequest(cwd="/workspace", mcp_servers=[])
        return (await self.connection.call(methods.NEW_SESSION, params)).session_id

    async def prompt(self, session_id: str, text: str, data: str | None = None) -> Mapping[str, Any]:
        blocks: list[ContentBlock] = [TextContent(text=text)]
        if data is not None:
            blocks.append(ImageContent(data=data, mime_type="image/png"))
        params = PromptRequest(session_id=session_id, prompt=blocks)
        return (await self.connection.call(methods.PROMPT, params, in_order=True)).meta or {}

    def _on_update(self, params: SessionNotification) -> None:
        update = params.update
        assert isinstance(update, AgentMessageChunk)
        content = update.content
        self.tally.updates[params.session_id] += 1
        if isinstance(content, TextContent):
            self.tally.characters += len(content.text)
        elif isinstance(content, ImageContent):
            self.tally.characters += len(content.data)

    def _on_read_text_file(self, params: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=FILE_TEXT)


@asynccontextmanager
async def connect(command: list[str]) -> AsyncGenerator[AcpellaDriver, None]:
    """Start the agent and shake hands."""
    driver = AcpellaDriver(command)
    async with driver.connection as connection:
        await connection.call(methods.INITIALIZE, InitializeRequest(protocol_version=1))
        yield driver


if __name__ == "__main__":
    main(connect)

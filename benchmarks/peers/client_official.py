"""The benchmark client on the official Python SDK (`agent-client-protocol`), with that SDK's own settings.

Its stream limit is left alone: 0.12.1 reads longer lines in pieces, faster than with room for 10 MB.
"""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import acp
from _client import FILE_TEXT, Tally, main
from acp.schema import AgentMessageChunk, ImageContentBlock, TextContentBlock


class BenchmarkClient(acp.Client):
    """Counts updates and serves one file."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def on_connect(self, conn: acp.Agent) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        assert isinstance(update, AgentMessageChunk)
        content = update.content
        self._tally.updates[session_id] += 1
        if isinstance(content, TextContentBlock):
            self._tally.characters += len(content.text)
        elif isinstance(content, ImageContentBlock):
            self._tally.characters += len(content.data)

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> acp.ReadTextFileResponse:
        return acp.ReadTextFileResponse(content=FILE_TEXT)


class OfficialDriver:
    """The official connection behind what the benchmarks ask for."""

    def __init__(self, connection: Any, tally: Tally) -> None:
        self._connection = connection
        self.tally = tally

    async def open_session(self) -> str:
        return (await self._connection.new_session(cwd="/workspace")).session_id

    async def prompt(self, session_id: str, text: str, data: str | None = None) -> Mapping[str, Any]:
        blocks: list[TextContentBlock | ImageContentBlock] = [
            acp.schema.TextContentBlock(type="text", text=text)
        ]
        if data is not None:
            blocks.append(ImageContentBlock(type="image", data=data, mime_type="image/png"))
        return (await self._connection.prompt(session_id=session_id, prompt=blocks)).field_meta


@asynccontextmanager
async def connect(command: list[str]) -> AsyncGenerator[OfficialDriver, None]:
    """Start the agent and shake hands."""
    tally = Tally()
    client = BenchmarkClient(tally)
    spawned = acp.spawn_agent_process(client, *command, env=os.environ, transport_kwargs={"stderr": None})
    async with spawned as (connection, _process):
        await connection.initialize(protocol_version=1)
        yield OfficialDriver(connection, tally)


if __name__ == "__main__":
    main(connect)

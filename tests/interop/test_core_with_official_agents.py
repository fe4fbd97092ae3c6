"""Our connection as a client of agents on the official SDKs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acpella.rpc import Connection
from acpella.schema import (
    AgentMessageChunk,
    CancelNotification,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    PromptResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionNotification,
    TextContent,
    methods,
)
from acpella.transport import ProcessChannel

pytestmark = pytest.mark.anyio


class Client:
    """A client that keeps what it hears."""

    def __init__(self, command: list[str]) -> None:
        self.texts: list[str] = []
        self.heard = asyncio.Event()
        self.connection = Connection(
            ProcessChannel(command),
            methods.CLIENT,
            requests={"fs/read_text_file": self.read, "session/request_permission": self.permit},
            notifications={"session/update": self.update},
        )

    def update(self, params: SessionNotification) -> None:
        assert isinstance(params.update, AgentMessageChunk)
        assert isinstance(params.update.content, TextContent)
        self.texts.append(params.update.content.text)
        self.heard.set()

    async def read(self, params: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=await asyncio.to_thread(Path(params.path).read_text, "utf-8"))

    async def permit(self, params: RequestPermissionRequest) -> RequestPermissionResponse:
        (option,) = params.options
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=option.option_id))

    async def open(self) -> None:
        await self.connection.call(methods.INITIALIZE, InitializeRequest(protocol_version=1), timeout=30)
        await self.connection.call(methods.NEW_SESSION, NewSessionRequest(cwd="/", mcp_servers=[]))

    async def prompt(self, text: str) -> PromptResponse:
        request = PromptRequest(session_id="s1", prompt=[TextContent(text=text)])
        return await self.connection.call(methods.PROMPT, request, timeout=30, in_order=True)


async def test_a_prompt_ends_after_its_updates(official_agent: list[str]) -> None:
    client = Client(official_agent)
    async with asyncio.timeout(60), client.connection:
        await client.open()
        answer = await client.prompt("one two three")
        assert client.texts == ["one", "two", "three"]
        assert answer.stop_reason == "end_turn"


async def test_the_agent_reads_a_file_and_asks_permission(official_agent: list[str], tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("Grüße 👋", encoding="utf-8")
    client = Client(official_agent)
    async with asyncio.timeout(60), client.connection:
        await client.open()
        await client.prompt(f"read {path}")
        await client.prompt("ask to go")
        assert client.texts == ["Grüße 👋", "selected"]


async def test_a_turn_is_cancelled(official_agent: list[str]) -> None:
    client = Client(official_agent)
    async with asyncio.timeout(60), client.connection:
        await client.open()
        prompt = asyncio.ensure_future(client.prompt("wait"))
        await client.heard.wait()
        await client.connection.notify(methods.CANCEL, CancelNotification(session_id="s1"))
        assert (await prompt).stop_reason == "cancelled"


async def test_an_unknown_method_is_refused_by_name(official_agent: list[str]) -> None:
    from acpella.errors import MethodNotFound

    client = Client(official_agent)
    async with asyncio.timeout(60), client.connection:
        await client.open()
        call: Any = client.connection.call("nobody/knows", {})
        with pytest.raises(MethodNotFound):
            await call

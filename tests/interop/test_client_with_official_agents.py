"""Agents on the official SDKs, driven by the client SDK."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from acpella.client import Permissions, connect

pytestmark = pytest.mark.anyio


async def test_an_official_agent_streams_reads_asks_and_stops(
    official_agent: list[str], tmp_path: Path
) -> None:
    """A2, D1, D3, D4, D6"""
    (tmp_path / "file.txt").write_text("what it says", encoding="utf-8")
    asked: list[Any] = []

    async def ask(request: Any) -> Any:
        asked.append(request.tool_call.title)
        return request.options[0]

    agent = connect(official_agent, permissions=Permissions("ask", ask=ask))
    async with asyncio.timeout(30), agent:
        session = await agent.new_session(tmp_path)
        assert (await session.prompt("one two three")).text == "onetwothree"
        assert (await session.prompt(f"read {tmp_path / 'file.txt'}")).text == "what it says"
        assert (await session.prompt("ask to go")).text == "selected"
        assert asked == ["to go"]
        async with session.prompt("wait") as turn:
            async for _ in turn:
                break
        assert turn.stop_reason == "cancelled"

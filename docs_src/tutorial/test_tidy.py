import asyncio

from writing import agent

import acpella


def test_it_asks_before_it_writes(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("one  \ntwo\n", encoding="utf-8")

    async def conversation():
        async with acpella.connect(agent, permissions="deny-all") as tidy:
            session = await tidy.new_session(tmp_path)
            return await session.prompt("notes.txt")

    result = asyncio.run(conversation())
    assert result.text == "Then I leave it as it is."
    assert notes.read_text(encoding="utf-8") == "one  \ntwo\n"


def test_it_writes_what_was_allowed(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("one  \ntwo\n", encoding="utf-8")

    async def conversation():
        async with acpella.connect(
            agent, permissions="allow-all", files=acpella.Workspace(write=True)
        ) as tidy:
            session = await tidy.new_session(tmp_path)
            return await session.prompt("notes.txt")

    result = asyncio.run(conversation())
    assert result.text == "I tidied notes.txt."
    assert [call.status for call in result.tool_calls.values()] == ["completed"]
    assert notes.read_text(encoding="utf-8") == "one\ntwo\n"

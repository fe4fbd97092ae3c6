"""E10: a server records each connection in a file of its own."""

import stat
from pathlib import Path

import pytest
from serving import Talker, serving

import acpella
from acpella.recording import Begin, RecordedEvent, RecordedFrame, read
from acpella.testing import ScriptedAgent, say, stderr

pytestmark = pytest.mark.anyio


async def test_each_connection_has_a_recording_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "recordings"
    async with serving(Talker(), limits={"record": str(place)}) as server:
        for text in ("say 2", "say 3"):
            async with acpella.connect(server.url) as agent:
                await (await agent.new_session(tmp_path)).prompt(text)
    files = sorted(place.iterdir(), key=lambda path: path.stat().st_size)
    assert len(files) == 2
    for path, said in zip(files, (2, 3), strict=True):
        begin, *items, end = list(read(path))
        assert isinstance(begin, Begin) and begin.info["point"] == "server"
        assert isinstance(end, RecordedEvent) and end.name == "end" and end.info["dropped"] == 0
        frames = [item for item in items if isinstance(item, RecordedFrame)]
        assert [f.message["method"] for f in frames if f.direction == "out"][:2] == [
            "initialize",
            "session/new",
        ]
        chunks = [f for f in frames if f.message.get("method") == "session/update" and "<" in str(f.message)]
        assert len(chunks) == said
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


async def test_the_stderr_of_a_command_is_recorded(tmp_path: Path) -> None:
    agent = ScriptedAgent().on("", stderr("warming up; api_key=sk-ant-api03-abcdefghijklmnop"), say("hot"))
    async with serving(agent.command, limits={"record": str(tmp_path / "recordings")}) as server:
        async with acpella.connect(server.url) as client:
            await (await client.new_session(tmp_path)).prompt("hi")
    (path,) = (tmp_path / "recordings").iterdir()
    (written,) = [item for item in read(path) if isinstance(item, RecordedFrame) and item.direction == "err"]
    assert written.message.startswith("warming up") and "abcdefghij" not in path.read_text(encoding="utf-8")


async def test_a_directory_that_cannot_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        async with serving(Talker(), limits={"record": str(tmp_path / "file" / "x")}):
            pass

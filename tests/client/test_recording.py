"""D8, E10: a conversation in a file."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from scripting import Script
from test_transcripts import Playback

from acpella.client import connect, read_recording
from acpella.recording.redaction import Redactor
from acpella.schema import EnvVariable, HttpHeader, McpServerHttp, McpServerStdio

pytestmark = pytest.mark.anyio

TALKS = """
send("a banner with token=abc123secret")
def prompt(request):
    secrets = {"api_key": "sk-live-0123456789abcdef", "authorization": ["Bearer abcdefgh"]}
    send({"method": "_vendor/news", "params": secrets})
    ask("_vendor/unknown", {"headers": {"X-Any": "hidden-one"}})
    say("the password: hunter2hunter2 is safe")
    return "end_turn"
serve(prompt)
"""


async def record(script: Script, project: Path, path: Path) -> None:
    servers = [
        McpServerStdio(name="m", command="/bin/m", args=[], env=[EnvVariable(name="K", value="hidden-two")]),
        McpServerHttp(
            name="h", url="https://x.example/", headers=[HttpHeader(name="A", value="hidden-three")]
        ),
    ]
    async with asyncio.timeout(20), connect(script(TALKS), record=path) as agent:
        session = await agent.new_session(project, mcp_servers=servers)
        await session.prompt("hello")


async def test_every_frame_is_recorded_both_ways_with_its_time(
    script: Script, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    await record(script, project, path)
    (frames,) = read_recording(path)
    told = [
        (f.direction, f.message if isinstance(f.message, str) else f.message.get("method") or f.message["id"])
        for f in frames
    ]
    told.remove(("in", "a banner with token=<secret 1>"))  # it may cross the greeting
    assert told == [
        ("out", "initialize"),
        ("in", 0),
        ("out", "session/new"),
        ("in", 1),
        ("out", "session/prompt"),
        ("in", "_vendor/news"),
        ("in", "_vendor/unknown"),
        ("out", 1000),
        ("in", "session/update"),
        ("in", 2),
    ]
    times = [frame.time for frame in frames]
    assert times == sorted(times) and times[0] >= 0
    head = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert head["acpella"] == 2 and head["agent"]["name"] == "agent1.py" and head["started"].endswith("Z")


async def test_secrets_are_not_recorded_and_the_file_is_the_users_alone(
    script: Script, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    await record(script, project, path)
    text = path.read_text(encoding="utf-8")
    for secret in (
        "abc123secret",
        "sk-live",
        "abcdefgh",
        "hidden-one",
        "hidden-two",
        "hidden-three",
        "hunter2",
    ):
        assert secret not in text
    assert '"text":"hello"' in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_recording_goes_on_in_the_same_file(script: Script, project: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(script, project, path)
    await record(script, project, path)
    assert len(read_recording(path)) == 2


async def test_a_recording_takes_a_file_that_is_there_from_everybody_else(
    script: Script, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.touch()
    path.chmod(0o666)
    await record(script, project, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_recording_can_be_played_back(script: Script, project: Path, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    await record(script, project, path)
    assert len(read_recording(path)) == 1
    async with asyncio.timeout(20):
        await Playback(path, 0, project).run()


async def test_what_the_agent_wrote_last_is_recorded_though_unfinished(
    script: Script, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    command = script('serve(lambda request: sys.stdout.write("{half") and sys.stdout.flush() or os._exit(4))')
    with pytest.raises(Exception, match="exited with code 4"):
        async with asyncio.timeout(20), connect(command, record=path) as agent:
            await (await agent.new_session(project)).prompt("hi")
    assert read_recording(path)[0][-1].message == "{half"


async def test_what_no_json_library_likes_is_recorded_as_text(
    script: Script, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    odd = ['{"n": NaN}', "[" * 5000, '{"n": 1' + "0" * 50 + "}", '{"s": "\\ud800"}', "\u2028 plain \u0000"]
    command = script(f"serve(lambda request: [send(line) for line in {odd!r}] and 'end_turn')")
    async with asyncio.timeout(20), connect(command, record=path) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).stop_reason == "end_turn"
    assert len(read_recording(path)[0]) == 6 + len(odd)


async def test_a_disk_that_is_full_does_not_end_the_conversation(
    script: Script, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(20), connect(script("serve()"), record="/dev/full") as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert result.stop_reason == "end_turn"
    assert "recording to /dev/full stopped" in caplog.text


async def test_a_place_that_cannot_be_written_is_told_at_once(script: Script) -> None:
    with pytest.raises(OSError, match="/dev/null"):
        async with asyncio.timeout(20), connect(script("serve()"), record="/dev/null/talk.jsonl"):
            pass


@pytest.mark.parametrize(
    "text, why",
    [
        ("{half", "line 1: not JSON"),
        ("[]", "line 1: not an object"),
        ('{"acpella": 1}\n{"dir": "up", "msg": {}}', "line 2: not a frame"),
        ('{"dir": "in"}', "line 1: not a frame"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=why):
        read_recording(path)


@pytest.mark.parametrize(
    "value, kept",
    [
        (
            {"apiKey": {"inner": "abc", "list": ["d"], "n": 1}},
            {"apiKey": {"inner": "<secret 1>", "list": ["<secret 2>"], "n": 1}},
        ),
        ({"env": {"A": "b"}}, {"env": {"A": "<secret 1>"}}),
        ({"env": [{"name": "A", "value": "b"}]}, {"env": [{"name": "A", "value": "<secret 1>"}]}),
        ({"options": [{"name": "One", "value": "m1"}]}, {"options": [{"name": "One", "value": "m1"}]}),
        ({"usage": {"inputTokens": 5}}, {"usage": {"inputTokens": 5}}),
        ({"text": "use Bearer abcdefgh"}, {"text": "use Bearer <secret 1>"}),
        (
            {"mimeType": "image/png", "data": "sk-aaaaaaaaaaaaaaaa"},
            {"mimeType": "image/png", "data": "sk-aaaaaaaaaaaaaaaa"},
        ),
        ({"terminal_output": {"data": "token=abc"}}, {"terminal_output": {"data": "token=<secret 1>"}}),
    ],
)
def test_what_is_hidden_and_what_is_not(value: Any, kept: Any) -> None:
    assert Redactor().message(value) == kept


def test_a_recording_without_a_head_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text('{"dir": "out", "msg": {"id": 1}}\n\n', encoding="utf-8")
    frames: list[Any] = read_recording(path)[0]
    assert (frames[0].direction, frames[0].message, frames[0].time) == ("out", {"id": 1}, 0.0)

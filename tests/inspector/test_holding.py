"""Messages that are held and changed on their way, through a real program between a client and an agent."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.inspector.control_client import Control
from acpella.inspector.holding import ActionError, HoldRule
from acpella.inspector.taps import TappedProgram, live_taps
from acpella.recording import RecordedEvent, RecordedFrame, read

pytestmark = pytest.mark.anyio

# Answers each line with what it heard: {"id": 1, "method": m} → {"id": 1, "result": {"heard": m}}.
ECHO = """
import json, sys
for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        print(json.dumps({"jsonrpc": "2.0", "method": "garbled", "params": {"line": line}}), flush=True)
        continue
    if "method" in message and "id" in message:
        heard = {"heard": message["method"], "params": message.get("params")}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": heard}), flush=True)
    else:
        print(json.dumps({"jsonrpc": "2.0", "method": "saw", "params": message}), flush=True)
"""


class Wire:
    """A client of plain lines, an agent that echoes, and acpella inspect between them."""

    def __init__(self, process: asyncio.subprocess.Process, tap: TappedProgram, recording: Path) -> None:
        self.process = process
        self.tap = tap
        self.recording = recording
        self.control = Control(tap.control)

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())

    def ask(self, number: int, method: str, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            return json.loads(await self.process.stdout.readline())

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await self.control.changed.wait()

    async def end(self) -> list[Any]:
        """Close the client's side; what the recording says."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(60):
            assert await self.process.wait() == 0
        return list(read(self.recording))


@asynccontextmanager
async def between(folder: Path, *command: str) -> AsyncGenerator[Wire]:
    (folder / "echo.py").write_text(ECHO)
    recording = folder / "talk.jsonl"
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_RUNTIME_DIR": ""}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "acpella", "inspect", "-o", str(recording)),
        *(command or ("--", str(folder / "echo.py"))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    wire = Wire(process, TappedProgram(0, [], "", 0.0), recording)
    try:
        wire.ask(0, "hello")
        await wire.line()
        (tap,) = live_taps(folder / "acpella" / "taps")
        wire.tap, wire.control = tap, Control(tap.control)
        yield wire
    finally:
        await wire.control.close()
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with between(tmp_path) as opened:
        yield opened


async def test_a_held_request_waits_while_others_pass_and_can_be_edited(wire: Wire) -> None:
    await wire.control.start(HoldRule("method:slow dir:out"))
    wire.ask(1, "slow")
    wire.ask(2, "fast")
    assert (await wire.line())["id"] == 2
    await wire.until(lambda: wire.control.held)
    held = wire.control.held[1]
    assert (held["method"], held["dir"], held["whole"]) == ("slow", "out", True)
    hostile = '{"jsonrpc":"2.0","id":1,\n"method":"<img src=x onerror=alert(1)>\u202e"}'
    await wire.control.act(1, "edit", text=hostile)
    assert (await wire.line())["result"]["heard"] == "<img src=x onerror=alert(1)>\u202e"
    await wire.control.stop()
    items = await wire.end()
    (change,) = [item.info for item in items if isinstance(item, RecordedEvent) and item.name == "changed"]
    assert (change["how"], change["dir"], change["was"]["method"]) == ("edit", "out", "slow")


async def test_what_can_be_done_to_a_message(wire: Wire) -> None:
    await wire.control.start(HoldRule("dir:out"))
    for number in range(1, 6):
        wire.ask(number, f"m{number}")
    await wire.until(lambda: len(wire.control.held) == 5)
    await wire.control.act(1, "drop")
    await wire.control.act(2, "duplicate")
    await wire.control.act(3, "delay", seconds=0.01)
    assert [(await wire.line())["id"] for _ in range(3)] == [2, 2, 3]
    await wire.control.act(4, "answer", result={"mine": True})
    assert await wire.line() == {"jsonrpc": "2.0", "id": 4, "result": {"mine": True}}
    await wire.control.act(5, "answer", error={"code": -32000, "message": "no"})
    assert (await wire.line())["error"]["message"] == "no"
    await wire.control.send("in", '{"jsonrpc": "2.0", "method": "by/hand"}')
    assert (await wire.line())["method"] == "by/hand"
    with pytest.raises(ActionError, match="not held any more"):
        await wire.control.act(1, "release")
    with pytest.raises(ActionError, match="is not a filter"):
        await wire.control.start(HoldRule("colour:red"))
    with pytest.raises(ActionError, match="bad: is known when"):
        await wire.control.start(HoldRule("bad:"))
    items = await wire.end()
    ways = [item.info["how"] for item in items if isinstance(item, RecordedEvent) and item.name == "changed"]
    assert ways == ["drop", "duplicate", "delay", "answer", "answered", "answer", "answered", "sent"]
    outs = [
        item.message["id"] for item in items if isinstance(item, RecordedFrame) and item.direction == "out"
    ]
    assert outs == [0, 2, 2, 3]  # what reached the agent


async def test_a_rule_can_be_a_fault(wire: Wire) -> None:
    await wire.control.start(HoldRule("dir:out method:x", then="duplicate"))
    wire.ask(1, "x")
    assert [(await wire.line())["id"] for _ in range(2)] == [1, 1]
    await wire.control.start(HoldRule("dir:out method:x", then="drop"))
    wire.ask(2, "x")
    wire.ask(3, "y")
    assert (await wire.line())["id"] == 3
    await wire.control.start(HoldRule("dir:out method:x", then="garble"))
    wire.write('{"jsonrpc": "2.0", "method": "x", "params": "0000"}\n')
    heard = await wire.line()
    assert heard["params"] != {"jsonrpc": "2.0", "method": "x", "params": "0000"}
    await wire.control.start(HoldRule("dir:out method:x", then="delay", seconds=0.01))
    wire.ask(4, "x")
    assert (await wire.line())["id"] == 4


async def test_a_response_is_held_by_the_method_that_it_answers(wire: Wire) -> None:
    await wire.control.start(HoldRule("kind:res method:session/new"))
    wire.ask(1, "session/new")
    wire.ask(2, "session/list")
    assert (await wire.line())["id"] == 2
    await wire.until(lambda: wire.control.held)
    assert wire.control.held[1]["dir"] == "in"
    await wire.control.act(1, "release")
    assert (await wire.line())["id"] == 1


async def test_everything_passes_in_order_when_whoever_held_it_is_gone(wire: Wire) -> None:
    await wire.control.start(HoldRule(""))
    for number in range(1, 4):
        wire.ask(number, "m")
    wire.write('{"jsonrpc": "2.0", "id": 4,')  # a line without an end
    await wire.until(lambda: len(wire.control.held) == 3)
    await wire.control.close()  # as when the process is killed
    assert [(await wire.line())["id"] for _ in range(3)] == [1, 2, 3]
    wire.write(' "method": "late"}\n')
    assert (await wire.line())["result"]["heard"] == "late"


async def test_one_inspector_holds_at_a_time(wire: Wire) -> None:
    other = Control(wire.tap.control)
    await wire.control.start(HoldRule("dir:out"))
    with pytest.raises(ActionError, match="another inspector"):
        await other.start(HoldRule(""))
    await wire.control.stop()
    await other.start(HoldRule("dir:out"))
    await other.close()


async def test_what_is_held_at_the_end_still_arrives(wire: Wire) -> None:
    await wire.control.start(HoldRule("kind:res"))
    wire.ask(1, "m")
    await wire.until(lambda: wire.control.held)
    assert wire.process.stdin is not None
    wire.process.stdin.close()  # the agent ends
    assert (await wire.line())["id"] == 1


async def test_only_its_user_reaches_the_control_socket_and_garbage_changes_nothing(wire: Wire) -> None:
    place = wire.tap.control
    assert [os.stat(path).st_mode & 0o777 for path in (place, os.path.dirname(place))] == [0o600, 0o700]
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(60)
        raw.connect(wire.tap.control)
        raw.sendall(b'not json\n{"do": "explode"}\n{"do": "act", "n": 9, "how": "drop"}\n')
        with raw.makefile("rb") as stream:
            answers = [json.loads(stream.readline()) for _ in range(3)]
    assert all("error" in answer for answer in answers)
    wire.ask(1, "m")
    assert (await wire.line())["id"] == 1
    await wire.end()
    assert os.path.basename(place) not in os.listdir(os.path.dirname(place))


async def test_an_agent_behind_a_url_is_held_in_the_same_way(tmp_path: Path) -> None:
    from acpella.server import Runner

    runner = Runner(acpella.Agent("held"), port=0)
    runner.bind()
    serving = asyncio.create_task(runner.run())
    try:
        command = (runner.url,)
        async with between(tmp_path, *command) as opened:
            await opened.control.start(HoldRule("method:initialize kind:req"))
            opened.ask(1, "initialize", protocolVersion=1, clientCapabilities={})
            await opened.until(lambda: opened.control.held)
            await opened.control.act(1, "release")
            assert (await opened.line())["result"]["protocolVersion"] == 1
    finally:
        serving.cancel()
        await asyncio.wait([serving])

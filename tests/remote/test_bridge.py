"""`acpella connect URL`: what an editor that only knows stdio starts."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from test_cuts import counting_agent, hosting, numbers

import acpella
from acpella import Agent

pytestmark = pytest.mark.anyio

BRIDGE = [sys.executable, "-m", "acpella", "connect"]


class Bridge:
    """The editor's side of the pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, message: Any, **dumps: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message, **dumps).encode() + b"\n")

    async def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())

    async def end(self) -> tuple[int, str]:
        """Close its input; the exit code, and what it said to stderr."""
        _, errors = await self.process.communicate(b"")
        assert self.process.returncode is not None
        return self.process.returncode, errors.decode()


@asynccontextmanager
async def bridge(*arguments: str) -> AsyncIterator[Bridge]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*BRIDGE, *arguments, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        yield Bridge(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_what_nobody_knows_passes_unharmed(scheme: str, tmp_path: Path) -> None:
    """FEATURES E4: unknown methods and fields, odd ids, spaces, all kinds of characters; both ways."""
    program = tmp_path / "parrot.py"
    program.write_text(
        "import sys, json\n"
        "for line in sys.stdin.buffer:\n"
        "    message = json.loads(line)\n"
        "    first = message['method'] == 'initialize'\n"
        "    result = {'protocolVersion': 1, 'x-field': [1, None]} if first else line.decode()\n"
        "    answer = {'zzz': 1.50, 'jsonrpc': '2.0', 'id': message['id'], 'result': result}\n"
        "    print(json.dumps(answer), flush=True)\n",
        encoding="utf-8",
    )
    async with asyncio.timeout(30), hosting([sys.executable, str(program)]) as runner:
        async with bridge(f"{scheme}://127.0.0.1:{runner.port}/acp") as editor:
            editor.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
            assert await editor.read() == {
                "zzz": 1.5,
                "jsonrpc": "2.0",
                "id": 0,
                "result": {"protocolVersion": 1, "x-field": [1, None]},
            }
            odd = {"jsonrpc": "2.0", "id": "ü-1", "method": "_odd/thing", "params": {"a": "é🦊"}, "more": {}}
            editor.send(odd, ensure_ascii=False)
            answer = await editor.read()
            assert answer["id"] == "ü-1" and answer["zzz"] == 1.5
            assert answer["result"] == json.dumps(odd, ensure_ascii=False) + "\n"  # byte for byte
            assert await editor.end() == (0, "")


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_stdio_client_drives_a_remote_agent_through_cuts(scheme: str, tmp_path: Path) -> None:
    async with asyncio.timeout(60), hosting(counting_agent(), requests_per_second=0) as runner:
        async with Proxy(runner.port) as proxy:
            command = [*BRIDGE, f"{scheme}://127.0.0.1:{proxy.port}/acp"]
            async with acpella.connect(command) as agent:
                session = await agent.new_session(tmp_path)
                proxy.cut_randomly(seed=7, cuts=20)
                while proxy.cuts_left:
                    assert numbers((await session.prompt("400 20")).text) == list(range(400))


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_one_bad_line_ends_neither_the_bridge_nor_what_runs(scheme: str, tmp_path: Path) -> None:
    """T-006: what is not UTF-8, too long for the server, too long for the bridge."""
    async with asyncio.timeout(60), hosting(counting_agent()) as runner:
        async with bridge(f"{scheme}://127.0.0.1:{runner.port}/acp") as editor:
            stdin = editor.process.stdin
            assert stdin is not None
            editor.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
            assert (await editor.read())["id"] == 0
            stdin.write(b'{"jsonrpc":"2.0","id":"bad","method":"session/list","params":{"cursor":"\xff"}}\n')
            assert "error" in await editor.read()
            for name, megabytes in (("long", 17), ("longer", 40)):
                params = {"_meta": {"x": "x" * (megabytes * 1024 * 1024)}}
                editor.send({"jsonrpc": "2.0", "id": name, "method": "session/list", "params": params})
                told = await editor.read()
                assert told["id"] == name and "error" in told
            new = {"cwd": str(tmp_path), "mcpServers": []}
            editor.send({"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": new})
            assert (await editor.read())["result"]["sessionId"]
            assert (await editor.end())[0] == 0


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_server_that_is_not_there_is_told(scheme: str) -> None:
    async with asyncio.timeout(30), bridge(f"{scheme}://127.0.0.1:1/acp") as editor:
        editor.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
        assert editor.process.stderr is not None
        said = await editor.process.stderr.read()
        assert b"connection refused; is the server running?" in said and said.count(b"\n") == 1
        assert await editor.process.wait() == 3


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_refusal_is_told_to_an_editor_that_has_left_already(scheme: str) -> None:
    """`echo MESSAGE | acpella connect URL` must not end in silence."""
    async with asyncio.timeout(30), hosting(Agent("closed"), token="t" * 40) as runner:
        async with bridge(f"{scheme}://127.0.0.1:{runner.port}/acp") as editor:
            editor.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
            code, said = await editor.end()
            assert code == 3 and "wants a token" in said


@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_server_that_ends_the_connection_ends_the_bridge(scheme: str, tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        async with hosting(Agent("short")) as runner:
            async with bridge(f"{scheme}://127.0.0.1:{runner.port}/acp") as editor:
                editor.send(
                    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
                )
                assert (await editor.read())["result"]["protocolVersion"] == 1
                next(iter(runner.app.connections)).close("enough")
                assert await editor.process.wait() == 4


async def test_a_mistake_on_the_command_line_is_named(tmp_path: Path) -> None:
    for arguments, words in (
        (["nothing"], "'nothing' is not the URL of an agent"),
        (["http://127.0.0.1:1/", "--header", "nonsense"], "--header wants NAME: VALUE"),
        (["http://10.1.1.1/", "--header", "Authorization: Bearer abc"], "would travel unencrypted"),
        (["http://127.0.0.1/", "--token-file", str(tmp_path / "none")], "No such file"),
    ):
        async with asyncio.timeout(30), bridge(*arguments) as editor:
            code, said = await editor.end()
            assert code in (2, 3) and words in said and "abc" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_signal_ends_the_bridge_and_the_connection(scheme: str, number: signal.Signals) -> None:
    """Editors end their agents with SIGTERM; the server must not wait for somebody who will not come back."""
    async with asyncio.timeout(30), hosting(Agent("short")) as runner:
        async with bridge(f"{scheme}://127.0.0.1:{runner.port}/acp") as editor:
            editor.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
            await editor.read()
            assert len(runner.app.connections) == 1
            editor.process.send_signal(number)
            assert await editor.process.wait() == 0
            assert len(runner.app.connections) == 0

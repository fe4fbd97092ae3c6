"""The official WebSocket transport, with a plain WebSocket client."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from server.serving import HELLO, Talker, eventually, serving, socket, texts, ws_url

pytestmark = pytest.mark.anyio


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_a_conversation_over_one_socket() -> None:
    """T-060, T-063: everything of all sessions, in the agent's order."""
    async with serving(Talker()) as server, socket(ws_url(server)) as client:
        assert len(client.id) >= 32
        assert client.socket.response is not None
        assert "sec-websocket-protocol" not in client.socket.response.headers  # T-067
        assert "sec-websocket-extensions" not in client.socket.response.headers  # nothing inflates
        session = await client.start()
        await client.prompt(session, "say 3")
        assert texts(await client.until_answer(2)) == ["<0>", "<1>", "<2>"]
        await client.prompt(session, "ask", id=3)
        asked = await client.message()
        assert asked["method"] == "session/request_permission"
        answer = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
        assert texts(await client.until_answer(3)) == ["yes"]
        await client.prompt(session, "wait", id=4)
        assert texts([await client.message()]) == ["waiting"]
        await client.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert (await client.until_answer(4))[-1]["result"]["stopReason"] == "cancelled"


async def test_initialize_comes_first() -> None:
    """T-061, CASE-12: close 1002, also for an initialize without an id; answers before it are ignored."""
    async with serving(Talker()) as server:
        async with socket(ws_url(server)) as client:
            await client.request(1, "session/new", {"cwd": "/tmp", "mcpServers": []})
            assert await client.closed() == 1002
        async with socket(ws_url(server)) as client:
            await client.send({"jsonrpc": "2.0", "id": None, "method": "initialize", "params": HELLO})
            assert await client.closed() == 1002
        async with socket(ws_url(server)) as client:
            await client.send({"jsonrpc": "2.0", "id": 5, "result": {}})
            assert "result" in await client.call(0, "initialize", HELLO)
            again = await client.call(1, "initialize", HELLO)
            assert again["error"]["code"] == -32600
            assert "result" in await client.call(2, "session/list", {})
        await eventually(lambda: len(server.app.connections) == 0, "all connections are let go")


def nested(depth: int, key: str = '"method":"_x","params"') -> str:
    """A message of which the object itself is the first level."""
    return (
        f'{{"jsonrpc":"2.0","id":7,{key}:'
        + '{"a":[' * ((depth - 1) // 2)
        + ("[]" if depth % 2 == 0 else "1")
        + "]}" * ((depth - 1) // 2)
        + "}"
    )


async def test_what_is_no_message_is_answered_and_the_socket_lives() -> None:
    """T-062, CASE-12."""
    async with serving(Talker()) as server, socket(ws_url(server)) as client:
        await client.send(b'{"jsonrpc":"2.0","id":9,"method":"initialize"}')  # binary: ignored
        await client.call(0, "initialize", HELLO)
        for bad, code, id in (
            ("{nope", -32700, None),
            ("[]", -32600, None),
            ("42", -32600, None),
            ('{"id":1}', -32600, None),
            ('{"id":1,"method":5}', -32600, 1),
            ('{"id":{},"method":["x"]}', -32600, None),
            (nested(65, '"result"'), -32600, None),
            (nested(65), -32600, 7),
            (nested(100_000), -32600, 7),
        ):
            await client.send(bad)
            error = await client.message()
            assert (error["id"], error["error"]["code"]) == (id, code), bad[:60]
            if "method" in bad and id == 1:
                assert error["error"]["message"] == "the method of a message is a string"
        await client.send(nested(64))
        assert (await client.message())["error"]["code"] == -32601, "the agent has seen it"
        assert "result" in await client.call(1, "session/list", {})


async def test_a_message_that_is_too_long_closes_the_socket() -> None:
    """CASE-15."""
    async with serving(Talker(), limits={"max_body": 1000}) as server, socket(ws_url(server)) as client:
        await client.call(0, "initialize", HELLO)
        await client.send("x" * 2000)
        assert await client.closed() == 1009


async def test_a_client_that_says_nothing_is_dropped() -> None:
    """Silent clients cost nothing for long."""
    async with serving(Talker(), limits={"header_seconds": 0.2}) as server, socket(ws_url(server)) as client:
        assert await client.closed() == 1008
        await eventually(lambda: len(server.app.connections) == 0, "the connection is gone")


async def test_a_half_open_socket_is_noticed() -> None:
    """T-066: the client is gone without a word, and leaves pings unanswered."""
    async with serving(Talker(), limits={"ping_seconds": 0.2}) as server, socket(ws_url(server)) as client:
        await client.start()
        transport: Any = client.socket.transport
        transport.pause_reading()
        await eventually(lambda: len(server.app.connections) == 0, "the connection is gone")
        transport.resume_reading()
        assert await client.closed() in (1006, 1011)


async def test_a_client_that_does_not_read_is_dropped() -> None:
    """CASE-13, T-091, T-092: its agent waits, then it loses its connection."""
    talker = Talker()
    limits = {"stream_bytes": 100_000, "stall_seconds": 0.5}
    async with serving(talker, limits=limits) as server:
        async with socket(ws_url(server), max_queue=1) as client:
            session = await client.start()
            await client.prompt(session, "flood 5000")
            await eventually(lambda: talker.said > 0, "it begins")
            await eventually(lambda: len(server.app.connections) == 0, "the connection is dropped")
            assert talker.said < 5000
        await eventually(lambda: talker.ended == ["flood"], "the turn is cancelled")


async def test_slow_reader_rss() -> None:
    """T-091: a slow client slows its agent and loses nothing; 10 MB through a buffer of 100 KB."""
    talker = Talker()
    async with serving(talker, limits={"stream_bytes": 100_000}) as server:
        async with socket(ws_url(server), max_queue=1) as client:
            session = await client.start()
            await client.prompt(session, "flood 1000")
            connection = server.app.connections.find(client.id, "")
            assert connection is not None
            await eventually(
                lambda: connection.flow.buffered > 0 and bool(connection.flow.behind), "the buffer fills"
            )
            assert connection.flow.buffered < 3_000_000
            assert len(texts(await client.until_answer(2))) == 1000


async def test_a_dead_agent_is_reported_and_the_socket_closed(tmp_path: Path) -> None:
    """T-061, T-065: an error for what was asked, then 1011; the server and other clients live on."""
    program = tmp_path / "dies.py"
    program.write_text(
        "import sys\n"
        "sys.stdin.readline()\n"
        'print(\'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\', flush=True)\n'
        "sys.stdin.readline()\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    async with serving([sys.executable, str(program)]) as server:
        async with socket(ws_url(server)) as client, socket(ws_url(server)) as other:
            await other.call(0, "initialize", HELLO)
            await client.call(0, "initialize", HELLO)
            failed = await client.call(1, "session/new", {"cwd": "/tmp", "mcpServers": []})
            assert "killed by SIGKILL" in failed["error"]["message"]
            assert await client.closed() == 1011
            assert other.socket.close_code is None
    async with serving(["/no/such/agent"]) as server, socket(ws_url(server)) as client:
        assert (await client.call(0, "initialize", HELLO))["error"]["code"] == -32603
        assert await client.closed() == 1011


async def test_an_agent_that_does_not_answer_initialize_is_given_up() -> None:
    """T-022 for sockets: an error, then 1011."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    async with (
        serving(command, limits={"initialize_seconds": 0.3}) as server,
        socket(ws_url(server)) as client,
    ):
        assert (await client.call(0, "initialize", HELLO))["error"]["code"] == -32603
        assert await client.closed() == 1011
        await eventually(lambda: len(server.app.connections) == 0, "the connection is gone")


async def test_leaving_frees_the_connection_and_ends_the_process(tmp_path: Path) -> None:
    """T-064: no process stays behind."""
    program = tmp_path / "agent.py"
    program.write_text(
        "import os, sys\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "sys.stdin.readline()\n"
        'print(\'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\', flush=True)\n'
        "sys.stdin.read()\n"
    )
    async with serving([sys.executable, str(program)]) as server:
        async with socket(ws_url(server)) as client:
            await client.call(0, "initialize", HELLO)
            pid = int((tmp_path / "pid").read_text())
            assert _runs(pid)
        await eventually(lambda: not _runs(pid), "the process is gone")
        assert len(server.app.connections) == 0


async def test_a_flooding_command_is_held_back(tmp_path: Path) -> None:
    """Bad input: an agent that writes without end does not fill the server's memory."""
    program = tmp_path / "floods.py"
    program.write_text(
        "import sys\n"
        "sys.stdin.readline()\n"
        'print(\'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\', flush=True)\n'
        'line = \'{"jsonrpc":"2.0","method":"_flood","params":{"x":"\' + \'x\' * 10000 + \'"}}\\n\'\n'
        "while True: sys.stdout.write(line)\n"
    )
    limits = {"stream_bytes": 100_000, "stall_seconds": 0.5}
    async with serving([sys.executable, str(program)], limits=limits) as server:
        async with socket(ws_url(server), max_queue=1) as client:
            await client.call(0, "initialize", HELLO)
            connection = server.app.connections.find(client.id, "")
            assert connection is not None
            await eventually(lambda: bool(connection.flow.behind), "the buffer fills")
            assert connection.flow.buffered < 1_000_000
            await eventually(
                lambda: len(server.app.connections) == 0, "a client that does not read is dropped"
            )


async def test_stopping_the_server_closes_sockets_with_1001_after_turns_have_ended() -> None:
    """T-065: graceful shutdown drains turns."""
    talker = Talker()
    async with serving(talker, limits={"drain_seconds": 10}) as server:
        async with socket(ws_url(server)) as client:
            session = await client.start()
            await client.prompt(session, "wait")
            assert texts([await client.message()]) == ["waiting"]
            server.stop()
            await eventually(lambda: server.app.connections.draining, "it drains")
            talker.go.set()
            assert texts(await client.until_answer(2)) == ["gone on"]
            assert await client.closed() == 1001


async def test_a_turn_that_does_not_end_is_cancelled_when_the_server_stops(
    caplog: pytest.LogCaptureFixture,
) -> None:
    talker = Talker()
    async with serving(talker, limits={"drain_seconds": 0.2}) as server, socket(ws_url(server)) as client:
        session = await client.start()
        await client.prompt(session, "wait")
        await client.message()
        server.stop()
        assert await client.closed() == 1001
    assert talker.ended == ["wait"]
    assert "waiting up to 0.2 s for 1 turn to end" in caplog.text


async def test_many_sockets_at_once() -> None:
    """Each its own session; nobody hears anybody else, and all connections are let go."""
    async with serving(Talker()) as server:

        async def one(number: int) -> None:
            async with socket(ws_url(server)) as client:
                session = await client.start()
                await client.prompt(session, "say 50")
                seen = await client.until_answer(2)
                assert texts(seen) == [f"<{n}>" for n in range(50)]
                assert {m["params"]["sessionId"] for m in seen[:-1]} == {session}

        await asyncio.gather(*(one(number) for number in range(30)))
        await eventually(lambda: len(server.app.connections) == 0, "all are gone")


async def test_plain_asgi_servers_work_without_our_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frame by frame, where nothing better is offered."""
    from acpella.server.http import requests

    original = requests.HttpRequest.__init__

    def bare(self: Any, scope: Any, receive: Any, send: Any, **more: Any) -> None:
        scope = {**scope, "extensions": {}}
        original(self, scope, receive, send, **more)

    monkeypatch.setattr(requests.HttpRequest, "__init__", bare)
    async with serving(Talker()) as server, socket(ws_url(server)) as client:
        session = await client.start()
        await client.prompt(session, "say 300")
        assert texts(await client.until_answer(2)) == [f"<{n}>" for n in range(300)]

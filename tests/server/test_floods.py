"""Clients that want to keep others out: idle sockets, dawdling, junk, tiny frames, questions left open."""

import asyncio
import json
import socket as sockets
import struct
import subprocess
import sys
from typing import Any

import pytest

from acpella.server.connection import flow, liveness
from kept_memory import LARGE, nothing_large_kept
from server.serving import EVENTS, HELLO, PATIENCE, Http, Socket, Talker, eventually, serving, socket, ws_url

pytestmark = pytest.mark.anyio

TOKEN = "t" * 40
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def frame(kind: int, data: bytes, *, last: bool = True) -> bytes:
    """A frame as a client sends it."""
    size = len(data)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        length = bytes([0x80 | 127]) + struct.pack("!Q", size)
    return bytes([(0x80 if last else 0) | kind]) + length + b"\0\0\0\0" + data


TEXT, MORE, PING = 1, 0, 9

UPGRADE = (
    f"GET /acp HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    f"Authorization: Bearer {TOKEN}\r\n\r\n"
).encode()


async def raw(port: int, *, buffer: int = 0) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A WebSocket of which every byte can be chosen."""
    sock = sockets.socket()
    if buffer:
        sock.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, buffer)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=buffer or 65536)
    writer.write(UPGRADE)
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def send_until_cut(writer: asyncio.StreamWriter, data: bytes, times: int) -> bool:
    """Whether the server hung up before all of it was sent."""
    try:
        async with asyncio.timeout(PATIENCE * 2):
            for _ in range(times):
                writer.write(data)
                await writer.drain()
    except ConnectionError:
        return True
    return False


async def close_code(reader: asyncio.StreamReader) -> int:
    """The code of the close frame, which must come; frames before it are skipped."""
    async with asyncio.timeout(PATIENCE):
        while True:
            kind, size = await reader.readexactly(2)
            if size == 126:
                (size,) = struct.unpack("!H", await reader.readexactly(2))
            data = await reader.readexactly(size)
            if kind & 15 == 8:
                return int.from_bytes(data[:2], "big")


# -- sockets -----------------------------------------------------------------------------------------


async def test_idle_sockets_make_room_for_those_who_ask(caplog: pytest.LogCaptureFixture) -> None:
    """Without a token, as many idle sockets as there may be files stopped the server for those inside."""
    async with serving(Talker(), token=TOKEN, limits={"max_sockets": 40}) as server:
        async with socket(ws_url(server), BEARER) as inside, Http(server.url, BEARER) as client:
            await inside.start()
            await client.initialize()
            idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(200)]
            async with socket(ws_url(server), BEARER) as late:
                assert await late.start(), "the next one comes in"
            assert (await client.post("session/list", id=1)).status_code == 202, "so do those inside"
            await inside.call(9, "session/list")
            for _, writer in idle:
                writer.close()
    told = [record for record in caplog.records if record.name == "acpella.server.http.listener"]
    assert 1 <= len(told) <= 5, "a line a second, not one for each"


FULL = """
import asyncio, concurrent.futures.thread, os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
import logging
logging.basicConfig(stream=sys.stderr)
from acpella.server.http.listener import Listener

async def main():
    listening = Listener(socket.AF_INET, most=1000)
    listening.setblocking(False)
    listening.bind(("127.0.0.1", 0))
    async def hello(reader, writer):
        writer.write(b"hello")
        writer.close()
    server = await asyncio.start_server(hello, sock=listening)
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    print(listening.getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    for one in taken:
        os.close(one)
    print("free", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_server_without_files_left_hangs_up_and_says_so_once() -> None:
    """asyncio alone tries thousands of times, writes a traceback each, and lets clients wait."""
    with subprocess.Popen(
        [sys.executable, "-c", FULL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin and child.stdout
        port = int(child.stdout.readline())
        for _ in range(20):
            with sockets.create_connection(("127.0.0.1", port), PATIENCE) as client:
                assert client.recv(10) == b"", "it is told at once that there is no room"
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "free\n"
        with sockets.create_connection(("127.0.0.1", port), PATIENCE) as client:
            assert client.recv(10) == b"hello"
        _, errors = child.communicate("\n", timeout=PATIENCE)
    assert "Traceback" not in errors and 1 <= errors.count("hung up on") <= 5, errors


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_server_asks_the_system_for_more_open_files() -> None:
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < 512:
        pytest.skip("there are not so many")
    code = (
        "import resource, acpella\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {most}))\n"
        "from acpella.server import Runner\n"
        "runner = Runner(acpella.Agent('a'), port=0, token='t' * 40)\n"
        "runner.bind()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 256


# -- dawdling ----------------------------------------------------------------------------------------


async def test_the_rest_of_a_body_that_nobody_wants_gives_no_more_time() -> None:
    """An answer was sent, but a byte of the body now and then kept the socket, without any token."""
    async with serving(Talker(), token=TOKEN, limits={"header_seconds": 0.5}) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
        assert b" 200 " in await reader.readline()
        ended = asyncio.ensure_future(reader.read())
        async with asyncio.timeout(PATIENCE):
            while not ended.done():
                writer.write(b"x")
                await asyncio.wait([ended], timeout=0.05)
        writer.close()


async def test_one_header_line_that_is_too_long_is_answered_431() -> None:
    async with serving(Talker(), token=TOKEN) as server:
        for size in (33_000, 60_000, 200_000):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /acp HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * size + b"\r\n\r\n")
            status = await reader.readline()
            assert status.startswith(b"HTTP/1.1 431 "), (size, status)
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"this is not HTTP\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_junk_instead_of_initialize_gets_no_more_time() -> None:
    limits = {"header_seconds": 0.5}
    async with serving(Talker(), token=TOKEN, limits=limits) as server:
        for junk in ("junk", '{"jsonrpc":"2.0","id":1,"result":{}}'):
            async with socket(ws_url(server), BEARER) as client:
                ended = asyncio.ensure_future(client.closed())
                async with asyncio.timeout(PATIENCE):
                    while not ended.done():
                        try:
                            await client.socket.send(junk)
                        except Exception:
                            break
                        await asyncio.wait([ended], timeout=0.05)
                    assert await ended == 1008
        await eventually(lambda: len(server.app.connections) == 0, "nothing is kept")


# -- frames ------------------------------------------------------------------------------------------


async def test_pings_whose_answers_nobody_reads_are_not_answered_for_ever() -> None:
    """Each answer waited in memory for a client that sent as fast as it could and read nothing."""
    async with serving(Talker(), token=TOKEN) as server:
        async with socket(ws_url(server), BEARER) as polite:
            await polite.start()
            for _ in range(20):
                await (await polite.socket.ping())
        _, writer = await raw(server.port)
        assert await send_until_cut(writer, frame(PING, b"x" * 125) * 1000, 500)
        reader, writer = await raw(server.port)
        writer.write(frame(PING, b"") * 500)
        assert await close_code(reader) == 1008
        writer.close()


async def test_a_message_in_a_million_fragments_ends_its_connection() -> None:
    async with serving(Talker(), token=TOKEN) as server:
        _, writer = await raw(server.port)
        writer.write(frame(TEXT, b"{", last=False))
        assert await send_until_cut(writer, frame(MORE, b" ", last=False) * 5000, 200)
        reader, writer = await raw(server.port)
        writer.write(frame(TEXT, b"{", last=False) + frame(MORE, b"", last=False) * 2000)
        assert await close_code(reader) == 1008
        writer.close()


async def test_the_last_message_of_a_client_that_vanished_leaves_the_memory() -> None:
    """It stayed until the garbage collector came: a few clients were enough for gigabytes."""
    hello: Any = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    text = json.dumps(hello | {"params": {**HELLO, "_meta": {"pad": "x" * LARGE}}}).encode()
    async with serving(Talker(), token=TOKEN) as server:
        with nothing_large_kept():
            for _ in range(8):
                reader, writer = await raw(server.port)
                writer.write(frame(TEXT, text))
                async with asyncio.timeout(PATIENCE):
                    await reader.readuntil(b'"result"')
                writer.transport.abort()
            await eventually(lambda: len(server.app.connections) == 0, "all are gone")


async def test_a_long_message_may_come_in_many_fragments() -> None:
    """What clients do that send in blocks; and small ones in small parts."""
    async with serving(Talker(), token=TOKEN) as server:
        hello: Any = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        for pad, block in ((3_000_000, 1024), (500, 1), (300_000, 400)):
            text = json.dumps(hello | {"params": {**HELLO, "_meta": {"pad": "x" * pad}}}).encode()
            parts = [text[at : at + block] for at in range(0, len(text), block)]
            reader, writer = await raw(server.port)
            frames = [frame(TEXT, parts[0], last=False)]
            frames += [frame(MORE, part, last=False) for part in parts[1:-1]]
            writer.writelines([*frames, frame(MORE, parts[-1])])
            async with asyncio.timeout(PATIENCE):
                assert b'"result"' in await reader.readuntil(b'"result"')
            writer.close()


async def test_many_messages_in_one_packet_all_arrive_in_order() -> None:
    """A block is looked at in slices, so that others come in between; nothing of it may get lost."""
    async with serving(Talker(), token=TOKEN) as server:
        reader, writer = await raw(server.port)
        messages = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}]
        messages += [
            {"jsonrpc": "2.0", "id": n, "method": "session/list", "params": {}} for n in range(1, 900)
        ]
        writer.write(b"".join(frame(TEXT, json.dumps(one).encode()) for one in messages))
        writer.write(frame(PING, b"last"))
        seen = b""
        async with asyncio.timeout(PATIENCE):
            while seen.count(b'"jsonrpc"') < 900 or b"\x8a\x04last" not in seen:
                seen += await reader.read(65536)
        writer.close()


@pytest.mark.parametrize("limits", [{"requests_per_second": 10.0, "request_burst": 100}, {}])
async def test_a_client_that_reads_no_answers_to_its_junk_is_dropped(
    limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a rate as requests have; and where there is none, answers must not gather without end."""
    monkeypatch.setattr(flow, "MAX_OWN_ANSWERS", 20_000)
    async with serving(Talker(), token=TOKEN, limits=limits) as server:
        _, writer = await raw(server.port, buffer=4096)
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
        writer.write(frame(TEXT, json.dumps(hello).encode()))
        junk = json.dumps({"id": "x" * 1000, "method": 5}).encode()  # the answer has the id, too
        assert await send_until_cut(
            writer, frame(TEXT, junk) * 100, 50_000
        )  # the end takes two seconds or so
        await eventually(lambda: len(server.app.connections) == 0, "its connection is over")


# -- what is kept for clients ------------------------------------------------------------------------


async def test_session_ids_that_a_client_made_up_are_not_kept() -> None:
    async with serving(Talker(), token=TOKEN) as server, Http(server.url, BEARER) as client:
        await client.initialize()
        (connection,) = server.app.connections  # pyright: ignore[reportPrivateUsage]
        async with client.stream() as stream:
            for number in range(50):
                async with client.stream(f"made-up-{number}"):
                    pass
            await eventually(lambda: len(connection.streams.by_session) == 1, "their streams are gone")
            assert not connection.streams.known
            session = await client.new(stream)
            assert list(connection.streams.known) == [session]


async def test_streams_are_requests_and_count_as_such() -> None:
    limits = {"requests_per_second": 0.001, "request_burst": 10}
    async with serving(Talker(), token=TOKEN, limits=limits) as server, Http(server.url, BEARER) as client:
        await client.initialize()
        seen = [await client.get(**EVENTS, Acp_Session_Id=f"made-up-{n}") for n in range(12)]
        assert 200 in seen and seen[-1] == 429


# -- clients that are gone ---------------------------------------------------------------------------


async def left_with_a_question(server: Any) -> None:
    async with socket(ws_url(server)) as client:
        await client.prompt(await client.start(), "ask")
        await _until_asked(client)


async def _until_asked(client: Socket) -> None:
    while (await client.message()).get("method") != "session/request_permission":
        pass


async def test_questions_of_a_client_that_cannot_come_back_are_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They stayed open for half an hour, and so did the turn and the connection."""
    monkeypatch.setattr(liveness, "GONE_SECONDS", 0.2)
    talker = Talker()
    async with serving(talker) as server:
        await left_with_a_question(server)
        await eventually(lambda: talker.ended == ["ask"], "the turn is over")
        await eventually(lambda: len(server.app.connections) == 0, "and the connection")
        async with socket(ws_url(server), {"Acpella-Resume": "1"}) as client:
            await client.prompt(await client.start(), "ask")
            await _until_asked(client)
        (connection,) = server.app.connections
        await eventually(lambda: connection.readers == 0, "it is away")
        connection.check(connection.last_seen + 60)
        assert len(connection.pending.questions) == 1, "this one can come back and answer"


async def test_a_server_that_stops_does_not_wait_for_clients_that_are_away() -> None:
    talker = Talker()
    async with serving(talker, limits={"drain_seconds": 300.0}) as server:
        for _ in range(3):
            await left_with_a_question(server)
    assert talker.ended == ["ask"] * 3, "it has ended within seconds"


async def test_at_the_limit_the_oldest_connection_that_is_away_makes_room() -> None:
    """Whoever had as many questions open as there may be connections was locked out."""
    async with serving(Talker(), limits={"max_connections_per_user": 3}) as server:
        async with socket(ws_url(server)) as there:
            await there.start()
            for _ in range(2):
                await left_with_a_question(server)
            async with socket(ws_url(server)) as client:
                await client.start()
                assert len(server.app.connections) == 3
                await there.call(9, "session/list")
    async with serving(Talker(), limits={"max_connections": 1}) as server:
        await left_with_a_question(server)
        async with socket(ws_url(server)) as client:
            await client.start()

"""What a server owes the machine it runs on: sockets of clients that are gone, commands that it hosts."""

import asyncio
import os
import socket as sockets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.serving import Http, Talker, eventually, serving

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parents[1]

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")


# -- clients that are gone without a word ------------------------------------------------------------


def _accepted(server: Any) -> list[sockets.socket]:
    """The real sockets of a server's clients."""
    return [
        protocol.transport.get_extra_info("socket") for protocol in server._server.server_state.connections
    ]


@linux
async def test_tcp_asks_silent_clients_whether_they_are_there() -> None:
    limits = {"silent_seconds": 30, "stall_seconds": 20}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream():
            (accepted, *_) = _accepted(server)

            def option(name: int) -> int:
                return accepted.getsockopt(sockets.IPPROTO_TCP, name)

            assert accepted.getsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE) == 1
            assert option(sockets.TCP_KEEPIDLE) == 15
            assert option(sockets.TCP_KEEPINTVL) == 5
            assert option(sockets.TCP_KEEPCNT) == 3
            assert option(sockets.TCP_USER_TIMEOUT) == 30_000
            assert option(sockets.TCP_NODELAY) == 1
    async with serving(Talker(), limits={"silent_seconds": 0}) as server, Http(server.url) as client:
        await client.initialize()
        async with client.stream():
            (accepted, *_) = _accepted(server)
            assert accepted.getsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE) == 0


TCP_REPAIR = 19


@linux
async def test_a_silent_stream_whose_client_vanished_is_noticed() -> None:
    """Nothing is written, and no FIN came: as if the client's machine had been switched off and on."""
    limits = {"silent_seconds": 2, "keepalive_seconds": 3600}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        name = client.connection["Acp-Connection-Id"]
        connection = server.app.host.find(name, "")
        assert connection is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"GET /acp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            b"Acp-Connection-Id: " + name.encode() + b"\r\n\r\n"
        )
        async with asyncio.timeout(5):
            await reader.readuntil(b":\n\n")
        assert connection.readers == 1
        raw: Any = writer.get_extra_info("socket")
        try:
            raw.setsockopt(sockets.IPPROTO_TCP, TCP_REPAIR, 1)  # a socket that is closed now says no word
        except PermissionError:
            writer.close()
            pytest.skip("only root can take a socket away without a word")
        writer.transport.abort()
        await eventually(lambda: connection.readers == 0, "the stream is let go")


CUT_OFF = """
import asyncio, ctypes, fcntl, os, socket, struct, sys
assert ctypes.CDLL(None, use_errno=True).unshare(0x40000000) == 0  # CLONE_NEWNET
def lo(flags):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", flags))  # SIOCSIFFLAGS
lo(1)
sys.path.insert(0, sys.argv[1])
from server.serving import Http, Talker, eventually, serving

async def main():
    limits = {"silent_seconds": 2, "stall_seconds": 2, "keepalive_seconds": 3600}
    async with serving(Talker(), limits=limits) as server, Http(server.url) as client:
        await client.initialize()
        connection = server.app.host.find(client.connection["Acp-Connection-Id"], "")
        async with client.stream():
            await eventually(lambda: connection.readers == 1, "it reads")
            lo(0)  # nothing gets through any more, and nobody says so
            await eventually(lambda: connection.readers == 0, "the stream is let go")
            print("noticed")
            os._exit(0)
asyncio.run(main())
"""


@linux
def test_a_silent_stream_is_let_go_when_the_cable_is_pulled() -> None:
    """A network of its own whose only interface goes down: no answer to anything."""
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, timeout=10)
    if probe.returncode:
        pytest.skip("no network of its own can be made here")
    ran = subprocess.run(
        [sys.executable, "-c", CUT_OFF, str(HERE)], capture_output=True, text=True, timeout=30, env=os.environ
    )
    assert ran.stdout == "noticed\n", ran.stderr

"""The listening socket of a server."""

import asyncio
import socket

import pytest

from acpella.server.http.listener import Listener

pytestmark = pytest.mark.anyio


async def test_who_is_still_connected_when_the_server_is_done_is_hung_up_on() -> None:
    """A client that came in the moment the server stopped, or that never reads."""
    listener = Listener(socket.AF_INET, most=8)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    address = listener.getsockname()
    came, gone = asyncio.Event(), asyncio.Event()

    class Forgetful(asyncio.Protocol):
        """It does not close anything by itself."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            came.set()

        def connection_lost(self, exc: Exception | None) -> None:
            gone.set()

    server = await asyncio.get_running_loop().create_server(Forgetful, sock=listener)
    reader, writer = await asyncio.open_connection(*address)
    async with asyncio.timeout(30):
        await came.wait()
        server.close()
        await listener.hang_up()
        assert gone.is_set()
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


async def test_a_client_that_was_accepted_but_not_served_yet_is_hung_up_on() -> None:
    listener = Listener(socket.AF_INET, most=8)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, sock=listener)
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    server.close()
    async with asyncio.timeout(30):
        await listener.hang_up()
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()

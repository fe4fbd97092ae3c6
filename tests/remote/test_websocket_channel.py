"""The WebSocket client transport against servers that do what servers may do (spec: transports §4, §8)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

import acpella
from acpella.errors import ConnectionClosed, TransportError
from acpella.transport import Endpoint, WebSocketChannel

pytestmark = pytest.mark.anyio

Talk = Callable[[ServerConnection, dict[str, Any]], Awaitable[None]]


async def reply(socket: ServerConnection, message: dict[str, Any], result: Any) -> None:
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


async def ordinary(socket: ServerConnection, message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            await reply(socket, message, {"protocolVersion": 1})
        case "session/new":
            await reply(socket, message, {"sessionId": "s1"})
        case "session/prompt":
            await reply(socket, message, {"stopReason": "end_turn"})
        case _:
            pass


@asynccontextmanager
async def serving(talk: Talk = ordinary, **options: Any) -> AsyncIterator[int]:
    async def handle(socket: ServerConnection) -> None:
        async for text in socket:
            await talk(socket, json.loads(text))

    async with serve(handle, "127.0.0.1", 0, compression=None, **options) as server:
        yield next(iter(server.sockets)).getsockname()[1]


def update(text: str, **dumps: Any) -> str:
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": "s1", "update": content}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}, **dumps)


async def test_cookies_of_the_handshake_come_back_at_the_next_one(tmp_path: Path) -> None:
    """T-080, CASE-16: after a lost connection the same jar is used, so that the same machine answers."""
    seen: list[str | None] = []
    states: list[str] = []

    def note(socket: ServerConnection, request: Request, response: Response) -> Response:
        seen.append(request.headers.get("Cookie"))
        response.headers["Set-Cookie"] = "node=seven; Path=/"
        return response

    async def talk(socket: ServerConnection, message: dict[str, Any]) -> None:
        if message.get("method") == "session/prompt" and len(seen) == 1:
            socket.transport.abort()
        elif message.get("method") == "initialize":
            await reply(socket, message, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        elif message.get("method") == "session/load":
            await socket.send(update("replayed"))
            await reply(socket, message, {})
        else:
            await ordinary(socket, message)

    async with asyncio.timeout(20), serving(talk, process_response=note) as port:
        url = f"ws://127.0.0.1:{port}/acp"
        async with acpella.connect(url, on_state=lambda agent: states.append(agent.state)) as agent:
            session = await agent.new_session(tmp_path)
            heard: list[Any] = []
            session.on_update = heard.append
            with pytest.raises(ConnectionClosed):
                await session.prompt("first")
            assert (await session.prompt("second")).stop_reason == "end_turn"  # T-071: the same object
            assert heard == []
    assert seen == [None, "node=seven"]
    assert states == ["connecting", "connected", "reconnecting", "connected", "closed"]


async def test_a_session_that_cannot_be_opened_again_says_so(tmp_path: Path) -> None:
    """T-071: an agent that keeps no sessions."""

    async def talk(socket: ServerConnection, message: dict[str, Any]) -> None:
        if message.get("method") == "session/prompt":
            socket.transport.abort()
        else:
            await ordinary(socket, message)

    async with asyncio.timeout(20), serving(talk) as port:
        async with acpella.connect(f"ws://127.0.0.1:{port}/acp") as agent:
            session = await agent.new_session(tmp_path)
            with pytest.raises(ConnectionClosed):
                await session.prompt("first")
            with pytest.raises(acpella.Unsupported, match="keeps no sessions"):
                await session.prompt("second")
            assert (await agent.new_session(tmp_path)).lost is None


async def test_all_kinds_of_frames_are_read(tmp_path: Path) -> None:
    """T-062: fragments, JSON over several lines, binary frames, long ones, pings in between."""
    long = "x" * 70_000

    async def talk(socket: ServerConnection, message: dict[str, Any]) -> None:
        if message.get("method") == "session/prompt":
            whole = update("é🦊", ensure_ascii=False)
            await socket.send([whole[:150], whole[150:]])
            await socket.send(b"\x00 not for us")
            pong = await socket.ping()
            await socket.send(update("b", indent=2))
            await socket.send(update(long))
            await socket.send(update("c" * 200))
            await pong
        await ordinary(socket, message)

    async with asyncio.timeout(20), serving(talk) as port:
        async with acpella.connect(f"ws://127.0.0.1:{port}/acp") as agent:
            session = await agent.new_session(tmp_path)
            assert (await session.prompt("hi")).text == "é🦊b" + long + "c" * 200


async def test_a_half_open_socket_is_noticed(tmp_path: Path) -> None:
    """T-066: no pong and no traffic for two pings."""

    class Listener:
        def __init__(self) -> None:
            self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def received(self, data: bytes) -> None: ...
        def pause_writing(self) -> None: ...
        def resume_writing(self) -> None: ...
        def ended(self, reason: ConnectionClosed) -> None:
            self.over.set_result(str(reason))

    async with asyncio.timeout(20), serving() as port, Proxy(port) as proxy:
        channel = WebSocketChannel(Endpoint.of(f"ws://127.0.0.1:{proxy.port}/acp"), ping_every=0.1)
        listener = Listener()
        await channel.open(listener, write_high=1024)
        proxy.freeze()
        assert "gone silent" in await listener.over
        await channel.close()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "wants a token"),
        (403, "refuses access"),
        (404, "no ACP server at"),
        (200, "does not answer like"),
    ],
)
async def test_a_refused_handshake_says_what_to_do(status: int, words: str) -> None:
    def refuse(socket: ServerConnection, request: Request) -> Response:
        return socket.respond(HTTPStatus(status), "no")

    async with asyncio.timeout(20), serving(process_request=refuse) as port:
        with pytest.raises(TransportError, match=words):
            async with acpella.connect(f"ws://127.0.0.1:{port}/acp"):
                pass


async def test_a_message_without_end_is_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-090: the bound holds before the bytes are there."""
    for module in ("websocket", "_websocket_link"):
        monkeypatch.setattr(f"acpella.transport.{module}.MAX_MESSAGE", 100_000)

    async def talk(socket: ServerConnection, message: dict[str, Any]) -> None:
        if message.get("method") == "session/prompt":
            await socket.send("x" * 200_000)
        else:
            await ordinary(socket, message)

    async with asyncio.timeout(20), serving(talk) as port:
        async with acpella.connect(f"ws://127.0.0.1:{port}/acp", reconnect=False) as agent:
            session = await agent.new_session(tmp_path)
            with pytest.raises(ConnectionClosed, match="over size limit|too big|exceeds"):
                await session.prompt("hi")


async def test_close_says_goodbye() -> None:
    """T-065."""
    code: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def handle(socket: ServerConnection) -> None:
        async for text in socket:
            await ordinary(socket, json.loads(text))
        code.set_result(socket.close_code)

    async with asyncio.timeout(20), serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with acpella.connect(f"ws://127.0.0.1:{port}/acp"):
            pass
        assert await code == 1000

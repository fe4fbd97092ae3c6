"""What is wrong with a message is answered over HTTP as over WebSocket, and nothing else ends with it."""

import asyncio
import json
from typing import Any

import pytest
from scripted import Answer, Request, ScriptedServer
from test_cuts import hosting

from acpella import Agent
from acpella.errors import ConnectionClosed
from acpella.transport import Endpoint, HttpChannel, WebSocketChannel

pytestmark = pytest.mark.anyio

HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


class Received:
    """What comes from a channel."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self.over: ConnectionClosed | None = None

    def received(self, data: bytes) -> None:
        for line in data.splitlines():
            self._lines.put_nowait(line)

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass

    def ended(self, reason: ConnectionClosed) -> None:
        self.over = reason
        self._lines.put_nowait(b'{"id": "over"}')

    async def next(self) -> Any:
        async with asyncio.timeout(60):
            return json.loads(await self._lines.get())


async def answers(kind: str, url: str, message: bytes) -> tuple[list[tuple[Any, int]], bool]:
    """The errors that a message gets, by id, and whether the connection is alive afterwards."""
    endpoint = Endpoint.of(url if kind == "http" else url.replace("http", "ws", 1))
    channel = HttpChannel(endpoint) if kind == "http" else WebSocketChannel(endpoint)
    got = Received()
    await channel.open(got, write_high=1 << 20)
    try:
        channel.write(json.dumps(HELLO).encode() + b"\n")
        assert "result" in await got.next()
        channel.write(message + b"\n")
        channel.write(b'{"jsonrpc":"2.0","id":99,"method":"_no/such","params":{}}\n')
        seen: list[tuple[Any, int]] = []
        while (answer := await got.next()).get("id") not in (99, "over"):
            seen.append((answer["id"], answer["error"]["code"]))
        return seen, got.over is None
    finally:
        await channel.close()


def _message(**parts: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **parts}).encode()


UNKNOWN = {"sessionId": "nope", "prompt": []}

CASES: list[tuple[str, bytes, list[tuple[Any, int]]]] = [
    ("prompt without params", _message(id=5, method="session/prompt"), [(5, -32602)]),
    (
        "session id of another type",
        _message(id=5, method="session/prompt", params={"sessionId": 5}),
        [(5, -32602)],
    ),
    ("unknown session", _message(id=5, method="session/prompt", params=UNKNOWN), [(5, -32002)]),
    ("cancel without params", _message(method="session/cancel"), []),
    ("cancel of an unknown session", _message(method="session/cancel", params={"sessionId": "nope"}), []),
    ("half a character", b'{"jsonrpc":"2.0","id":5,"method":"_x/y","params":{"a":"\\ud83d"}}', [(5, -32601)]),
    (
        "deep params",
        _message(id=5, method="_x/y")[:-1] + b',"params":' + b"[" * 100 + b"]" * 100 + b"}",
        [(5, -32600)],
    ),
    (
        "very deep",
        b'{"id":5,"method":"_x/y","params":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        [(5, -32600)],
    ),
    ("very deep and no object", b"[" * 20_000, [(None, -32600)]),
    ("a batch", b"[" + _message(id=5, method="session/list") + b"]", [(None, -32600)]),
    ("a number", b"5", [(None, -32600)]),
    ("no JSON", b'{"jsonrpc":', [(None, -32700)]),
    ("a method that is a number", _message(id=5, method=5), [(5, -32600)]),
    ("an id that is an object", _message(id={"a": 1}, method="session/list"), [(None, -32600)]),
    ("neither request nor answer", _message(id=5), [(None, -32600)]),
    ("an answer that nobody asked for", _message(id=5, result={}), []),
    (
        "a second initialize",
        _message(id=5, method="initialize", params={"protocolVersion": 1}),
        [(5, -32600)],
    ),
    (
        "a long session id",
        _message(id=5, method="session/prompt", params={"sessionId": "x" * 2000}),
        [(5, -32600)],
    ),
]


@pytest.mark.parametrize("kind", ["websocket", "http"])
@pytest.mark.parametrize(
    ("message", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
async def test_what_is_wrong_is_answered_and_the_connection_goes_on(
    kind: str, message: bytes, expected: list[tuple[Any, int]]
) -> None:
    agent = Agent("odd")

    @agent.on_prompt
    async def reply(turn: Any) -> None:
        await turn.say("hi")

    async with hosting(agent) as runner:
        seen, alive = await answers(kind, runner.url, message)
    assert (seen, alive) == (expected, True)


async def test_an_answer_that_the_server_does_not_take_becomes_an_error() -> None:
    """Else the agent waits for it, and its turn hangs."""

    def script(server: ScriptedServer, request: Request) -> Answer | None:
        if request.method == "POST" and "result" in request.message and request.message.get("id") == 7:
            return Answer(400, body=b"no")
        return None

    async with asyncio.timeout(60), ScriptedServer(script) as server:
        got = Received()
        channel = HttpChannel(Endpoint.of(server.url))
        await channel.open(got, write_high=1 << 20)
        channel.write(json.dumps(HELLO).encode() + b"\n")
        assert "result" in await got.next()
        channel.write(_message(id=7, result={"text": "x"}) + b"\n")
        instead = await server.until(lambda: [r for r in server.of("POST") if "error" in r.message])
        assert instead[0].message["id"] == 7
        assert got.over is None
        await channel.close()

"""A real server on a real port, and plain HTTP and WebSocket clients to talk to it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import websockets
from websockets.asyncio.client import ClientConnection, connect

import acpella
from acpella.server import Runner, ServerSettings
from acpella.sessions import Store

PATIENCE = 60
"""Seconds after which a test that waits has failed."""

Json = dict[str, Any]

HELLO: Json = {"protocolVersion": 1, "clientCapabilities": {}}
EVENTS = {"Accept": "text/event-stream"}


class Talker:
    """An agent that does what the prompt says: `say N`, `ask`, `wait`, `linger`, `flood N`, `count`."""

    def __init__(self, store: Store | str | None = "memory", **options: Any) -> None:
        self.agent = acpella.Agent("talker", store=store, **options)
        self.agent.on_prompt(self._reply)
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self.lingering = asyncio.Event()
        self.said = 0
        self.ended: list[str] = []
        self.answers: list[bool] = []

    async def _reply(self, turn: Any) -> None:
        verb, _, rest = turn.text.partition(" ")
        self.started.set()
        try:
            if verb == "say":
                for number in range(int(rest.split()[0])):
                    await turn.say(f"<{number}>")
            elif verb == "ask":
                self.answers.append(await turn.permit(None, "Do it?"))
                await turn.say("yes" if self.answers[-1] else "no")
            elif verb == "read":
                await turn.say(await turn.files.read(rest))
            elif verb == "wait":
                await turn.say("waiting")
                await self.go.wait()
                await turn.say("gone on")
            elif verb == "linger":  # is slow to end when it is cancelled
                try:
                    await asyncio.Event().wait()
                finally:
                    self.lingering.set()
                    await self.go.wait()
            elif verb == "flood":
                for _ in range(int(rest)):
                    await turn.say("x" * 10_000)
                    self.said += 1
        finally:
            self.ended.append(verb)


@asynccontextmanager
async def serving(target: Any, *, host: str = "127.0.0.1", **options: Any) -> AsyncIterator[Runner]:
    """A server that runs until the block ends."""
    changes = {"requests_per_second": 0.0, "drain_seconds": 0.2, **options.pop("limits", {})}
    settings = ServerSettings.load(**changes)
    runner = Runner(getattr(target, "agent", target), host=host, port=0, settings=settings, **options)
    runner.bind()
    running = asyncio.create_task(runner.run(signals=False))
    try:
        async with asyncio.timeout(PATIENCE):
            await runner.started.wait()
        yield runner
    finally:
        runner.stop()
        await asyncio.wait([running], timeout=PATIENCE)
        assert running.done(), "the server does not end"
        running.result()


class Event:
    """One server-sent event."""

    def __init__(self, lines: list[str]) -> None:
        self.id = next((line[4:] for line in lines if line.startswith("id: ")), None)
        self.kind = next((line[7:] for line in lines if line.startswith("event: ")), None)
        self.data = json.loads("\n".join(line[6:] for line in lines if line.startswith("data: ")) or "null")


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    """Lines as the standard defines them; `aiter_lines` would also split at U+2028."""
    rest = b""
    async for chunk in response.aiter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()


class Stream:
    """An event stream being read."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.comments = 0
        self._lines = _lines(response)

    async def next(self) -> Event:
        """The next event; raises `EOFError` at the end."""
        lines: list[str] = []
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    lines.append(line)
                elif lines:
                    return Event(lines)
        raise EOFError

    async def message(self) -> Json:
        return (await self.next()).data

    async def until_answer(self, request_id: Any) -> list[Json]:
        """Every message up to the answer, which comes last."""
        seen: list[Json] = []
        while True:
            seen.append(await self.message())
            if seen[-1].get("id") == request_id and "method" not in seen[-1]:
                return seen

    async def ended(self) -> None:
        """Wait for the end; anything but comments before it is an error."""
        try:
            event = await self.next()
        except (EOFError, httpx2.HTTPError):
            return
        raise AssertionError(f"the stream goes on: {event.data}")


class Http:
    """One client of the official HTTP transport, without any of its conveniences."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.url = url
        self.headers = headers or {}
        self.http = httpx2.AsyncClient(timeout=PATIENCE, headers=self.headers)
        self.connection: dict[str, str] = {}
        self.number = 0

    async def __aenter__(self) -> "Http":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def initialize(self, **headers: str) -> Json:
        answer = await self.post("initialize", HELLO, id=0, **headers)
        assert answer.status_code == 200, answer.text
        self.connection = {"Acp-Connection-Id": answer.headers["acp-connection-id"]}
        return answer.json()

    async def post(
        self,
        method: str | None = None,
        params: Any = None,
        *,
        id: Any = None,
        body: Any = None,
        **headers: str,
    ) -> httpx2.Response:
        """POST a message; `Acp_Session_Id=…` and the like are headers."""
        message: Json = {"jsonrpc": "2.0", **(body or {})}
        if method is not None:
            message |= {"method": method, "params": {} if params is None else params}
        if id is not None:
            message["id"] = id
        return await self.http.post(self.url, json=message, headers={**self.connection, **_named(headers)})

    @asynccontextmanager
    async def stream(self, session_id: str | None = None, **headers: str) -> AsyncIterator[Stream]:
        session = {} if session_id is None else {"Acp-Session-Id": session_id}
        given = {**EVENTS, **self.connection, **session, **_named(headers)}
        async with self.http.stream("GET", self.url, headers=given) as response:
            assert response.status_code == 200, (response.status_code, await response.aread())
            yield Stream(response)

    async def get(self, **headers: str) -> int:
        """The status of a GET that is closed at once."""
        async with self.http.stream(
            "GET", self.url, headers={**self.connection, **_named(headers)}
        ) as response:
            return response.status_code

    async def delete(self, **headers: str) -> int:
        return (await self.http.delete(self.url, headers={**self.connection, **_named(headers)})).status_code

    async def new(self, stream: Stream, cwd: str = "/tmp") -> str:
        """Open a session; returns its id, which is read from the connection's stream."""
        self.number += 1
        answer = await self.post("session/new", {"cwd": cwd, "mcpServers": []}, id=f"new{self.number}")
        assert answer.status_code == 202
        return (await stream.until_answer(f"new{self.number}"))[-1]["result"]["sessionId"]

    async def prompt(self, session_id: str, text: str, *, id: Any = "p") -> None:
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        answer = await self.post("session/prompt", params, id=id, Acp_Session_Id=session_id)
        assert answer.status_code == 202, answer.text


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


class Socket:
    """One client over WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.received = 0
        self.id = socket.response.headers["acp-connection-id"] if socket.response else ""
        self.gen = socket.response.headers["acpella-resume"] if socket.response else ""

    async def send(self, message: Any) -> None:
        await self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def request(self, id: Any, method: str, params: Any = None) -> None:
        await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})

    async def message(self) -> Json:
        async with asyncio.timeout(PATIENCE):
            text = await self.socket.recv()
        assert isinstance(text, str), "text frames go out"
        self.received += 1
        return json.loads(text)

    async def raw(self) -> bytes:
        """The next message as bytes, for numbers that Python cannot represent."""
        async with asyncio.timeout(PATIENCE):
            data = await self.socket.recv(decode=False)
        self.received += 1
        return bytes(data)

    async def until_answer(self, request_id: Any) -> list[Json]:
        seen: list[Json] = []
        while True:
            seen.append(await self.message())
            if seen[-1].get("id") == request_id and "method" not in seen[-1]:
                return seen

    async def call(self, id: Any, method: str, params: Any = None) -> Json:
        await self.request(id, method, params)
        return (await self.until_answer(id))[-1]

    async def start(self, cwd: str = "/tmp") -> str:
        """Initialize and open a session."""
        await self.call(0, "initialize", HELLO)
        return (await self.call(1, "session/new", {"cwd": cwd, "mcpServers": []}))["result"]["sessionId"]

    async def prompt(self, session_id: str, text: str, *, id: Any = 2) -> None:
        await self.request(
            id, "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        )

    async def closed(self) -> int:
        """Wait for the end; returns the close code."""
        async with asyncio.timeout(PATIENCE):
            try:
                while True:
                    await self.socket.recv()
            except websockets.ConnectionClosed:
                return self.socket.close_code or 0

    async def ack(self, number: int) -> None:
        params = {"lastEventId": f"{self.gen}-{number}"}
        await self.send({"jsonrpc": "2.0", "method": "$/acpella/ack", "params": params})


def ws_url(runner: Runner, path: str = "") -> str:
    return runner.url.replace("http", "ws", 1) + path


@asynccontextmanager
async def socket(url: str, headers: dict[str, str] | None = None, **options: Any) -> AsyncIterator[Socket]:
    async with connect(
        url,
        additional_headers=headers,
        max_size=None,
        compression=None,
        proxy=None,
        close_timeout=1,
        **options,
    ) as opened:
        yield Socket(opened)
        if "Acpella-Resume" in (headers or {}):
            await opened.close(1001)  # 1000 would mean that the client will not come back


async def refused(url: str, headers: dict[str, str] | None = None, **options: Any) -> int:
    """The status of an upgrade that is not granted."""
    try:
        async with socket(url, headers, **options):
            raise AssertionError("the upgrade was granted")
    except websockets.InvalidStatus as error:
        return error.response.status_code


def texts(messages: list[Json]) -> list[str]:
    """What the agent said in these messages."""
    return [
        message["params"]["update"]["content"]["text"]
        for message in messages
        if message.get("method") == "session/update"
        and message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
    ]


async def eventually(check: Any, what: str) -> None:
    """Wait for a condition for which there is no event."""
    async with asyncio.timeout(PATIENCE):
        while not check():  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)
    assert check(), what

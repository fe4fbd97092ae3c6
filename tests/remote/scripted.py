"""A small HTTP server that does what a test says: what foreign and broken servers may do."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def session(self) -> str | None:
        return self.headers.get("acp-session-id")


@dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])


Script = Callable[["ScriptedServer", Request], Awaitable[Answer | None] | Answer | None]


class ScriptedServer:
    """Streamable HTTP as in the specification; `script` may answer first, with anything."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.streams: dict[str | None, asyncio.StreamWriter] = {}
        self.arrived = asyncio.Condition()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/acp"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def of(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    def posted(self, method: str) -> list[Request]:
        return [request for request in self.of("POST") if request.message.get("method") == method]

    async def until(self, what: Callable[[], Any]) -> Any:
        async with self.arrived:
            return await self.arrived.wait_for(what)

    def send(self, session: str | None, message: dict[str, Any]) -> None:
        """Send a message on a stream."""
        self.send_raw(session, b"data: " + json.dumps(message, separators=(",", ":")).encode() + b"\n\n")

    def send_raw(self, session: str | None, data: bytes) -> None:
        self.streams[session].write(b"%x\r\n%b\r\n" % (len(data), data))

    def update(self, session: str, text: str) -> dict[str, Any]:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        return {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session, "update": update},
        }

    def end(self, session: str | None) -> None:
        """End a stream regularly."""
        self.streams.pop(session).write(b"0\r\n\r\n")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _read(reader)) is not None:
                await self._answer(request, writer)
                async with self.arrived:
                    self.requests.append(request)
                    self.arrived.notify_all()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        answer: Any = self.script(self, request) if self.script is not None else None
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer is None:
            if request.method == "GET":
                self.streams[request.session] = writer
                head = "HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked"
                writer.write("\r\n".join(head).encode() + b"\r\n\r\n")
                return
            answer = self._ordinary(request)
        lines = [f"HTTP/1.1 {answer.status} Because", f"content-length: {len(answer.body)}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body)
        await writer.drain()

    def _ordinary(self, request: Request) -> Answer:
        if request.method == "POST" and request.message.get("method") == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
            body = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": result}).encode()
            return Answer(200, body, {"acp-connection-id": "c1", "content-type": "application/json"})
        if request.method == "POST" and request.message.get("method") == "session/new":
            result = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"sessionId": "s1"}}
            asyncio.get_running_loop().call_soon(self.send, None, result)
        return Answer(202)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)

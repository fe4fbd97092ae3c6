"""One end of a connection for the samples: plain JSON in, plain JSON out, with a hook to break things."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from acpella.errors import ConnectionClosed
from acpella.rpc import Channel

Json = dict[str, Any]
Break = Callable[[Json, str], Any]
"""Called with each message before it is sent, and its method; returns what is sent instead."""


class RpcFailure(Exception):
    """Raised to answer with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Endpoint:
    """Reads lines, answers requests, makes requests."""

    def __init__(self, channel: Channel, break_: Break | None = None) -> None:
        self.channel = channel
        self.break_ = break_
        self.requests: dict[str, Callable[[Json], Awaitable[Any]]] = {}
        self.notifications: dict[str, Callable[[Json], None]] = {}
        self.over = asyncio.Event()
        self.next_id: Callable[[], Any] = iter(range(10**6)).__next__
        self.inline: set[str] = set()
        """Methods that are answered before the next line is read."""
        self._waiting: dict[Any, tuple[str, asyncio.Future[Any]]] = {}
        self._rest = b""
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_garbage: Callable[[bytes], object] | None = None
        self.on_unknown: Callable[[str], object] | None = None
        """Called for a notification that has no handler."""
        self.on_stray: Callable[[], object] | None = None
        """Called for a response that nothing waits for."""
        self.drop: Callable[[bytes], bool] = lambda line: False
        """Whether a line is ignored."""
        self.deaf_to_pieces = False

    async def open(self) -> None:
        await self.channel.open(self, write_high=1 << 20)

    async def close(self) -> None:
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.channel.close()

    def send(self, message: Json, method: str = "") -> None:
        sent: Any = {"jsonrpc": "2.0", **message}
        if self.break_ is not None:
            sent = self.break_(sent, method or str(message.get("method", "")))
        for one in sent if isinstance(sent, tuple) else (sent,):
            if one is not None:
                data = one if isinstance(one, bytes) else json.dumps(one, ensure_ascii=False).encode()
                self.channel.write(data + b"\n")

    async def call(self, method: str, params: Any) -> Any:
        id = self.next_id()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (method, future)
        self.send({"id": id, "method": method, "params": params})
        return await future

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    # -- receiver --------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        if self.deaf_to_pieces and not data.endswith(b"\n"):
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not line.strip():
                if self.on_garbage is not None:
                    self.on_garbage(line)
            elif not self.drop(line):
                self._take(line)

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: ConnectionClosed) -> None:
        for _, future in self._waiting.values():
            if not future.done():
                future.cancel()
        self.over.set()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            if self.on_garbage is not None:
                self.on_garbage(line)
            self.send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
            return
        if not isinstance(message, dict) or not ({"method", "result", "error"} & message.keys()):
            if self.on_garbage is not None:
                self.on_garbage(line)
            self.send({"id": None, "error": {"code": -32600, "message": "Invalid request"}})
        elif "method" in message and "id" in message:
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "method" in message:
            handler = self.notifications.get(message["method"])
            params = message.get("params")
            if handler is not None and isinstance(params, dict):
                handler(params)
            elif handler is None and self.on_unknown is not None:
                self.on_unknown(message["method"])
        elif message.get("id") in self._waiting:
            _, future = self._waiting.pop(message["id"])
            if future.done():
                return
            if "error" in message:
                future.set_exception(RpcFailure(message["error"]["code"], message["error"]["message"]))
            else:
                future.set_result(message["result"])
        elif self.on_stray is not None:
            self.on_stray()

    async def _answer(self, message: Json) -> None:
        method = message["method"]
        reply: Json = {"id": message["id"]}
        try:
            handler = self.requests.get(method)
            if handler is None:
                raise RpcFailure(-32601, f"Method not found: {method}")
            params = message.get("params")
            if not isinstance(params, dict):
                raise RpcFailure(-32602, "Invalid params")
            reply["result"] = await handler({**params, "": message["id"]})
        except RpcFailure as failure:
            reply["error"] = {"code": failure.code, "message": failure.message}
        except (KeyError, TypeError, AssertionError) as error:
            reply["error"] = {"code": -32602, "message": f"Invalid params: {error}"}
        self.send(reply, method)

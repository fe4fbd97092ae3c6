"""The two sides of an background process, at the level of frames: what passes through keeps its bytes."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from acpella._redact import redact
from acpella.errors import ConnectionClosed, RpcError
from acpella.rpc import Channel
from acpella.rpc.framing import Broken, Framer
from acpella.rpc.message import ABSENT, Envelope, read_envelope

from .client import table

__all__ = ["AgentEnd", "ClientEnd", "error_body"]

log = logging.getLogger(__name__)

EXCERPT = 200
"""Bytes of what is no message that are told."""

WRITE_HIGH = 256 * 1024
"""Bytes that may wait for one side before the other has to pause."""

_UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":'


class End:
    """Cuts what a channel reads into frames. Implements `Receiver`."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.closed = False
        self.on_full: Callable[[bool], None] | None = None
        """Hears when too much waits to be written, and when it no longer does."""
        self._framer = Framer(max_frame=256 * 1024 * 1024, framing="lines")

    async def open(self) -> None:
        await self.channel.open(self, write_high=WRITE_HIGH)

    async def close(self) -> None:
        self.closed = True
        await self.channel.close()

    def send(self, frame: bytes) -> None:
        """Write one message, without its line end."""
        if not self.closed:
            self.channel.write(frame + b"\n")

    def notify(self, method: str, params: Any) -> None:
        self.send(msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params}))

    # -- Receiver ------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        for block in self._framer.feed(data):
            if isinstance(block, Broken):
                self._noise(block.reason)
                continue
            for frame in block.split(b"\n"):
                if frame and not frame.isspace():
                    try:
                        self._frame(frame)
                    except Exception:  # one bad frame must not end the conversation
                        log.exception("failed to handle a frame")

    def pause_writing(self) -> None:
        if self.on_full is not None:
            self.on_full(True)

    def resume_writing(self) -> None:
        if self.on_full is not None:
            self.on_full(False)

    def ended(self, reason: ConnectionClosed) -> None:
        if not self.closed:
            self.closed = True
            self._lost(reason)

    def _frame(self, frame: bytes) -> None:
        raise NotImplementedError

    def _noise(self, text: str) -> None:
        """What came is no message."""
        log.warning("skipped what is no message: %s", text)

    def _lost(self, reason: ConnectionClosed) -> None:
        raise NotImplementedError


class ClientEnd(End):
    """A client that is attached: somebody's `acpella run`, or a prompt that nobody waits for."""

    def __init__(
        self,
        channel: Channel,
        *,
        on_frame: Callable[["ClientEnd", bytes, Envelope], None],
        on_lost: Callable[["ClientEnd"], None],
        background: bool = False,
    ) -> None:
        super().__init__(channel)
        self.attached = False
        self.greeting = b""
        """The params of its `initialize`."""
        self.background = background
        self._on_frame = on_frame
        self._on_lost = on_lost

    def answer(self, request_id: bytes, result: Any) -> None:
        """Answer a request; `result` is JSON as bytes, or a value."""
        self.send(_answer(request_id, b"result", result))

    def fail(self, request_id: bytes, error: Any) -> None:
        self.send(_answer(request_id, b"error", error))

    def _frame(self, frame: bytes) -> None:
        try:
            envelope = read_envelope(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.fail(b"null", {"code": -32700, "message": "Parse error"})
            return
        self._on_frame(self, frame, envelope)

    def _lost(self, reason: ConnectionClosed) -> None:
        self._on_lost(self)


class AgentEnd(End):
    """The agent. Calls of the daemon and those it passes on share one sequence of ids."""

    def __init__(
        self,
        channel: Channel,
        *,
        on_update: Callable[[bytes], None],
        on_request: Callable[[bytes, str, bytes, Envelope], None],
        on_notification: Callable[[bytes, str, Envelope], None],
        on_noise: Callable[[str], None],
        on_lost: Callable[[ConnectionClosed], None],
    ) -> None:
        super().__init__(channel)
        self._on_update = on_update
        self._on_noise = on_noise
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_lost = on_lost
        self._next = 0
        self._calls: dict[bytes, Callable[[Envelope | ConnectionClosed], None]] = {}

    def start(self, method: str, params: bytes, done: Callable[[Envelope | ConnectionClosed], None]) -> bytes:
        """Send a request with these very params; `done` gets the answer, or why there is none."""
        call_id = b"%d" % self._next
        self._next += 1
        self._calls[call_id] = done
        name = msgspec.json.encode(method)
        self.send(
            b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}'
            % (call_id, name, params.replace(b"\n", b" "))
        )
        return call_id

    async def call(self, method: str, params: Any, *, timeout: float) -> Any:
        """The result as plain JSON.

        Raises:
            RpcError, ConnectionClosed, TimeoutError
        """
        answered: asyncio.Future[Envelope | ConnectionClosed] = asyncio.get_running_loop().create_future()
        body = params if isinstance(params, bytes) else msgspec.json.encode(params)

        def done(answer: Envelope | ConnectionClosed) -> None:
            if not answered.done():
                answered.set_result(answer)

        call_id = self.start(method, body, done)
        try:
            async with asyncio.timeout(timeout):
                answer = await answered
        except TimeoutError:
            raise TimeoutError(f"{method} was not answered within {timeout:g} s") from None
        finally:
            self._calls.pop(call_id, None)
        if isinstance(answer, ConnectionClosed):
            raise answer
        if has_error(answer):
            error = table(msgspec.json.decode(answer.error))
            raise RpcError.from_wire(
                error.get("code", -32603), str(error.get("message", "")), error.get("data")
            )
        return None if answer.result == ABSENT else msgspec.json.decode(answer.result)

    def _frame(self, frame: bytes) -> None:
        if frame.startswith(_UPDATE):
            self._on_update(frame)
            return
        try:
            envelope = read_envelope(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._noise(redact(frame[:EXCERPT].decode("utf-8", "replace").strip()))
            return
        if envelope.method is None:
            done = self._calls.pop(bytes(envelope.id), None)
            if done is not None:
                done(envelope)
        elif envelope.id != ABSENT:
            self._on_request(frame, envelope.method, bytes(envelope.id), envelope)
        elif envelope.method == "session/update":
            self._on_update(frame)
        else:
            self._on_notification(frame, envelope.method, envelope)

    def _noise(self, text: str) -> None:
        super()._noise(text)
        self._on_noise(text)

    def _lost(self, reason: ConnectionClosed) -> None:
        calls, self._calls = self._calls, {}
        self._on_lost(reason)  # first, so that nobody whose call fails tries another one
        for done in calls.values():
            done(reason.again())


def has_error(answer: Envelope) -> bool:
    return answer.error != ABSENT and bytes(answer.error) != b"null"


def _answer(request_id: bytes, part: bytes, value: Any) -> bytes:
    body = bytes(value) if isinstance(value, bytes | Raw) else msgspec.json.encode(value)
    return b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (request_id, part, body.replace(b"\n", b" "))


def error_body(error: BaseException) -> dict[str, Any]:
    """An error as the waiting client gets it; `client.from_wire` makes the same error of it again."""
    if isinstance(error, RpcError):
        body: dict[str, Any] = {"code": error.code, "message": error.message}
        return body if error.data is None else {**body, "data": error.data}
    told: dict[str, Any] = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ConnectionClosed):
        told = {
            "kind": "ConnectionClosed",
            "text": error.reason,
            "exitCode": error.exit_code,
            "signal": error.signal,
            "stderr": error.stderr_tail,
        }
    elif getattr(error, "stderr_tail", ""):
        told |= {"text": str(error.args[0]), "stderr": getattr(error, "stderr_tail", "")}
    return {"code": -32603, "message": told["text"], "data": {"acpella": told}}

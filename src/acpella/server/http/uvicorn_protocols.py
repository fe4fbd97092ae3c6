"""uvicorn's HTTP/1.1 and WebSockets, with what it leaves out: many frames a write, and limits to patience.

uvicorn takes protocol classes as settings, but the attributes of its own that are used here are not promised
to stay, so its version is capped in pyproject.toml. What pays for it:

- `WebSocketProtocol` sends what has gathered in one write: a stream of small updates costs the server 9 µs
  each instead of 16, and its client 5.8 instead of 8.8, at 1.35 times the rate (the programs of
  benchmarks/remote.py, both ways in one run on a busy machine). It cuts off clients that do not
  read, and those that flood it with pings or fragments.
- `HttpProtocol` hangs up on clients that dawdle over their header lines, makes room when too many are
  connected, and remembers who was let in on a connection. No ASGI interface reaches that early
  (tests/server/test_floods.py).

Behind another ASGI server everything works without them, slower and without these limits.
"""

import asyncio
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from acpella.server.access.rate_limit import RateLimit
from acpella.server.connection.close_codes import CloseCode

from .listener import Listener
from .requests import LET_IN, MEMORY, RAW_ABORT, RAW_SEND

__all__ = ["HttpProtocol", "WebSocketProtocol"]


SLICE = 16 * 1024
"""Bytes of a WebSocket that are looked at in one go. They may be thousands of frames, and others wait."""

FRAGMENTS = 1024
SMALL_FRAGMENT = 1024
"""Fragments of one message after which their average size is checked, and the least bytes that it must be."""

CONTROL_RATE = 20.0
CONTROL_BURST = 200
"""Pings and pongs of one client a second, and at once. No program has use for more, and the answers to pings
wait in memory for a client that does not read them."""


class HttpProtocol(H11Protocol):
    """HTTP/1.1 that ends connections whose header lines take too long."""

    def __init__(
        self, *args: Any, listener: Callable[[], Listener | None], header_seconds: float, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._listener = listener()
        self._header_seconds = header_seconds
        self._patience: asyncio.TimerHandle | None = None
        self._upgraded = False
        self._memory: dict[str, Any] = {}
        self._descriptor = -1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        app = self.app
        memory = self._memory
        if (sock := transport.get_extra_info("socket")) is not None:
            self._descriptor = sock.fileno()

        async def with_extensions(scope: Any, receive: Any, send: Any) -> None:
            more = {RAW_ABORT: transport.abort, MEMORY: memory}
            scope["extensions"] = {**scope.get("extensions", {}), **more}
            await app(scope, receive, send)

        self.app = with_extensions
        self._be_patient()

    def data_received(self, data: bytes) -> None:
        begins = self.timeout_keep_alive_task is not None
        super().data_received(data)
        self._watch(begins=begins)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._upgraded = True
        self._watch()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Called while the error is handled; header lines that are too long have a status of their own."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()  # an answer is under way
            return
        text = msg.encode() if status != 431 else b"the URL and the header lines are too long"
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        headers.append((b"content-length", b"%d" % len(text)))
        for part in (
            h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase.encode()),
            h11.Data(data=text),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def _watch(self, *, begins: bool = False) -> None:
        """A client without a running request has `header_seconds` for its next one. Neither more bytes
        nor the rest of a body that nobody wants extend that time."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        working = self._upgraded or (cycle is not None and not cycle.response_complete)
        if working or begins:
            self._stop_waiting()
        if working:
            if self._listener is not None:
                self._listener.works(self._descriptor)
        elif self._patience is None and not self.transport.is_closing():
            self._be_patient()
            if self._listener is not None:
                self._listener.waits(self._descriptor, known=bool(self._memory.get(LET_IN)))

    def _be_patient(self) -> None:
        self._patience = self.loop.call_later(self._header_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that sends what has gathered in one write, and lets no client have the loop to itself."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unparsed = bytearray()
        self._next_slice: asyncio.Handle | None = None
        self._control: RateLimit | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        app = self.app

        async def with_extensions(scope: Any, receive: Any, send: Any) -> None:
            more: dict[str, Any] = {RAW_SEND: self._send_many, RAW_ABORT: self._abort, MEMORY: {}}
            scope["extensions"] = {**scope.get("extensions", {}), **more}
            await app(scope, receive, send)

        self.app = with_extensions

    def connection_lost(self, exc: Exception | None) -> None:
        if self._next_slice is not None:
            self._next_slice.cancel()
        super().connection_lost(exc)
        # It holds the last message, and is part of a cycle: that would wait for the garbage collector.
        self.conn.parser.close()
        self._unparsed.clear()

    def data_received(self, data: bytes) -> None:
        if not self._unparsed and len(data) <= SLICE:
            super().data_received(data)
            return
        self._unparsed += data
        if self._next_slice is None and not self.read_paused:
            self._parse_slice()

    def _parse_slice(self) -> None:
        self._next_slice = None
        piece = bytes(self._unparsed[:SLICE])
        del self._unparsed[:SLICE]
        super().data_received(piece)
        if self._unparsed:
            self.transport.pause_reading()
            if not self.read_paused:  # else `receive` goes on
                self._next_slice = self.loop.call_soon(self._parse_slice)
        elif not self.read_paused:
            self.transport.resume_reading()

    async def receive(self) -> Any:
        event = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            if self._unparsed:
                self._parse_slice()
            else:
                self.transport.resume_reading()
        return event

    def handle_cont(self, event: Any) -> None:
        count = len(self.frames)
        if count and count % FRAGMENTS == 0 and sum(map(len, self.frames)) < count * SMALL_FRAGMENT:
            self.frames.clear()
            self._fail("a message in too many fragments")
        if not self.close_sent:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self._may_control():
            super().handle_ping()

    def handle_pong(self, event: Any) -> None:
        if self._may_control():
            super().handle_pong(event)

    def _may_control(self) -> bool:
        if self._control is None:
            self._control = RateLimit(CONTROL_RATE, CONTROL_BURST)
        if self.close_sent or self.transport.is_closing():
            return False
        if not self._control.spend(""):
            self._fail("too many pings")
            return False
        return True

    def _fail(self, reason: str) -> None:
        """Hang up on a client that does what none needs to do."""
        self.conn.fail(CloseCode.LIMIT, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._unparsed.clear()
        self.transport.close()
        self.loop.call_later(1, self.transport.abort)  # should it not read

    async def _send_many(self, frames: list[bytes]) -> None:
        await self.writable.wait()
        if self.disconnected or self.conn.state is not State.OPEN:
            raise ConnectionError("the client is gone")
        self.transport.write(b"".join([part for frame in frames for part in _framed(frame)]))

    def _abort(self) -> None:
        """Say why, should it ever read, and go."""
        if self.conn.state is State.OPEN:
            self.conn.send_close(CloseCode.LIMIT, "the client reads nothing")
            self.transport.write(b"".join(self.conn.data_to_send()))
        self.loop.call_later(1, self.transport.abort)


def _framed(message: bytes) -> tuple[bytes, bytes]:
    """A text frame as a server sends it."""
    if not message.isascii():
        message = message.decode("utf-8", "replace").encode()  # a client would hang up on anything else
    size = len(message)
    if size < 126:
        return b"\x81" + size.to_bytes(1, "big"), message
    if size < 65536:
        return b"\x81\x7e" + size.to_bytes(2, "big"), message
    return b"\x81\x7f" + size.to_bytes(8, "big"), message

"""HTTP/1.1 and WebSockets of uvicorn's, with what it leaves out: patience, and many frames a write."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from .requests import MEMORY, RAW_ABORT, RAW_SEND

if TYPE_CHECKING:
    from .app import Server

__all__ = ["HttpProtocol", "WebSocketProtocol"]


class HttpProtocol(H11Protocol):
    """HTTP/1.1 for which a client that dawdles over its header lines is no client."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        app = self.app

        memory: dict[str, Any] = {}

        async def with_extensions(scope: Any, receive: Any, send: Any) -> None:
            more = {RAW_ABORT: transport.abort, MEMORY: memory}
            scope["extensions"] = {**scope.get("extensions", {}), **more}
            await app(scope, receive, send)

        self.app = with_extensions
        self._be_patient()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            if self._patience is None:
                self._be_patient()
        else:
            self._stop_waiting()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _be_patient(self) -> None:
        seconds = cast("Server", self.config.app).settings.header_seconds
        self._patience = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that sends what has gathered in one write."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        app = self.app

        async def with_extensions(scope: Any, receive: Any, send: Any) -> None:
            more: dict[str, Any] = {RAW_SEND: self._send_many, RAW_ABORT: self._abort, MEMORY: {}}
            scope["extensions"] = {**scope.get("extensions", {}), **more}
            await app(scope, receive, send)

        self.app = with_extensions

    async def _send_many(self, frames: list[bytes]) -> None:
        await self.writable.wait()
        if self.disconnected or self.conn.state is not State.OPEN:
            raise ConnectionError("the client is gone")
        self.transport.write(b"".join([part for frame in frames for part in _framed(frame)]))

    def _abort(self) -> None:
        """Say why, should it ever read, and go."""
        if self.conn.state is State.OPEN:
            self.conn.send_close(1008, "the client reads nothing")
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

"""One socket of a WebSocket client: its handshake, and frames cut out of what it reads."""

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

from acpella.errors import TransportError

from .endpoint import MAX_ERROR_BODY, MAX_MESSAGE

if TYPE_CHECKING:
    from websockets.client import ClientProtocol
    from websockets.http11 import Response

__all__ = ["LinkOwner", "WebSocketLink"]

_TEXT = 0x81  # a whole text message in one frame


class LinkOwner(Protocol):
    """The channel that a link belongs to."""

    def received(self, frames: list[bytes]) -> None:
        """Whole text frames arrived on the link."""
        ...

    def blocked(self, link: "WebSocketLink", blocked: bool) -> None:
        """The link has too much to write, or has written enough of it."""
        ...

    def lost(self, link: "WebSocketLink", code: int, why: str) -> None:
        """A link is over."""
        ...


class WebSocketLink(asyncio.Protocol):
    """One socket. Cuts whole frames out of what it reads, so that many are delivered at once."""

    transport: asyncio.Transport

    def __init__(self, channel: LinkOwner, protocol: "ClientProtocol", *, address: str) -> None:
        self._channel = channel
        self._address = address
        self._protocol = protocol
        self._head: bytearray | None = bytearray()  # of the handshake; None when it is done
        self._refusing = False  # the answer to the handshake is no; its body follows
        self._leaving = False
        self._buffer = bytearray()  # unfinished frames
        self._need = 2
        self._fragments: list[bytes] | None = None
        self._delivering = False
        self._reason = ""
        self.heard: float = time.monotonic()
        loop = asyncio.get_running_loop()
        self.handshake: asyncio.Future[Response] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    # -- asyncio's side ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.heard = time.monotonic()
        if self._head is not None:
            self._shake_hands(data)
        else:
            self._buffer += data
            if len(self._buffer) >= self._need and self._delivering:
                self._cut_frames()

    def eof_received(self) -> None:
        if self._head is not None:
            self._protocol.receive_eof()
            self._check_handshake()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.handshake.done():
            self.handshake.set_exception(exc or ConnectionResetError("the server closed the connection"))
            self.handshake.exception()  # nobody may be waiting any more
        if not self.ended.done():
            self.ended.set_result(None)
        rcvd = self._protocol.close_rcvd
        if rcvd is not None:
            why = f"the server closed it with code {rcvd.code}" + (f", {rcvd.reason}" if rcvd.reason else "")
            self._channel.lost(self, 1001 if rcvd.code == 1005 else rcvd.code, why)
        else:
            sent = self._protocol.close_sent
            code = sent.code if sent is not None else 1006
            why = self._reason or (sent.reason if sent is not None else "") or "the line broke"
            self._channel.lost(self, code, why)

    def pause_writing(self) -> None:
        self._channel.blocked(self, True)

    def resume_writing(self) -> None:
        self._channel.blocked(self, False)

    # -- handshake -------------------------------------------------------------------------------

    def _shake_hands(self, data: bytes) -> None:
        assert self._head is not None
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end >= 0 and self._head.startswith((b"HTTP/1.1 101", b"HTTP/1.0 101")):
            self._protocol.receive_data(bytes(self._head[: end + 4]))
            self._buffer += self._head[end + 4 :]  # frames may follow at once
            self._head = None
        elif end >= 0 or self._refusing or len(self._head) > MAX_ERROR_BODY:
            self._refusing = True
            self._protocol.receive_data(bytes(self._head))
            self._head = bytearray()
        self._check_handshake()

    def _check_handshake(self) -> None:
        from websockets.http11 import Response

        for event in self._protocol.events_received():
            if isinstance(event, Response) and not self.handshake.done():
                self.handshake.set_result(event)
        problem = self._protocol.handshake_exc
        if problem is not None and not self.handshake.done():
            self.handshake.set_exception(
                TransportError(f"{self._address} does not speak WebSocket: {problem}")
            )
            self.handshake.exception()

    # -- frames ------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Give what arrives to the channel from now on."""
        self._delivering = True
        self._cut_frames()

    def pause(self, paused: bool) -> None:
        if not self.transport.is_closing():
            if paused:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _cut_frames(self) -> None:
        """Plain text frames are sliced out here; all others are the library's."""
        data = bytes(self._buffer)
        size = len(data)
        at = 0
        texts: list[bytes] = []
        self._need = 2
        while size - at >= 2:
            length = data[at + 1]
            start = at + 2
            if length == 126:
                start += 2
                length = int.from_bytes(data[at + 2 : start])
            elif length == 127:
                start += 8
                length = int.from_bytes(data[at + 2 : start])
            elif length > 127:  # masked: the library refuses it
                length, start = size - start, start
            end = start + length
            if start > size or end > size:
                self._need = max(2, end - at) if start <= size else 2
                if start <= size and length > MAX_MESSAGE:
                    self._other_frame(data[at:start], texts)
                break
            if data[at] == _TEXT and self._fragments is None:
                if length > MAX_MESSAGE:
                    self._other_frame(data[at:start], texts)
                    break
                texts.append(data[start:end])
            else:
                self._other_frame(data[at:end], texts)
            at = end
        del self._buffer[:at]
        if texts:
            self._channel.received(texts)

    def _other_frame(self, frame: bytes, texts: list[bytes]) -> None:
        from websockets.frames import Frame, Opcode

        if self._protocol.parser_exc is not None or self._protocol.close_rcvd is not None:
            return
        self._protocol.receive_data(frame)
        for event in self._protocol.events_received():
            if not isinstance(event, Frame):
                continue
            if event.opcode is Opcode.TEXT:
                self._fragments = [bytes(event.data)]
            elif event.opcode is Opcode.BINARY:
                self._fragments = None if event.fin else self._fragments  # T-062: not for us
            elif event.opcode is Opcode.CONT and self._fragments is not None:
                self._fragments.append(bytes(event.data))
            if event.fin and self._fragments is not None and event.opcode in (Opcode.TEXT, Opcode.CONT):
                texts.append(b"".join(self._fragments))
                self._fragments = None
        self._flush()

    def send(self, text: bytes) -> None:
        from websockets.protocol import State

        if self._protocol.state is State.OPEN:
            self._protocol.send_text(text)
            self._flush()

    def ping(self) -> None:
        from websockets.protocol import State

        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
            self._flush()

    def goodbye(self) -> None:
        from websockets.protocol import State

        self._leaving = True
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(1000)
            self._flush()
        if not self.transport.is_closing():
            self.transport.resume_reading()  # for its answer

    def abort(self, reason: str = "") -> None:
        self._reason = reason or self._reason
        if hasattr(self, "transport"):
            self.transport.abort()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self.transport.write(data)
            else:
                self.transport.close()
        if self._protocol.close_expected() and (not self._leaving or self._protocol.close_rcvd is not None):
            self.transport.close()  # after what is buffered

"""The WebSocket transport: every message of a connection on one socket, which may break and come back."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc.message import write_error
from acpella.server.access.gate import Refusal
from acpella.server.access.tokens import SUBPROTOCOL
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.hosted import HostedConnection, Overflow
from acpella.server.connection.messages import ACK, NotAMessage, read_message
from acpella.server.connection.outbox import OutboxReader, OutOfWindow
from acpella.server.connection.profile import WEBSOCKET
from acpella.server.connection.table import Connections
from acpella.sessions import StoreError

from .posts import NOT_STARTED, check_rate
from .requests import HttpRequest
from .streamable import CONNECTION, RESUME

__all__ = ["serve_socket", "ticket_offered"]

log: logging.Logger = logging.getLogger(__name__)

BATCH = 256 * 1024
"""Bytes of messages in one write."""

TICKET = "acpella.ticket."
"""How a web page, which can set no header on a WebSocket, sends its ticket."""


async def serve_socket(connections: Connections, request: HttpRequest, *, binary: bool = False) -> None:
    """Serve one socket until it ends. With `binary`, messages may come in binary frames too."""
    connection_id = request.headers.get(CONNECTION)
    check_rate(connections, request)
    generation = connections.generation.encode()
    headers = [(b"acpella-resume", generation)]
    if connection_id is None:
        connection = connections.new(
            request.credential,
            WEBSOCKET,
            resumable=request.headers.get(RESUME) == "1",
            address=request.requester.client,
        )
        reader = await connection.attach(request.credential, abort=request.abort)
    else:
        connection, reader = await _rejoin(connections, request, connection_id)
        headers.append((b"acpella-received", b"%d" % connection.messages_received))
    headers.append((b"acp-connection-id", connection.id.encode()))
    socket = _Socket(connections, request, connection, reader, binary=binary)
    try:
        if (await request.receive())["type"] != "websocket.connect":
            return
        request.status = 101
        headers += [header for header in request.extra_headers if header[0] == b"set-cookie"]
        await request.send(
            {"type": "websocket.accept", "headers": headers, "subprotocol": _chosen(request.subprotocols)}
        )
        await socket.run()
    finally:
        connection.detach(reader)


async def _rejoin(
    connections: Connections, request: HttpRequest, connection_id: str
) -> tuple[HostedConnection, OutboxReader]:
    """Come back to a connection. Raises `Refusal`."""
    connection = await connections.reach(connection_id, request.credential)
    if connection is None or connection.profile is not WEBSOCKET or connection.is_gone_for_good:
        raise Refusal(404, "no such connection")
    try:
        cursor = request.headers.get("last-event-id", "")
        reader = await connection.attach(
            request.credential, cursor=cursor, take_over=True, abort=request.abort
        )
    except ConnectionClosed:
        raise Refusal(404, "no such connection") from None
    except OutOfWindow:
        raise Refusal(410, "what was missed is not kept any more; load the sessions again") from None
    return connection, reader


def ticket_offered(subprotocols: tuple[str, ...]) -> str | None:
    """The ticket among the subprotocols."""
    return next((name[len(TICKET) :] for name in subprotocols if name.startswith(TICKET)), None)


def _chosen(offered: tuple[str, ...]) -> str | None:
    """A browser that offers subprotocols wants one back; a token or ticket only if there is nothing else."""
    others = [name for name in offered if not name.startswith((SUBPROTOCOL, TICKET))]
    if len(others) == len(offered):
        return None
    return (others or offered)[0]


class _Stop(Exception):
    """The socket is to be closed, and perhaps what it is for."""

    def __init__(self, code: int, reason: str, *, is_fault: bool = False) -> None:
        self.code = code
        self.reason = reason
        self.is_fault = is_fault
        """The client does what it must not, so its connection ends."""
        super().__init__(reason)


class _Socket:
    def __init__(
        self,
        connections: Connections,
        request: HttpRequest,
        connection: HostedConnection,
        reader: OutboxReader,
        *,
        binary: bool,
    ) -> None:
        self._connections = connections
        self._request = request
        self._connection = connection
        self._reader = reader
        self._binary = binary

    async def run(self) -> None:
        writer = asyncio.get_running_loop().create_task(self._write())
        stop = _Stop(CloseCode.ENDED, "")
        try:
            await self._read(writer)
        except _Stop as why:
            stop = why
        finally:
            self._reader.end()
            await asyncio.wait([writer], timeout=1)
            writer.cancel()
        if stop.code == CloseCode.VANISHED:
            return
        connection = self._connection
        if connection.closed is None and stop.is_fault:
            connection.close(stop.reason, code=stop.code)
        close = {"type": "websocket.close", "code": stop.code, "reason": stop.reason[:100]}
        try:
            async with asyncio.timeout(2):
                await self._request.send(close)
        except (TimeoutError, ConnectionError, RuntimeError, OSError):
            pass
        except Exception as error:  # each ASGI server has an error of its own for a client that is gone
            log.debug("closing a socket: %s", error)
        if stop.is_fault and self._request.abort is not None:
            self._request.abort()  # it may go on to send for as long as somebody listens

    # -- to the client -------------------------------------------------------------------------

    async def _write(self) -> None:
        """Send what the agent says. That a client is gone is noticed by `_read`."""
        reader = self._reader
        send_many = self._request.send_many or self._send_each
        try:
            while not reader.over:
                _, frames = reader.take(BATCH)
                if frames:
                    await send_many(frames)
                else:
                    await reader.wait(3600)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.debug("writing to a socket: %s", error)
        reader.end()

    async def _send_each(self, frames: list[bytes]) -> None:
        send = self._request.send
        for frame in frames:
            await send({"type": "websocket.send", "text": frame.decode("utf-8", "replace")})

    # -- from the client -----------------------------------------------------------------------

    async def _read(self, writer: "asyncio.Task[None]") -> None:
        receive = self._request.receive
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._connections.settings.header_seconds  # whatever else it sends until then
        waiting: asyncio.Future[object] | None = None
        try:
            while True:
                reading = asyncio.ensure_future(receive())
                waiting = reading  # pyright: ignore[reportAssignmentType] - any future
                limit = None if self._connection.initialized else max(0.0, deadline - clock())
                await asyncio.wait({reading, writer}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                if self._reader.taken_over or self._reader.why:
                    raise self._why_over()  # what it still sent is not counted, so it comes again
                if reading.done() and limit != 0.0:
                    event = reading.result()
                    if event["type"] == "websocket.disconnect":
                        if event.get("code") == CloseCode.ENDED and self._connection.resumable:
                            self._connection.close("the client ended it")  # as DELETE does over HTTP
                        raise _Stop(CloseCode.VANISHED, "the client is gone")
                    await self._on_frame(event)
                elif writer.done():
                    raise self._why_over()
                else:
                    raise _Stop(CloseCode.LIMIT, "initialize did not come", is_fault=True)
        finally:
            if waiting is not None and not waiting.done():
                waiting.cancel()

    def _why_over(self) -> _Stop:
        if self._reader.taken_over:
            return _Stop(CloseCode.TAKEN_OVER, "taken over")
        if self._reader.why:
            return _Stop(CloseCode.LIMIT, self._reader.why)
        closed = self._connection.closed
        if closed is not None:
            return _Stop(self._connection.close_code, closed.reason)
        return _Stop(CloseCode.VANISHED, "the client is gone")

    async def _on_frame(self, event: Mapping[str, Any]) -> None:
        text: str | None = event.get("text")
        data: bytes | None = event.get("bytes") if text is None else text.encode("utf-8", "replace")
        if data is None or (text is None and not self._binary):
            return  # T-062
        connection = self._connection
        settings = self._connections.settings
        if len(data) > settings.max_body:
            raise _Stop(CloseCode.TOO_LONG, "the message is too long")
        try:
            message = read_message(data, max_id=settings.max_id, max_depth=settings.max_depth)
        except NotAMessage as wrong:
            connection.messages_received += 1
            if not self._connections.rate.spend(self._request.principal):
                raise _Stop(CloseCode.LIMIT, "too much that is not a message", is_fault=True) from None
            connection.tell(wrong.to_wire())
            return
        if message.method != ACK:
            connection.messages_received += 1
        if not connection.initialized:
            if message.is_response or message.method == ACK:
                return
            if message.method != "initialize" or message.id is None:
                raise _Stop(CloseCode.NOT_INITIALIZED, "initialize comes first", is_fault=True)
            connection.initialized = True
            await self._start(message.id)
        elif message.method == "initialize":
            if message.id is not None:
                connection.tell(write_error(message.id, -32600, "this connection is initialized"))
            return
        try:
            await connection.submit(message)
        except Overflow:
            raise _Stop(CloseCode.LIMIT, "the agent takes no messages", is_fault=True) from None
        except ConnectionClosed:
            # `_why_over` reports it. If another node goes on, the client sends this again there.
            connection.messages_received -= 1
        except StoreError as error:
            connection.messages_received -= 1  # it was not taken, so it comes again with the client
            log.warning("connection %s: a message could not be kept: %s", connection.label, error)
            raise _Stop(CloseCode.DATABASE, "the database cannot be reached; try again in a moment") from None

    async def _start(self, request_id: bytes) -> None:
        try:
            async with asyncio.timeout(self._connections.settings.initialize_seconds):
                await self._connection.start()
        except (AcpellaError, TimeoutError) as error:
            log.error("connection %s: %s: %s", self._connection.label, NOT_STARTED, error)
            self._connection.tell(write_error(request_id, -32603, NOT_STARTED))
            self._connection.close(NOT_STARTED, code=CloseCode.AGENT)

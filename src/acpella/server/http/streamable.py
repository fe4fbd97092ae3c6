"""The Streamable HTTP transport: POST, GET and DELETE on one path."""

import asyncio
import logging

from msgspec import json

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc.relay import read_frame
from acpella.server.access.gate import Refusal
from acpella.server.access.policy import needs_session
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.hosted import HostedConnection, UnknownSession
from acpella.server.connection.messages import Message
from acpella.server.connection.outbox import OutOfWindow, Taken
from acpella.server.connection.profile import HTTP
from acpella.server.connection.streams import TooManyStreams
from acpella.server.connection.table import Connections
from acpella.sessions import StoreError

from .posts import JSON, NOT_STARTED, read_post, reply_error, submit
from .requests import HttpRequest
from .sse import stream_events

__all__ = ["CONNECTION", "RESUME", "SESSION", "delete", "get", "open_stream", "post"]

log: logging.Logger = logging.getLogger(__name__)

CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
RESUME = "acpella-resume"


async def post(connections: Connections, request: HttpRequest) -> None:
    """A message from a client."""
    message = await read_post(connections, request)
    if message is None:
        return
    connection_id = _header(connections, request, CONNECTION)
    if message.method == "initialize":
        if connection_id is not None:
            text = "this connection is initialized; leave out Acp-Connection-Id for a new one"
            await reply_error(request, 400, message, -32600, text)
            return
        if message.id is None:
            raise Refusal(400, "initialize needs an id")
        await _initialize(connections, request, message)
        return
    connection = await _named(connections, request, connection_id)
    session_id = _header(connections, request, SESSION)
    if message.session is not None and session_id is not None and session_id != message.session:
        raise Refusal(400, "Acp-Session-Id and params.sessionId differ")
    if session_id is None and message.session is None and needs_session(message.method):
        text = f"{message.method[:100]} names no session, nor does Acp-Session-Id"
        if message.id is None:
            raise Refusal(400, text)
        await reply_error(request, 400, message, -32602, text)
        return
    if session_id is not None and message.method in ("session/load", "session/resume"):
        connection.expect_stream(session_id)  # it knows of session streams, so it will open this one
    await submit(connection, message, number=_number_of(request))
    await request.reply(202)


async def get(connections: Connections, request: HttpRequest) -> None:
    """A stream of what the agent says: of the connection, or of one session."""
    if not request.wants("text/event-stream"):
        raise Refusal(406, "the answer is text/event-stream")
    connection = await _named(connections, request, _header(connections, request, CONNECTION))
    await open_stream(connections, request, connection, _header(connections, request, SESSION))


async def delete(connections: Connections, request: HttpRequest) -> None:
    """End a connection, its streams and its agent."""
    connection = await _named(connections, request, _header(connections, request, CONNECTION))
    connection.close("the client ended it")
    await request.reply(202)


async def _named(
    connections: Connections, request: HttpRequest, connection_id: str | None
) -> HostedConnection:
    """The connection that a request names. Raises `Refusal`."""
    if connection_id is None:
        raise Refusal(400, "Acp-Connection-Id is missing")
    connection = await connections.reach(connection_id, request.credential)
    if connection is None:
        raise Refusal(404, "no such connection")
    return connection


def _header(connections: Connections, request: HttpRequest, name: str) -> str | None:
    value = request.headers.get(name)
    if value is not None and len(value) > connections.settings.max_id:
        raise Refusal(400, f"{name} has at most {connections.settings.max_id} characters")
    return value or None


def _number_of(request: HttpRequest) -> int | None:
    """The number of a message, by which it is recognized if it is sent again because its 202 was lost."""
    number = request.headers.get("acpella-message", "")
    return int(number) if number.isdecimal() and len(number) <= 18 else None


async def _initialize(connections: Connections, request: HttpRequest, message: Message) -> None:
    connection = connections.new(
        request.credential,
        HTTP,
        resumable=request.headers.get(RESUME) == "1",
        address=request.requester.client,
    )
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def answered(line: bytes) -> None:
        if not answer.done():
            answer.set_result(line)

    try:
        async with asyncio.timeout(connections.settings.initialize_seconds):
            await connection.start()
            await connection.submit(message, answered=answered)
            line = await answer
    except TimeoutError:
        connection.close("the agent did not answer initialize", code=CloseCode.AGENT)
        await reply_error(request, 504, message, -32603, "the agent did not answer initialize in time")
        return
    except StoreError:
        connection.close("the database cannot be reached", code=CloseCode.DATABASE)
        raise
    except AcpellaError as error:
        log.error("connection %s: %s: %s", connection.label, NOT_STARTED, error)
        connection.close(NOT_STARTED, code=CloseCode.AGENT)
        await reply_error(request, 500, message, -32603, NOT_STARTED)
        return
    except BaseException:
        connection.close("initialize was given up")
        raise
    if connection.closed is not None:
        connections.forget(connection.id)
        await request.reply(500, line, kind=JSON)
        return
    headers = [(b"acp-connection-id", connection.id.encode())]
    if connection.resumable:
        headers.append((b"acpella-resume", connections.generation.encode()))
    connection.initialized = True
    if read_frame(line).is_error:  # the agent refused (T-021)
        connection.close("the agent refused to initialize")
    await request.reply(200, line, kind=JSON, headers=headers)


async def open_stream(
    connections: Connections, request: HttpRequest, connection: HostedConnection, session_id: str | None
) -> None:
    """Read one stream of a connection, from where the client left off."""
    confirms = request.headers.get(RESUME) == "1"
    cursor = request.headers.get("last-event-id")
    first = b":\n\n"
    try:
        try:
            reader = await connection.attach(
                request.credential,
                session_id=session_id,
                cursor=cursor,
                confirms=confirms,
                take_over=confirms,
                abort=request.abort,
            )
        except OutOfWindow:  # it is told what to do, and hears what comes from now on
            first = _resync(session_id)
            reader = await connection.attach(
                request.credential, session_id=session_id, take_over=confirms, abort=request.abort
            )
    except ConnectionClosed:
        raise Refusal(404, "no such connection") from None
    except Taken:
        raise Refusal(409, "this stream has a reader") from None
    except UnknownSession:
        raise Refusal(404, "no such session") from None
    except TooManyStreams:
        raise Refusal(503, "this connection has too many sessions") from None
    generation = connections.generation
    headers = [(b"acp-connection-id", connection.id.encode()), (b"acpella-resume", generation.encode())]
    try:
        await stream_events(
            request,
            reader,
            id_prefix=f"{generation}-",
            keepalive=connections.settings.keepalive_seconds,
            first=first,
            headers=headers,
        )
    finally:
        connection.detach(reader)


def _resync(session_id: str | None) -> bytes:
    """The event that tells a client that it missed something."""
    data = {
        "reason": "what came after this event is not kept any more",
        "action": "session/load",
        "sessionId": session_id,
    }
    return b"event: resync\ndata: " + json.encode(data) + b"\n\n"

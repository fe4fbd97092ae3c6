"""Other ways to speak ACP over HTTP that clients in the field use, beside the official transport."""

import hashlib

from acpella.server.access.gate import Refusal
from acpella.server.connection.hosted import HostedConnection
from acpella.server.connection.messages import Message
from acpella.server.connection.profile import CLIENT_ID, SESSION_HEADER
from acpella.server.connection.table import Connections

from .posts import read_post, start_agent, submit
from .requests import HttpRequest
from .sse import stream_events
from .streamable import CONNECTION, SESSION, open_stream

__all__ = ["client_id_get", "client_id_post", "is_session_header_profile", "session_header"]


# -- client_id: POST /acp/rpc?client_id=…, everything comes on GET /acp/sse?client_id=… -----------------


async def client_id_post(connections: Connections, request: HttpRequest) -> None:
    """A message; its answer comes on the event stream."""
    connection_id = _connection_id(connections, request)
    message = await read_post(connections, request)
    if message is None:
        return
    connection = await connections.reach(connection_id, request.credential)
    if connection is None and message.method != "initialize":
        raise Refusal(404, "no such client; initialize first")
    connection = await _client(connections, request, connection_id)
    if not await start_agent(connection, request, message):
        return
    if message.method == "initialize":
        if connection.initialized:
            raise Refusal(409, "this client is initialized; use another client_id")
        connection.initialized = True
    await submit(connection, message)
    await request.reply(202)


async def client_id_get(connections: Connections, request: HttpRequest) -> None:
    """The event stream of a client; it may come before the first message."""
    connection = await _client(connections, request, _connection_id(connections, request))
    await open_stream(connections, request, connection, None)


def _connection_id(connections: Connections, request: HttpRequest) -> str:
    """The client chose its own id, so that counts only together with whose it is. Raises `Refusal`."""
    client_id = request.query("client_id")
    if not client_id or len(client_id) > connections.settings.max_id:
        raise Refusal(400, f"client_id is missing, or has more than {connections.settings.max_id} characters")
    return "client:" + hashlib.sha256(f"{request.principal}\0{client_id}".encode()).hexdigest()


async def _client(connections: Connections, request: HttpRequest, connection_id: str) -> HostedConnection:
    connection = await connections.reach(connection_id, request.credential)
    if connection is not None and connection.closed is None:
        return connection
    if connection is not None:
        connections.forget(connection_id)
    return connections.new(
        request.credential, CLIENT_ID, connection_id=connection_id, address=request.requester.client
    )


# -- POST /acp is answered by an event stream; Acp-Session-Id names the connection ------------------------


def is_session_header_profile(request: HttpRequest) -> bool:
    """Whether a request on the official path is of this kind: it names no connection, but wants events."""
    if CONNECTION in request.headers:
        return False
    if request.method == "POST":
        return request.wants("text/event-stream") and not request.wants("application/json")
    return request.method in ("GET", "DELETE") and SESSION in request.headers


async def session_header(connections: Connections, request: HttpRequest) -> None:
    """The messages of a connection that is named by `Acp-Session-Id`."""
    connection_id = request.headers.get(SESSION)
    connection = None
    if connection_id is not None:
        connection = await connections.reach(connection_id, request.credential)
        if connection is None or connection.profile is not SESSION_HEADER:
            raise Refusal(404, "no such connection")
    if request.method == "DELETE":
        assert connection is not None
        connection.close("the client ended it")
        await request.reply(202)
    elif request.method == "GET":
        assert connection is not None
        if not request.accepts("text/event-stream"):
            raise Refusal(406, "the answer is text/event-stream")
        await open_stream(connections, request, connection, None)
    else:
        await _session_header_post(connections, request, connection)


async def _session_header_post(
    connections: Connections, request: HttpRequest, connection: HostedConnection | None
) -> None:
    message = await read_post(connections, request)
    if message is None:
        return
    if connection is None:
        connection = connections.new(request.credential, SESSION_HEADER, address=request.requester.client)
    if not await start_agent(connection, request, message):
        return
    headers = [(b"acp-session-id", connection.id.encode())]
    if message.is_request:
        await _stream_answer(connections, request, connection, message, headers)
    else:
        await submit(connection, message)
        await request.reply(202, headers=headers)


async def _stream_answer(
    connections: Connections,
    request: HttpRequest,
    connection: HostedConnection,
    message: Message,
    headers: list[tuple[bytes, bytes]],
) -> None:
    """Stream what the agent says until it has answered: what concerns the session that the request names,
    and, while no other stream is open, everything else."""
    answer = connection.open_answer(message, request.credential, abort=request.abort)
    complete = False
    try:
        await submit(connection, message, answered=answer.answered)
        complete = await stream_events(
            request,
            answer.reader,
            id_prefix=f"{connections.generation}-{answer.number}.",
            keepalive=connections.settings.keepalive_seconds,
            headers=headers,
        )
    finally:
        answer.end(complete=complete)

"""Other ways to speak ACP over HTTP that clients in the field use, beside the official transport."""

import hashlib
import logging

from acpella.errors import AcpellaError
from acpella.server.access.gate import Refusal
from acpella.server.connection.hosted import HostedConnection
from acpella.server.connection.messages import Message, NotAMessage, error_answer
from acpella.server.connection.table import Host

from .requests import Request
from .sse import stream_events
from .streamable import CONNECTION, JSON, SESSION, check_rate, deliver, open_stream, read_body

__all__ = ["client_id_get", "client_id_post", "is_stream_profile", "stream_profile"]

log = logging.getLogger(__name__)


# -- client_id: POST /acp/rpc?client_id=…, everything comes on GET /acp/sse?client_id=… -----------------


async def client_id_post(host: Host, request: Request) -> None:
    """A message; its answer comes on the event stream."""
    client_id = _client_id(host, request)
    try:
        message = await read_body(host, request)
    except NotAMessage as wrong:
        await request.reply(501 if wrong.is_array else 400, wrong.to_wire(), kind=JSON)
        return
    check_rate(host, request, message)
    connection = host.reach(_key(request, client_id), request.credential)
    if connection is None and message.method != "initialize":
        raise Refusal(404, "no such client; initialize first")
    connection = await _client(host, request, client_id)
    await _start_once(connection)
    if message.method == "initialize":
        if connection.initialized:
            raise Refusal(409, "this client is initialized; use another client_id")
        connection.initialized = True
    await deliver(connection, message)
    await request.reply(202)


async def client_id_get(host: Host, request: Request) -> None:
    """The event stream of a client; it may come before the first message."""
    client_id = _client_id(host, request)
    connection = await _client(host, request, client_id)
    await open_stream(host, request, connection, None)


def _client_id(host: Host, request: Request) -> str:
    client_id = request.query("client_id")
    if not client_id or len(client_id) > host.settings.max_id:
        raise Refusal(400, f"client_id is missing, or has more than {host.settings.max_id} characters")
    return client_id


def _key(request: Request, client_id: str) -> str:
    """The client chose this id, so it counts only together with whose it is."""
    return "client:" + hashlib.sha256(f"{request.principal}\0{client_id}".encode()).hexdigest()


async def _client(host: Host, request: Request, client_id: str) -> HostedConnection:
    key = _key(request, client_id)
    found = host.reach(key, request.credential)
    if found is None or found.closed is not None:
        if found is not None:
            host.end(found)
        found = host.new(
            request.credential, kind="client_id", multiplexed=True, key=key, address=request.requester.client
        )
    return found


async def _start_once(connection: HostedConnection) -> None:
    try:
        await connection.start_once()
    except AcpellaError as error:
        log.error("connection %s: the agent could not be started: %s", connection.label, error)
        connection.close("the agent could not be started", code=1011)
        raise Refusal(500, "the agent could not be started") from None


# -- POST /acp is answered by an event stream; Acp-Session-Id names the connection ------------------------


def is_stream_profile(request: Request) -> bool:
    """Whether a request on the official path is of this kind: it names no connection, but wants events."""
    if CONNECTION in request.headers:
        return False
    if request.method == "POST":
        return request.wants("text/event-stream") and not request.wants("application/json")
    return request.method in ("GET", "DELETE") and SESSION in request.headers


async def stream_profile(host: Host, request: Request) -> None:
    """The messages of a connection that is named by `Acp-Session-Id`."""
    wanted = request.headers.get(SESSION)
    connection = None if wanted is None else host.reach(wanted, request.credential)
    if wanted is not None and (connection is None or connection.kind != "stream"):
        raise Refusal(404, "no such connection")
    if request.method == "DELETE":
        assert connection is not None
        connection.close("the client ended it")
        await request.reply(202)
    elif request.method == "GET":
        assert connection is not None
        if not request.accepts("text/event-stream"):
            raise Refusal(406, "the answer is text/event-stream")
        await open_stream(host, request, connection, None)
    else:
        await _stream_post(host, request, connection)


async def _stream_post(host: Host, request: Request, connection: HostedConnection | None) -> None:
    try:
        message = await read_body(host, request)
    except NotAMessage as wrong:
        await request.reply(501 if wrong.is_array else 400, wrong.to_wire(), kind=JSON)
        return
    check_rate(host, request, message)
    if connection is None:
        connection = host.new(
            request.credential, kind="stream", multiplexed=False, address=request.requester.client
        )
    try:
        await connection.start_once()
    except AcpellaError as error:
        log.error("connection %s: the agent could not be started: %s", connection.label, error)
        connection.close("the agent could not be started", code=1011)
        body = error_answer(message.id or b"null", -32603, "the agent could not be started")
        await request.reply(500, body, kind=JSON)
        return
    headers = [(b"acp-session-id", connection.id.encode())]
    if not message.is_request:
        await deliver(connection, message)
        await request.reply(202, headers=headers)
        return
    await _stream_answer(request, connection, message, headers)


async def _stream_answer(
    request: Request, connection: HostedConnection, message: Message, headers: list[tuple[bytes, bytes]]
) -> None:
    """Stream what the agent says until it has answered: what concerns the session that the request names,
    and, while no other stream is open, everything else."""
    assert message.id is not None
    lent = connection.routes.lend(message.session, message.id)
    outbox = lent.outbox
    complete = False

    def answered(line: bytes) -> None:
        outbox.put((line,))
        outbox.close()

    reader = outbox.attach(abort=request.abort)
    try:
        await deliver(connection, message, answered=answered)
        complete = await stream_events(
            request, connection, reader, headers=headers, lending=f"{lent.number}."
        )
    finally:
        reader.end()
        reader.release()
        connection.give_back(lent, complete=complete)

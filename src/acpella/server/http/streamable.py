"""The Streamable HTTP transport: POST, GET and DELETE on one path."""

import asyncio
import logging
from collections.abc import Callable

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.server.access.gate import Refusal
from acpella.server.access.policy import needs_session
from acpella.server.connection.hosted import HostedConnection
from acpella.server.connection.messages import ACK, Message, NotAMessage, error_answer, read_message
from acpella.server.connection.outbox import OutOfWindow, Taken
from acpella.server.connection.routing import Overflow
from acpella.server.connection.table import Host

from .requests import Request
from .sse import stream_events

__all__ = ["JSON", "check_rate", "cursor_of", "delete", "get", "open_stream", "post", "read_body"]

log = logging.getLogger(__name__)

CONNECTION = "acp-connection-id"
SESSION = "acp-session-id"
RESUME = "acpella-resume"
JSON = b"application/json"


async def read_body(host: Host, request: Request) -> Message:
    """The message of a POST. Raises `Refusal`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the content type must be application/json")
    settings = host.settings
    body = await request.body(limit=settings.max_body, seconds=settings.body_seconds)
    return read_message(body, max_id=settings.max_id, max_depth=settings.max_depth)


async def post(host: Host, request: Request) -> None:
    """A message from a client."""
    try:
        message = await read_body(host, request)
    except NotAMessage as wrong:
        await request.reply(501 if wrong.is_array else 400, wrong.to_wire(), kind=JSON)
        return
    check_rate(host, request, message)
    connection_id = _header(host, request, CONNECTION)
    if message.method == "initialize":
        if connection_id is not None:
            text = "this connection is initialized; leave out Acp-Connection-Id for a new one"
            await request.reply(400, error_answer(message.id or b"null", -32600, text), kind=JSON)
            return
        if message.id is None:
            raise Refusal(400, "initialize needs an id")
        await _initialize(host, request, message)
        return
    connection = find(host, request, connection_id)
    session_id = _header(host, request, SESSION)
    if message.session is not None and session_id is not None and session_id != message.session:
        raise Refusal(400, "Acp-Session-Id and params.sessionId differ")
    if session_id is None and message.session is None and needs_session(message.method):
        text = f"{(message.method or '')[:100]} names no session, nor does Acp-Session-Id"
        if message.id is None:
            raise Refusal(400, text)
        await request.reply(400, error_answer(message.id, -32602, text), kind=JSON)
        return
    if session_id is not None and message.method in ("session/load", "session/resume"):
        connection.expect_stream(session_id)  # it knows of session streams, so it will open this one
    await deliver(connection, message, number=_number_of(request))
    await request.reply(202)


def check_rate(host: Host, request: Request, message: Message | None = None) -> None:
    """Raises `Refusal` when a user asks too much. What the agent asked for, and acks, do not count."""
    if message is not None and (message.is_response or message.method == ACK):
        return
    if not host.requests.spend("http:" + request.principal):
        host.metrics.add("acpella_refused_total", 'reason="rate"')
        raise Refusal(429, "too many requests; wait a little", headers=[(b"retry-after", b"1")])


async def deliver(
    connection: HostedConnection,
    message: Message,
    *,
    answered: Callable[[bytes], None] | None = None,
    number: int | None = None,
) -> None:
    """Hand a message on, unless that of its number was before. Raises `Refusal` when it cannot be taken."""
    try:
        if message.method != ACK:
            await connection.until_writable()
        if number is None or connection.closed is not None or connection.is_new(number):
            connection.send(message, answered=answered)
    except Overflow:
        raise Refusal(503, "the agent takes no messages", headers=[(b"retry-after", b"5")]) from None
    except ConnectionClosed as closed:
        raise Refusal(404, f"the connection has ended: {closed.reason}") from None


def find(host: Host, request: Request, connection_id: str | None) -> HostedConnection:
    """The connection that a request names. Raises `Refusal`."""
    if connection_id is None:
        raise Refusal(400, "Acp-Connection-Id is missing")
    connection = host.reach(connection_id, request.credential)
    if connection is None:
        raise Refusal(404, "no such connection")
    return connection


def _header(host: Host, request: Request, name: str) -> str | None:
    value = request.headers.get(name)
    if value is not None and len(value) > host.settings.max_id:
        raise Refusal(400, f"{name} has at most {host.settings.max_id} characters")
    return value or None


def _number_of(request: Request) -> int | None:
    """The number by which a message is known that is sent again because its 202 was lost."""
    number = request.headers.get("acpella-message", "")
    return int(number) if number.isdecimal() and len(number) <= 18 else None


async def _initialize(host: Host, request: Request, message: Message) -> None:
    connection = host.new(
        request.credential,
        kind="http",
        multiplexed=False,
        resumable=request.headers.get(RESUME) == "1",
        address=request.requester.client,
    )
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    assert message.id is not None

    def answered(line: bytes) -> None:
        if not answer.done():
            answer.set_result(line)

    try:
        async with asyncio.timeout(host.settings.initialize_seconds):
            await connection.start()
            connection.send(message, answered=answered)
            line = await answer
    except TimeoutError:
        connection.close("the agent did not answer initialize", code=1011)
        body = error_answer(message.id, -32603, "the agent did not answer initialize in time")
        await request.reply(504, body, kind=JSON)
        return
    except AcpellaError as error:
        log.error("connection %s: the agent could not be started: %s", connection.label, error)
        connection.close("the agent could not be started", code=1011)
        await request.reply(
            500, error_answer(message.id, -32603, "the agent could not be started"), kind=JSON
        )
        return
    except BaseException:
        connection.close("initialize was given up")
        raise
    if connection.closed is not None:
        host.end(connection)
        await request.reply(500, line, kind=JSON)
        return
    headers = [(b"acp-connection-id", connection.id.encode())]
    if connection.resumable:
        headers.append((b"acpella-resume", host.gen.encode()))
    connection.initialized = True
    if b'"result"' not in line:  # the agent refused (T-021)
        connection.close("the agent refused to initialize")
    await request.reply(200, line, kind=JSON, headers=headers)


async def get(host: Host, request: Request) -> None:
    """A stream of what the agent says: of the connection, or of one session."""
    if not request.wants("text/event-stream"):
        raise Refusal(406, "the answer is text/event-stream")
    connection = find(host, request, _header(host, request, CONNECTION))
    session_id = _header(host, request, SESSION)
    if session_id is not None and session_id not in connection.routes.streams:
        if session_id not in connection.routes.known and not connection.loads:
            raise Refusal(404, "no such session")
        try:
            connection.routes.stream_of(session_id)
        except Overflow:
            raise Refusal(503, "this connection has too many sessions") from None
    try:
        await open_stream(host, request, connection, session_id)
    finally:
        connection.left_stream(session_id)


async def open_stream(
    host: Host, request: Request, connection: HostedConnection, session_id: str | None
) -> None:
    """Read one outbox of a connection, from where the client left off."""
    resumable = request.headers.get(RESUME) == "1"
    if resumable:
        connection.be_resumable()
    outbox = connection.routes.streams[session_id]
    given = request.headers.get("last-event-id")
    first = b":\n\n"
    try:
        try:
            if given is not None:
                after = _after(host, connection, given, take_over=resumable)
            else:  # a client that confirms, and has seen nothing yet, may have missed what was sent
                after = outbox.acked if resumable else None
            reader = outbox.attach(after=after, take_over=resumable, abort=request.abort)
        except OutOfWindow:
            host.metrics.add("acpella_resumed_total", 'outcome="lost"')
            first = _resync(session_id)
            reader = outbox.attach(take_over=resumable, abort=request.abort)
        else:
            if given is not None:
                host.metrics.add("acpella_resumed_total", 'outcome="resumed"')
    except Taken:
        raise Refusal(409, "this stream has a reader") from None
    headers = [(b"acp-connection-id", connection.id.encode()), (b"acpella-resume", host.gen.encode())]
    await stream_events(request, connection, reader, first=first, headers=headers)


def _after(host: Host, connection: HostedConnection, given: str, *, take_over: bool) -> int:
    """Where to go on. Raises `OutOfWindow`, and `Taken` when somebody reads what would have to be moved."""
    number, dot, message = given.strip().partition(".")
    if connection.kind != "stream" or not dot:
        return cursor_of(host, given)
    if not message.isdecimal() or len(message) > 18:
        raise OutOfWindow
    lending = cursor_of(host, number)
    if connection.main.attached and not take_over:
        raise Taken
    if (lent := connection.routes.lent(lending)) is not None:  # its client has left, which nobody noticed yet
        lent.outbox.abort()
        connection.give_back(lent, complete=False)
    return connection.routes.after(lending, int(message))


def cursor_of(host: Host, text: str) -> int:
    """The number in `<gen>-<number>`. Raises `OutOfWindow` for one of another server or time."""
    gen, _, number = text.strip().partition("-")
    if gen != host.gen or not number.isdecimal() or len(number) > 18:
        raise OutOfWindow
    return int(number)


def _resync(session_id: str | None) -> bytes:
    from msgspec.json import encode

    told = {
        "reason": "what came after this event is not kept any more",
        "action": "session/load",
        "sessionId": session_id,
    }
    return b"event: resync\ndata: " + encode(told) + b"\n\n"


async def delete(host: Host, request: Request) -> None:
    """End a connection, its streams and its agent."""
    connection = find(host, request, _header(host, request, CONNECTION))
    connection.close("the client ended it")
    await request.reply(202)

"""What every profile does with a POST: read its message, count it, hand it to the connection."""

import logging

from acpella.errors import AcpellaError, ConnectionClosed
from acpella.rpc.message import write_error
from acpella.server.access.gate import Refusal
from acpella.server.connection.close_codes import CloseCode
from acpella.server.connection.hosted import Answered, HostedConnection, Overflow
from acpella.server.connection.messages import ACK, Message, NotAMessage, read_message
from acpella.server.connection.table import Connections

from .requests import HttpRequest

__all__ = ["JSON", "check_rate", "read_post", "reply_error", "start_agent", "submit"]

log: logging.Logger = logging.getLogger(__name__)

JSON = b"application/json"

NOT_STARTED = "the agent could not be started"


async def read_post(connections: Connections, request: HttpRequest) -> Message | None:
    """The message of a POST; None if it has none, which the client was told. Raises `Refusal`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the content type must be application/json")
    settings = connections.settings
    body = await request.body(limit=settings.max_body, seconds=settings.body_seconds)
    try:
        message = read_message(body, max_id=settings.max_id, max_depth=settings.max_depth)
    except NotAMessage as wrong:
        await request.reply(501 if wrong.is_array else 400, wrong.to_wire(), kind=JSON)
        return None
    check_rate(connections, request, message)
    return message


def check_rate(connections: Connections, request: HttpRequest, message: Message | None = None) -> None:
    """Raises `Refusal` when a user asks too much. What the agent asked for, and acks, do not count."""
    if message is not None and (message.is_response or message.method == ACK):
        return
    if not connections.rate.spend("http:" + request.principal):
        connections.metrics.add("acpella_refused_total", 'reason="rate"')
        raise Refusal(429, "too many requests; wait a little", headers=[(b"retry-after", b"1")])


async def start_agent(connection: HostedConnection, request: HttpRequest, message: Message) -> bool:
    """Start the agent unless it runs; False if it cannot be, which the client was told."""
    try:
        await connection.start()
    except AcpellaError as error:
        log.error("connection %s: %s: %s", connection.label, NOT_STARTED, error)
        connection.close(NOT_STARTED, code=CloseCode.AGENT)
        await reply_error(request, 500, message, -32603, NOT_STARTED)
        return False
    return True


async def submit(
    connection: HostedConnection,
    message: Message,
    *,
    answered: Answered | None = None,
    number: int | None = None,
) -> None:
    """Hand a message on. Raises `Refusal` when it cannot be taken."""
    try:
        await connection.submit(message, number=number, answered=answered)
    except Overflow:
        raise Refusal(503, "the agent takes no messages", headers=[(b"retry-after", b"5")]) from None
    except ConnectionClosed as closed:
        if connection.close_code == CloseCode.MOVED:
            raise Refusal(503, "another node goes on with it", headers=[(b"retry-after", b"1")]) from None
        raise Refusal(404, f"the connection has ended: {closed.reason}") from None


async def reply_error(request: HttpRequest, status: int, message: Message, code: int, text: str) -> None:
    """Answer a POST with a JSON-RPC error, under the id of its message."""
    await request.reply(status, write_error(message.id or b"null", code, text), kind=JSON)

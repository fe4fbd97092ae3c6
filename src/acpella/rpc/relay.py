"""Passes frames between two peers as the bytes they are, and makes sure that nobody waits for ever.

A `Frame` is one message of which only kind, method, id and session are known. A `Side` is one of the peers:
it keeps the requests that the peer has to answer, gives them ids of its own where several senders share one
peer, and can ask, answer and fail them. A `Relay` joins two sides. No I/O: bytes in, bytes out.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from acpella.errors import RpcError

from .framing import Broken, Framer, Framing
from .message import (
    ABSENT,
    UNREADABLE,
    Envelope,
    RequestId,
    guess,
    id_key,
    id_of,
    read_envelope,
    write_error,
    write_notification,
    write_request,
    write_result,
)

__all__ = [
    "UPDATE_HEAD",
    "UPDATE_SESSION",
    "Frame",
    "Kind",
    "Pending",
    "Relay",
    "Reply",
    "Side",
    "Unreadable",
    "cancelled_request",
    "read_frame",
    "session_of",
    "unreadable",
    "with_id",
]

Kind: TypeAlias = Literal["request", "notification", "response", "noise"]

UPDATE_HEAD = b'{"jsonrpc":"2.0","method":"session/update",'
"""How most agents begin the one notification that comes in floods. It is passed on without another look."""

UPDATE_SESSION = re.compile(re.escape(UPDATE_HEAD) + rb'"params":\{"sessionId":"([\w-]{1,128})",', re.ASCII)
"""Finds the session of such an update, as its first group. For loops that cannot spare a call for each."""


class _WithSession(Struct):
    session: Any = msgspec.field(default=None, name="sessionId")


class _CancelParams(Struct):
    request_id: Raw = msgspec.field(name="requestId")


_read_session = msgspec.json.Decoder(_WithSession)
_read_cancel = msgspec.json.Decoder(_CancelParams)


class Frame(Struct, frozen=True, gc=False):
    """One message as the bytes it arrived in, with what a relay must know about it."""

    data: bytes
    kind: Kind
    """`noise` is what cannot be read as a message."""
    envelope: Envelope = Envelope()
    id: RequestId | None = None
    """Of a request or response; None if it is missing, null or of another type. Of noise, as it seems."""
    reason: str = ""
    """Why it is noise."""

    @property
    def method(self) -> str:
        """Empty for responses and noise."""
        return self.envelope.method or ""

    @property
    def session(self) -> str | None:
        """The session that the parameters name."""
        return session_of(self.envelope.params)

    @property
    def is_error(self) -> bool:
        """Whether it is a response that tells of an error."""
        return self.envelope.error != ABSENT and bytes(self.envelope.error) != b"null"


def session_of(raw: bytes | Raw) -> str | None:
    """The `sessionId` of parameters or of a result."""
    try:
        session = _read_session.decode(raw).session
    except UNREADABLE:
        return None
    return session if isinstance(session, str) else None


def read_frame(data: bytes) -> Frame:
    """Look at a message."""
    try:
        envelope = read_envelope(data)
    except UNREADABLE as error:
        return Frame(data, "noise", id=guess(data, data)[0], reason=_reason(error))
    request_id = None if envelope.id == ABSENT else id_of(envelope.id)
    if request_id == b"null":
        request_id = None
    if envelope.method is not None:
        kind: Kind = "notification" if envelope.id == ABSENT else "request"
        if kind == "request" and request_id is None:
            return Frame(data, "noise", envelope, reason="an id is a string or a number")
    elif envelope.id != ABSENT and not (envelope.result == ABSENT and envelope.error == ABSENT):
        kind = "response"
    else:
        return Frame(data, "noise", envelope, request_id, "it is neither a request nor an answer")
    return Frame(data, kind, envelope, request_id)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "it is not a message" if isinstance(error, msgspec.ValidationError) else "it is not JSON"


class Unreadable(NamedTuple):
    """A message that nobody can read, but somebody waits for: the error that ends the wait."""

    id: RequestId
    is_response: bool
    error: RpcError

    @property
    def answer(self) -> Frame:
        """The error: in the place of a response, or for whoever sent the request."""
        return read_frame(write_error(self.id, self.error.code, self.error.message))


def unreadable(message: Frame | Broken) -> Unreadable | None:
    """Who waits for a message that is noise, too long or cut off; None if it does not tell."""
    if isinstance(message, Broken):
        request_id, is_response = guess(message.head, message.tail)
    elif message.envelope.id == ABSENT:
        request_id, is_response = guess(message.data, message.data)
    else:  # readable, but without a method, a result or an error: all that is left is an empty answer
        request_id, is_response = message.id, True
    if request_id is None:
        return None
    if is_response:
        error = RpcError(f"the answer could not be read: {message.reason}", code=-32603)
    else:
        error = RpcError(f"the message could not be read: {message.reason}", code=-32600)
    return Unreadable(request_id, is_response, error)


Reply: TypeAlias = Callable[[Frame], None]
"""Gets the response to a request, with the id that its sender gave it."""


class Pending(NamedTuple):
    """A request that a peer has not answered."""

    method: str
    session: str | None
    id: RequestId
    """The id that its sender gave it."""
    reply: Reply
    sender: object = None
    """Whose request it is, where several share the peer."""


class Side:
    """One peer, as a relay sees it."""

    def __init__(self, write: Callable[[bytes], None], *, own_ids: bool = False) -> None:
        """`write` takes one whole message. With `own_ids`, requests get other ids than their senders gave
        them: several senders may use the same ones."""
        self._write = write
        self._own_ids = own_ids
        self._next = 0
        self._pending: dict[bytes, Pending] = {}

    @property
    def pending(self) -> Mapping[bytes, Pending]:
        """What the peer has to answer, by the id that it knows."""
        return self._pending

    # -- to the peer ---------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Write one message as it is."""
        self._write(data)

    def forward(self, request: Frame, reply: Reply, *, sender: object = None) -> RequestId:
        """Pass a request on; returns the id that the peer knows it by."""
        assert request.id is not None
        if not self._own_ids:
            self.expect(request, reply, sender=sender, session=request.session)
            self._write(request.data)
            return request.id
        pending = Pending(request.method, request.session, request.id, reply, sender)
        params = request.envelope.params
        return self._send_request(pending, b"{}" if params == ABSENT else params)

    def expect(self, request: Frame, reply: Reply, *, session: str | None, sender: object = None) -> None:
        """A request reaches the peer in some other way, under the id that it has: keep it as `forward` does.

        `session` is the one that it names, which the caller knows already.
        """
        assert request.id is not None
        self._pending[id_key(request.id)] = Pending(request.method, session, request.id, reply, sender)

    def redirect(self, request_id: RequestId, reply: Reply) -> bool:
        """Let somebody else have the response to a request; False if nothing waits under that id."""
        pending = self._pending.get(id_key(request_id))
        if pending is None:
            return False
        self._pending[id_key(request_id)] = pending._replace(reply=reply)
        return True

    def call(self, method: str, params: Any, reply: Reply) -> RequestId:
        """Ask something on the relay's own behalf."""
        session = session_of(params) if isinstance(params, bytes | Raw) else None
        return self._send_request(Pending(method, session, b"null", reply), params)

    def _send_request(self, pending: Pending, params: Any) -> RequestId:
        # among ids that senders chose, one of ours must be told from theirs
        request_id = b"%d" % self._next if self._own_ids else b'"acpella-%d"' % self._next
        self._next += 1
        self._pending[request_id] = pending
        self._write(write_request(request_id, pending.method, params))
        return request_id

    def notify(self, method: str, params: Any) -> None:
        """Tell the peer something on the relay's own behalf."""
        self._write(write_notification(method, params))

    def answer(self, request_id: RequestId, result: Any) -> None:
        """Answer a request of the peer."""
        self._write(write_result(request_id, result))

    def refuse(self, request_id: RequestId, error: RpcError) -> None:
        """Answer a request of the peer with an error."""
        self._write(write_error(request_id, error.code, error.message, error.data))

    def cancel(self, notification: Frame, *, sender: object = None) -> bool:
        """Pass a `$/cancel_request` on, with the id that the peer knows; False if nothing waits under it."""
        cancelled_id = cancelled_request(notification)
        if cancelled_id is None:
            return False
        for request_id, pending in self._pending.items():
            if id_key(pending.id) == id_key(cancelled_id) and pending.sender is sender:
                if self._own_ids:
                    self.notify("$/cancel_request", {"requestId": Raw(request_id)})
                else:
                    self._write(notification.data)
                return True
        return False

    # -- from the peer ---------------------------------------------------------------------

    def take(self, response: Frame) -> Pending | None:
        """The request that this answers, which is pending no more; None if there is none. Nobody is told."""
        return None if response.id is None else self._pending.pop(id_key(response.id), None)

    def settle(self, response: Frame) -> bool:
        """Give a response to whoever waits for it; False if nobody does."""
        pending = self.take(response)
        if pending is None:
            return False
        pending.reply(with_id(response, pending.id))
        return True

    def end_wait(self, message: Frame | Broken) -> bool:
        """The peer sent what cannot be read. Nobody is to wait: an error settles the request that it answers,
        or goes back for the request that it is. False if it tells of neither."""
        noise = unreadable(message)
        if noise is None:
            return False
        if noise.is_response:
            self.settle(noise.answer)
        else:
            self.send(noise.answer.data)
        return True

    def fail(self, error: RpcError, *, sender: object = None) -> None:
        """Nobody will answer any more: each request, or each of one sender, gets this error."""
        failed = {k: p for k, p in self._pending.items() if sender is None or p.sender is sender}
        for key in failed:
            del self._pending[key]
        for pending in failed.values():  # a reply may ask again, so the table is in order before the first
            pending.reply(read_frame(write_error(pending.id, error.code, error.message, error.data)))

    def drain(self) -> dict[bytes, Pending]:
        """What the peer has to answer and never will; it is pending no more, and nobody is told."""
        drained, self._pending = self._pending, {}
        return drained

    def forget(self, sender: object) -> None:
        """A sender is gone: what it asked for is nobody's."""
        for key in [key for key, pending in self._pending.items() if pending.sender is sender]:
            del self._pending[key]


def cancelled_request(notification: Frame) -> RequestId | None:
    """The request that a `$/cancel_request` is about."""
    try:
        return id_of(_read_cancel.decode(notification.envelope.params).request_id)
    except UNREADABLE:
        return None


def with_id(response: Frame, request_id: RequestId) -> Frame:
    """The response under another id; the same object if it has that id already."""
    if response.id == request_id:
        return response
    if response.is_error:
        data = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, bytes(response.envelope.error))
    else:
        data = write_result(
            request_id, b"null" if response.envelope.result == ABSENT else response.envelope.result
        )
    return Frame(data, "response", msgspec.structs.replace(response.envelope, id=Raw(request_id)), request_id)


Direction: TypeAlias = Literal["to_agent", "to_client"]

Intercept: TypeAlias = Callable[[Direction, Frame], bool]
"""Looks at a frame before it passes; False keeps it back, to be dropped, answered, or passed later."""


class Relay:
    """A client and an agent, joined. What one writes, the other gets.

    `receive` and `finish` take what was read from one of them, in any pieces. Frames that are plain updates
    pass unread unless somebody intercepts.
    """

    def __init__(
        self,
        *,
        to_client: Callable[[bytes], None],
        to_agent: Callable[[bytes], None],
        intercept: Intercept | None = None,
        on_noise: Callable[[Direction, Broken | Frame], None] | None = None,
        max_frame: int | None = None,
        client_framing: Framing | None = None,
    ) -> None:
        """`to_client` and `to_agent` write bytes to their peer. `on_noise` gets what is not a message.
        A message that is too long or cut off goes no further; all other noise passes as it is."""
        self._intercept = intercept
        self._on_noise = on_noise
        self._write: dict[Direction, Callable[[bytes], None]] = {"to_client": to_client, "to_agent": to_agent}
        self._framers: dict[Direction, Framer] = {
            "to_agent": Framer(max_frame=max_frame, framing=client_framing),
            "to_client": Framer(max_frame=max_frame, framing="lines"),
        }
        self.client: Side = Side(self._to_client)
        self.agent: Side = Side(self._to_agent)

    def receive(self, direction: Direction, data: bytes) -> None:
        """Bytes came that are to go there."""
        self._take(direction, self._framers[direction].feed(data))

    def finish(self, direction: Direction) -> None:
        """No more will come: an unterminated last line counts."""
        self._take(direction, self._framers[direction].finish())

    def lost(self, direction: Direction, error: RpcError) -> None:
        """The peer that sent frames in this direction is gone: what waits for it fails with `error`."""
        (self.client if direction == "to_agent" else self.agent).fail(error)

    def pass_on(self, direction: Direction, frame: Frame) -> None:
        """Pass a frame now, for instance one that was kept back, or another in its place."""
        target = self.agent if direction == "to_agent" else self.client
        source = self.client if direction == "to_agent" else self.agent
        if frame.kind == "request":
            target.forward(frame, lambda response: source.send(response.data))
        elif frame.kind == "response":
            if not source.settle(frame):
                target.send(frame.data)  # an answer to nobody is the other peer's to judge
        else:
            target.send(frame.data)

    def _take(self, direction: Direction, blocks: list[bytes | Broken]) -> None:
        for block in blocks:
            if isinstance(block, Broken):
                self._skip(direction, block)
            elif self._framers[direction].framing == "headers":
                self._pass_line(direction, block.replace(b"\n", b" ").strip())
            elif self._intercept is None and direction == "to_client" and block.startswith(UPDATE_HEAD):
                self._pass_block(block)
            else:
                for line in block.split(b"\n"):
                    self._pass_line(direction, line.strip())

    def _pass_block(self, block: bytes) -> None:
        lines = block.split(b"\n")
        if all(line.startswith(UPDATE_HEAD) for line in lines):
            self._to_client_block(block, lines)
        else:
            for line in lines:
                self._pass_line("to_client", line.strip())

    def _pass_line(self, direction: Direction, line: bytes) -> None:
        if not line:
            return
        frame = read_frame(line)
        if frame.kind == "noise" and self._on_noise is not None:
            self._on_noise(direction, frame)
        if self._intercept is None or self._intercept(direction, frame):
            self.pass_on(direction, frame)

    def _skip(self, direction: Direction, block: Broken) -> None:
        """Drop a message that is too long, or cut off: whoever waits for it, or sent it, gets an error."""
        if self._on_noise is not None:
            self._on_noise(direction, block)
        (self.client if direction == "to_agent" else self.agent).end_wait(block)

    def _to_agent(self, message: bytes) -> None:
        self._write["to_agent"](message + b"\n")

    def _to_client(self, message: bytes) -> None:
        self._write["to_client"](self._framers["to_agent"].wrap(message))

    def _to_client_block(self, block: bytes, lines: list[bytes]) -> None:
        if self._framers["to_agent"].framing == "headers":
            for line in lines:
                self._to_client(line)
        else:
            self._write["to_client"](block + b"\n")

"""One end of a JSON-RPC conversation without any I/O: bytes in, events out, and bytes to be written.

The peer knows framing, ids, error answers and limits. It runs no handler and knows no ACP method: a
`Vocabulary` tells it how to read the parameters and results of the methods it may meet.
"""

import logging
from collections.abc import Container
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Raw, UnsetType

from acpella.errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    LocalProtocolError,
    MethodNotFound,
    ParseError,
    RemoteProtocolError,
    RpcError,
)

from . import message
from .events import CancelRequested, Crash, Failure, Noise, Notification, PeerEvent, Reply, Request
from .framing import Broken, Framer, Framing
from .limits import Limits
from .message import UNREADABLE, Envelope, RequestId
from .vocabulary import Method, Vocabulary

__all__ = ["Peer"]

log: logging.Logger = logging.getLogger(__name__)

STREAM_HINT = 200
"""Bytes at the start of what was read in which the name of the flooding notification is looked for."""

LARGE = 64 * 1024
"""Bytes above which reading a message twice, envelope first, costs more than a look at its head."""

NEWLINE = 10
"""As a number: looking for one byte is nine times as quick as looking for a text of one byte."""

EXCERPT = 200
"""Bytes of an unreadable frame that are shown to people."""


class _CancelParams(msgspec.Struct, rename="camel"):
    request_id: Raw


class _Identified(msgspec.Struct):
    id: Raw = message.ABSENT


class _ErrorObject(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


_read_cancel = msgspec.json.Decoder(_CancelParams)
_read_id = msgspec.json.Decoder(_Identified)
_read_error = msgspec.json.Decoder(_ErrorObject)


class _Everything(Container[str]):
    def __contains__(self, name: object) -> bool:
        return True


class Peer:
    """The sans-IO half of a connection.

    `receive` takes bytes as they come and returns events in their order. Calls, notifications and answers
    are appended to a buffer that `take` empties; so are the error answers that the peer gives by itself.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        requests: Container[str] = _Everything(),
        notifications: Container[str] = _Everything(),
        limits: Limits = Limits(),
        framing: Framing | None = None,
        answer_noise: bool = True,
    ) -> None:
        """Start a conversation.

        `requests` and `notifications` are the methods that somebody here handles: requests for others are
        answered with -32601, notifications of others are dropped (R-011). With `answer_noise=False`,
        unreadable frames get no error answer: a client uses that for agents that print banners.
        """
        self._requests = requests
        self._notifications = notifications
        self._limits = limits
        self._framer = Framer(max_frame=limits.max_frame, framing=framing)
        self._answer_noise = answer_noise
        self.speak(vocabulary)
        self.only_stream: bool = False
        """Whether the last `receive` gave nothing but events of `stream_event`."""
        self._out: list[bytes] = []  # pieces are joined once, which is quicker than growing a buffer
        self._unsent = 0
        self._next_id = 0
        self._calls: dict[RequestId, Method[Any, Any] | str] = {}
        self._prefixes: dict[str, bytes] = {}  # of notifications, by method

    def speak(self, vocabulary: Vocabulary) -> None:
        """Read what comes from here on with these methods."""
        self._vocabulary = vocabulary
        self._encoder = vocabulary.encoder
        stream = vocabulary.stream
        self.stream_event: type | None = None
        """The class of the events that the flooding notification becomes."""
        self._stream: msgspec.json.Decoder[Any] | None = None
        if stream is not None and stream.name in self._notifications:
            self.stream_event = _stream_event(stream)
            self._stream = msgspec.json.Decoder(self.stream_event, dec_hook=vocabulary.decode_hook)
        self._stream_name = b'"%b"' % (stream.name.encode() if stream else b"")
        self._stream_start = b'{"jsonrpc":"2.0","method":%b,' % self._stream_name

    # -- what comes in -------------------------------------------------------------------

    def receive(self, data: bytes) -> list[PeerEvent]:
        """Take bytes as they were read; give the events they complete, in order."""
        self.only_stream = False
        events: list[PeerEvent] = []
        try:
            blocks = self._framer.feed(data)
            if len(blocks) != 1 or isinstance(block := blocks[0], Broken):
                return self._read_blocks(blocks, events)
            updates = self._read_stream(block)
            if updates is None:
                return self._read_frames(block, events)
        except Exception as error:  # a bug: what was read before it still counts
            events.append(Crash(error))
            return events
        self.only_stream = True
        return updates

    def finish(self) -> list[PeerEvent]:
        """The peer will send no more: give the event of an unterminated last line, if any."""
        self.only_stream = False
        events: list[PeerEvent] = []
        try:
            return self._read_blocks(self._framer.finish(), events)
        except Exception as error:
            events.append(Crash(error))
            return events

    def _read_blocks(self, blocks: list[bytes | Broken], events: list[PeerEvent]) -> list[PeerEvent]:
        for block in blocks:
            if isinstance(block, Broken):
                self._skip(InvalidRequest(block.reason), block.head, block.tail, events)
                continue
            updates = self._read_stream(block)
            if updates is not None:
                events += updates
            else:
                self._read_frames(block, events)
        return events

    def _read_stream(self, block: bytes) -> list[PeerEvent] | None:
        """Read a block at once, if it holds nothing but messages of the stream, each on its own line."""
        if self._stream is None or self._stream_name not in block[:STREAM_HINT]:
            return None
        try:
            updates: list[PeerEvent] = self._stream.decode_lines(block)
        except UNREADABLE:
            return None  # something else is among them: one at a time
        lines = 1 if self._framer.framing == "headers" else block.count(b"\n") + 1
        return updates if len(updates) == lines else None

    def _read_frames(self, block: bytes, events: list[PeerEvent]) -> list[PeerEvent]:
        if self._framer.framing == "headers":
            self._read(block, events)
            return events
        if len(block) > LARGE and self._read_large(block, events):
            return events
        stream, start = self._stream, self._stream_start
        for frame in block.split(b"\n"):
            if stream is not None and frame.startswith(start):
                try:
                    events.append(stream.decode(frame))
                    continue
                except UNREADABLE:
                    pass
            self._read(frame, events)
        return events

    def _read(self, frame: bytes, events: list[PeerEvent]) -> None:
        if not frame or frame.isspace():
            return
        try:
            envelope = message.read_envelope(frame)
        except msgspec.ValidationError:
            self._read_misshapen(frame, events)
        except RecursionError:
            self._skip(InvalidRequest("the message is nested too deeply"), frame, frame, events)
        except UNREADABLE:
            self._skip(ParseError(), frame, frame, events)
        else:
            if envelope.method is not None:
                if envelope.id == message.ABSENT:
                    self._read_notification(envelope.method, envelope, events)
                else:
                    self._read_request(envelope.method, envelope, events)
            elif envelope.id != message.ABSENT:
                self._read_response(envelope, events)
            elif envelope.result == message.ABSENT and envelope.error == message.ABSENT:
                self._skip(InvalidRequest("neither a method nor an id"), frame, b"", events)
            else:  # no answer
                events.append(Noise("an answer without an id", _excerpt(frame)))

    def _read_large(self, frame: bytes, events: list[PeerEvent]) -> bool:
        """Read a request with megabytes in it in one pass, if it is laid out as most peers do."""
        head = message.REQUEST_HEAD.match(frame)
        if head is None or frame[-1:] != b"}":
            return False
        name = head["method"].decode()
        method = self._vocabulary.requests.get(name)
        if method is None or name not in self._requests:
            return False
        try:
            with memoryview(frame) as view, view[head.end() : -1] as params:
                events.append(Request(head["id"], name, method.read_params(params), len(params)))
        except (*UNREADABLE, ValueError):
            return False  # the slow way tells what is wrong
        return True

    def _read_request(self, method: str, envelope: Envelope, events: list[PeerEvent]) -> None:
        request_id = message.id_of(envelope.id)
        if request_id is None:
            self._skip(InvalidRequest("an id is a string or a number"), bytes(envelope.id), b"", events)
            return
        if method not in self._requests:
            self.refuse(request_id, MethodNotFound(data={"method": method}))
            return
        try:
            params = self._read_params(self._vocabulary.requests.get(method), envelope.params)
        except RecursionError:
            self.refuse(request_id, InvalidParams(data="nested too deeply"))
        except (*UNREADABLE, ValueError) as error:
            self.refuse(request_id, InvalidParams(data=str(error)))
        else:
            events.append(Request(request_id, method, params, len(envelope.params)))

    def _read_notification(self, method: str, envelope: Envelope, events: list[PeerEvent]) -> None:
        if method == "$/cancel_request":
            try:
                request_id = message.id_of(_read_cancel.decode(envelope.params).request_id)
            except UNREADABLE:
                request_id = None
            if request_id is not None:
                events.append(CancelRequested(request_id))
            return
        if method not in self._notifications:
            log.debug("dropped a notification that nobody handles: %s", method)
            return
        try:
            params = self._read_params(self._vocabulary.notifications.get(method), envelope.params)
        except (*UNREADABLE, ValueError) as error:  # no answer; R-034: the session goes on
            events.append(Noise(f"unusable {method}: {error}", _excerpt(bytes(envelope.params))))
        else:
            events.append(Notification(method, params))

    @staticmethod
    def _read_params(method: Method[Any, Any] | None, raw: Raw) -> Any:
        if method is not None:
            return method.read_params(raw)
        return msgspec.json.decode(raw) if bytes(raw) else None  # an extension: plain JSON

    def _read_response(self, envelope: Envelope, events: list[PeerEvent]) -> None:
        call_id = bytes(envelope.id)
        method = self._calls.pop(call_id, None)
        if method is None:
            if call_id == b"null" and envelope.error != message.ABSENT:
                events.append(Noise("the peer could not read a message", _excerpt(bytes(envelope.error))))
            else:
                log.debug("dropped an answer to no call of ours: id %s", _excerpt(call_id))
            return
        name = method if isinstance(method, str) else method.name
        if envelope.error != message.ABSENT and bytes(envelope.error) != b"null":
            events.append(Failure(call_id, _read_rpc_error(envelope.error)))
        elif envelope.result == message.ABSENT:
            lack = f"the answer to {name} has neither result nor error"
            events.append(Failure(call_id, RemoteProtocolError(lack)))
        else:
            try:
                if isinstance(method, str):
                    result = msgspec.json.decode(envelope.result)
                else:
                    result = method.read_result(envelope.result)
            except (*UNREADABLE, ValueError) as error:
                wrong = f"the answer to {name} breaks the schema: {error}"
                events.append(Failure(call_id, RemoteProtocolError(wrong)))
            else:
                events.append(Reply(call_id, result))

    def _read_misshapen(self, frame: bytes, events: list[PeerEvent]) -> None:
        """No envelope, but maybe JSON: say so with the id if it has one (R-012, R-013)."""
        frame = message.mend_surrogates(frame)
        start = frame.lstrip()[:1]
        try:
            if start == b"{":
                request_id = message.id_of(_read_id.decode(frame).id)
            else:
                msgspec.json.decode(frame, type=Raw)
                request_id = None
        except RecursionError:
            self._skip(InvalidRequest("the message is nested too deeply"), frame, frame, events)
            return
        except UNREADABLE:
            self._skip(ParseError(), frame, frame, events)
            return
        if request_id is not None:
            self.refuse(request_id, InvalidRequest("a method is a string"))
        elif start == b"{":
            self._skip(InvalidRequest("a method is a string"), frame, b"", events)
        elif start == b"[":
            self._skip(InvalidRequest("batches are not part of ACP"), frame, b"", events)
        else:
            self._skip(InvalidRequest("a message is a JSON object"), frame, b"", events)

    def _skip(self, error: RpcError, head: bytes, tail: bytes, events: list[PeerEvent]) -> None:
        """This frame cannot be used. If it was the answer to a call, that call must still end."""
        request_id, is_response = message.guess(head, tail)
        if is_response and request_id is not None:
            if self._calls.pop(request_id, None) is not None:
                unreadable = RemoteProtocolError(f"the answer could not be read: {error.message}")
                events.append(Failure(request_id, unreadable))
            return
        events.append(Noise(error.message, _excerpt(head)))
        if request_id is not None:
            self.refuse(request_id, error)
        elif self._answer_noise:
            self.refuse(b"null", error)

    # -- what goes out -------------------------------------------------------------------

    def call(self, method: Method[Any, Any] | str, params: Any) -> RequestId:
        """Send a request; its answer comes as a `Reply` or `Failure` with this id.

        Raises:
            LocalProtocolError: too many calls wait for their answer already.
            TypeError: the parameters cannot be written as JSON.
        """
        if len(self._calls) >= self._limits.max_calls:
            raise LocalProtocolError(f"{len(self._calls)} calls wait for an answer already")
        name = method if isinstance(method, str) else method.name
        call_id = b"%d" % self._next_id
        head = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":' % (call_id, msgspec.json.encode(name))
        self._send(head, params)
        self._next_id += 1
        self._calls[call_id] = method
        return call_id

    def abandon(self, call_id: RequestId, *, tell: bool = True) -> None:
        """Tell the peer that we no longer want the answer. If it comes all the same, it is ignored."""
        if self._calls.pop(call_id, None) is not None and tell:
            params = Raw(b'{"requestId":%b}' % call_id)
            self._send(b'{"jsonrpc":"2.0","method":"$/cancel_request","params":', params)

    def notify(self, method: Method[Any, Any] | str, params: Any) -> int:
        """Send a notification. Returns how many bytes wait to be taken."""
        name = method if isinstance(method, str) else method.name
        head = self._prefixes.get(name)
        if head is None:
            head = b'{"jsonrpc":"2.0","method":%b,"params":' % msgspec.json.encode(name)
            if not isinstance(method, str):  # other names may be a stranger's, and without end
                self._prefixes[name] = head
        self._send(head, params)
        return self._unsent

    def answer(self, request_id: RequestId, result: Any) -> None:
        """Answer a request; None is written as the empty object (R-017)."""
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % request_id
        try:
            self._send(head, {} if result is None else result)
        except Exception:  # whatever an object raises when it is written
            log.exception("the result of request %s cannot be written as JSON", _excerpt(request_id))
            self.refuse(request_id, InternalError())

    def refuse(self, request_id: RequestId, error: RpcError) -> None:
        """Answer a request with an error."""
        head = b'{"jsonrpc":"2.0","id":%b,"error":' % request_id
        body = {"code": error.code, "message": error.message}
        if error.data is not None:
            try:
                self._send(head, {**body, "data": error.data})
                return
            except Exception:
                log.exception("the data of an error cannot be written as JSON")
        try:
            self._send(head, body)
        except Exception:
            log.exception("an error cannot be written as JSON")
            self._send(head, {"code": InternalError.code, "message": InternalError.default_message})

    @property
    def unsent(self) -> int:
        """How many bytes wait to be taken."""
        return self._unsent

    def take(self) -> bytes:
        """The bytes to be written now."""
        data = b"".join(self._out)
        self._out.clear()
        self._unsent = 0
        return data

    def forget_calls(self) -> list[RequestId]:
        """Forget all open calls when the conversation is over. Returns them."""
        calls = list(self._calls)
        self._calls.clear()
        return calls

    def _send(self, head: bytes, body: Any) -> None:
        try:
            encoded = self._encoder.encode(body)
        except UnicodeEncodeError:
            encoded = self._without_surrogates(body)
        if self._framer.framing == "headers":
            framed = self._framer.wrap(b"%b%b}" % (head, encoded))
            self._out.append(framed)
            self._unsent += len(framed)
            return
        if NEWLINE in encoded:  # raw JSON inside; between its tokens a newline is but space
            encoded = encoded.replace(b"\n", b" ")
        self._out += (head, encoded, b"}\n")
        self._unsent += len(head) + len(encoded) + 2

    def _without_surrogates(self, body: Any) -> bytes:
        """JSON of a value with half an emoji in it, which has no UTF-8."""
        plain = msgspec.to_builtins(body, enc_hook=lambda v: msgspec.json.decode(self._encoder.encode(v)))
        return msgspec.json.encode(message.replace_surrogates(plain))


_Nothing = Annotated[str, msgspec.Meta(pattern="(?!)")]  # a type that no JSON has


def _stream_event(method: Method[Any, Any]) -> type:
    """A notification that msgspec reads in one go: many lines at a time, envelope and parameters at once."""
    return msgspec.defstruct(
        "StreamNotification",
        [
            ("method", Literal[method.name]),  # pyright: ignore[reportInvalidTypeForm] - made at run time
            ("params", method.params),
            ("id", UnsetType | _Nothing, msgspec.UNSET),  # with an id, null too, it would be a request
        ],
        frozen=True,
        gc=False,
    )


def _read_rpc_error(raw: Raw) -> RpcError:
    try:
        error = _read_error.decode(raw)
    except UNREADABLE:
        return InternalError(f"the peer answered with an unusual error: {_excerpt(bytes(raw))}")
    return RpcError.from_wire(error.code, error.message, error.data)


def _excerpt(data: bytes) -> str:
    text = data[:EXCERPT].decode("utf-8", "replace")
    return text if len(data) <= EXCERPT else text + "..."

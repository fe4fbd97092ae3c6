"""Parses the messages of clients, and the few fields of an agent's messages that matter to a server."""

import re
from typing import Any, NamedTuple

import msgspec

from acpella.rpc.message import UNREADABLE, Envelope, guess, id_of, read_envelope, write_error
from acpella.rpc.relay import Frame
from acpella.server.access.policy import Params, read_params

__all__ = [
    "ACK",
    "Ack",
    "Message",
    "NotAMessage",
    "can_load",
    "is_deeper",
    "outcome_of",
    "outcome_of_request",
    "read_ack",
    "read_message",
    "rejection",
]

ACK = "$/acpella/ack"
"""Confirms what a client got. For the server, never for the agent."""


class NotAMessage(Exception):
    """The client sent something else; with the JSON-RPC error that says so."""

    def __init__(self, code: int, text: str, *, key: bytes | None = None, is_array: bool = False) -> None:
        self.code = code
        self.text = text
        self.key: bytes = key or b"null"
        """The JSON of its id, if it is a request that has a proper one."""
        self.is_array = is_array
        super().__init__(text)

    def to_wire(self) -> bytes:
        return write_error(self.key, self.code, self.text)


class Message(NamedTuple):
    """A message from a client, and what the server looks at in it."""

    frame: Frame
    params: Params

    @property
    def data(self) -> bytes:
        """As it goes on to the agent."""
        return self.frame.data

    @property
    def method(self) -> str:
        """Empty for a response."""
        return self.frame.method

    @property
    def id(self) -> bytes | None:
        """JSON; None if it has none, or null."""
        return self.frame.id

    @property
    def session(self) -> str | None:
        """The session that it is about."""
        return self.params.session

    @property
    def is_request(self) -> bool:
        return self.frame.kind == "request"

    @property
    def is_response(self) -> bool:
        return self.frame.kind == "response"


def read_message(data: bytes, *, max_id: int = 1024, max_depth: int = 64) -> Message:
    """Look at a message. Raises `NotAMessage`."""
    data = data.strip()
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\n", b" ").replace(b"\r", b" ")  # in JSON they can only be between the words
    try:
        envelope = read_envelope(data)
    except msgspec.ValidationError:
        raise _no_message(data) from None
    except UNREADABLE as error:
        request_id, is_response = guess(data, data)
        key = None if is_response else request_id
        if isinstance(error, RecursionError):
            raise NotAMessage(-32600, f"a message may be nested {max_depth} deep", key=key) from None
        raise NotAMessage(-32700, "this is not JSON", key=key) from None
    raw = bytes(envelope.id)
    key = None if not raw or raw == b"null" else id_of(envelope.id)
    if raw and key is None and raw != b"null":
        raise NotAMessage(-32600, "an id is a string or a number")
    if key is not None and len(key) > max_id:
        raise NotAMessage(-32600, f"an id has at most {max_id} characters")
    answers = envelope.method is None and bool(envelope.result or envelope.error)
    if envelope.method is None and not (answers and raw):
        raise NotAMessage(-32600, "neither a request nor an answer")
    if is_deeper(data, max_depth):
        request_id = key if envelope.method is not None else None
        raise NotAMessage(-32600, f"a message may be nested {max_depth} deep", key=request_id)
    params = read_params(envelope.params)
    if params.session is not None and len(params.session) > max_id:
        request_id = key if envelope.method is not None else None
        raise NotAMessage(-32600, f"a session id has at most {max_id} characters", key=request_id)
    if envelope.method is None:
        return Message(Frame(data, "response", envelope, key), params)
    return Message(Frame(data, "notification" if key is None else "request", envelope, key), params)


class Ack(NamedTuple):
    """What a client confirms: everything up to an event of a stream."""

    cursor: str
    session: str | None


class _AckParams(msgspec.Struct):
    cursor: str = msgspec.field(name="lastEventId")
    session: Any = msgspec.field(default=None, name="sessionId")


def read_ack(message: Message) -> Ack | None:
    """What an acknowledgement says; None if it cannot be read."""
    try:
        params = msgspec.json.decode(message.frame.envelope.params, type=_AckParams)
    except UNREADABLE:
        return None
    return Ack(params.cursor, params.session if isinstance(params.session, str) else None)


def _no_message(data: bytes) -> NotAMessage:
    """What is wrong with JSON that has not the shape of a message."""
    if data[:1] == b"[":
        return NotAMessage(-32600, "batches are not supported", is_array=True)
    if data[:1] != b"{":
        return NotAMessage(-32600, "a message is an object")
    try:
        key = id_of(msgspec.json.decode(data, type=_Id).id)
    except UNREADABLE:
        key = None
    return NotAMessage(-32600, "the method of a message is a string", key=key)


class _Id(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw()


_STRING = re.compile(rb'"[^"]*"')
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def is_deeper(data: bytes, depth: int) -> bool:
    """Whether JSON is nested deeper than that."""
    if data.count(b"{") + data.count(b"[") <= depth:
        return False  # as almost always
    # Without escapes every quote begins or ends a string, and what strings contain does not count.
    bare = _STRING.sub(b"", data.replace(b"\\\\", b"").replace(b'\\"', b""))
    level = 0
    for bracket in bare.translate(None, _OTHERS):
        if bracket in b"[{":
            level += 1
            if level > depth:
                return True
        else:
            level -= 1
    return False


class _Offers(msgspec.Struct):
    class _Agent(msgspec.Struct):
        load: Any = msgspec.field(default=None, name="loadSession")
        session: dict[str, Any] | None = msgspec.field(default=None, name="sessionCapabilities")

    agent: _Agent | None = msgspec.field(default=None, name="agentCapabilities")


def can_load(result: bytes | msgspec.Raw) -> bool:
    """Whether an agent can open earlier sessions, by its answer to `initialize`."""
    try:
        offers = msgspec.json.decode(result, type=_Offers).agent
    except UNREADABLE:
        return False
    return offers is not None and (bool(offers.load) or (offers.session or {}).get("resume") is not None)


class _Answer(msgspec.Struct):
    class _Result(msgspec.Struct):
        class _Outcome(msgspec.Struct):
            outcome: str = ""
            option: str = msgspec.field(default="", name="optionId")

        outcome: _Outcome

    result: _Result


def outcome_of(frame: bytes) -> str:
    """What a person decided, of the answer to a question for permission."""
    try:
        outcome = msgspec.json.decode(frame, type=_Answer).result.outcome
    except UNREADABLE:
        return "?"
    return (outcome.option or outcome.outcome)[:64]


class _Error(msgspec.Struct):
    code: int = 0


def outcome_of_request(envelope: Envelope) -> str:
    """`ok`, or the code of the error, of an agent's answer."""
    if not envelope.error or envelope.error == b"null":
        return "ok"
    try:
        return f"error {msgspec.json.decode(envelope.error, type=_Error).code}"
    except UNREADABLE:
        return "error"


class _Asked(msgspec.Struct):
    class _Option(msgspec.Struct):
        id: str = msgspec.field(name="optionId")
        kind: str

    options: list[_Option]


def rejection(params: bytes | msgspec.Raw) -> dict[str, str]:
    """The answer no, if the agent offers it as an option; otherwise `cancelled`, which stops the turn."""
    try:
        options = msgspec.json.decode(params, type=_Asked).options
    except UNREADABLE:
        options = []
    for option in options:
        if option.kind == "reject_once":
            return {"outcome": "selected", "optionId": option.id}
    return {"outcome": "cancelled"}

"""JSON-RPC messages: the envelope, and what an unreadable message still reveals."""

import re
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

__all__ = [
    "UNREADABLE",
    "Envelope",
    "RequestId",
    "guess",
    "id_key",
    "id_of",
    "mend_surrogates",
    "read_envelope",
    "read_json",
    "replace_surrogates",
    "write_error",
    "write_notification",
    "write_request",
    "write_result",
]

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading JSON from a stranger may raise."""

RequestId: TypeAlias = bytes
"""The JSON of a request's id, kept as it came so that it is echoed exactly: `1` is not `"1"`."""

ABSENT = Raw()


class Envelope(Struct, frozen=True, gc=False):
    """The outer object of any message; its parts are decoded when their types are known."""

    method: str | None = None
    id: Raw = ABSENT
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


_decoder = msgspec.json.Decoder(Envelope)


def read_envelope(frame: bytes) -> Envelope:
    """Read the outer object.

    Raises:
        msgspec.DecodeError: not JSON; its subclass ValidationError: JSON, but not a message.
        RecursionError: nested too deeply to be read.
    """
    try:
        return _decoder.decode(frame)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        mended = mend_surrogates(frame)
        if mended == frame:
            raise
        return _decoder.decode(mended)


def read_json(text: bytes) -> Any:
    """Any JSON as plain values, with halves of surrogate pairs replaced.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError: not JSON.
        RecursionError: nested too deeply to be read.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        mended = mend_surrogates(text)
        if mended == text:
            raise
        return msgspec.json.decode(mended)


def id_of(raw: Raw) -> RequestId | None:
    """The id in a form that can be echoed and compared; None if it is not a legal id (R-010)."""
    text = bytes(raw)
    if text[:1] == b'"':
        if text.isascii() and b"\\" not in text:
            return text
        try:
            return msgspec.json.encode(msgspec.json.decode(text))  # one spelling for one string
        except ValueError:  # not UTF-8, which raw JSON has not been checked for
            return None
    return text if text == b"null" or text[:1].isdigit() or text[:1] == b"-" else None


def id_key(request_id: RequestId) -> bytes:
    """An id as a key of a table: peers may write the number 1 back as `1.0`, and mean the same request."""
    if request_id.isdigit() or request_id[:1] == b'"':
        return request_id
    try:
        value = msgspec.json.decode(request_id)
        return b"%d" % value if value == int(value) else request_id
    except (*UNREADABLE, TypeError, ValueError, OverflowError):  # null, or a number beyond all numbers
        return request_id


# -- writing -----------------------------------------------------------------------------------


def write_request(request_id: RequestId, method: str, params: Any) -> bytes:
    """A request as one line, without a line end. `params` is a value, or JSON as bytes, here and below."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (request_id, _json(method), _json(params))


def write_notification(method: str, params: Any) -> bytes:
    """A notification."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_json(method), _json(params))


def write_result(request_id: RequestId, result: Any) -> bytes:
    """The answer to a request."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, _json(result))


def write_error(request_id: RequestId, code: int, text: str, data: Any = None) -> bytes:
    """An error as the answer to a request; the id `null` is for messages that could not be read."""
    error: dict[str, Any] = {"code": code, "message": text}
    if data is not None:
        error["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, _json(error))


def _json(value: Any) -> bytes:
    encoded = bytes(value) if isinstance(value, bytes | Raw) else msgspec.json.encode(value)
    return encoded.replace(b"\n", b" ") if b"\n" in encoded else encoded  # a message is one line


# -- what cannot be read ------------------------------------------------------------------------

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def mend_surrogates(frame: bytes) -> bytes:
    r"""Replace halves of surrogate pairs such as `\ud83d`, which JavaScript peers send for a cut emoji."""
    if _SURROGATE.search(frame) is None:  # spares a large frame the slow way
        return frame
    return _ESCAPE.sub(lambda m: b"\\ufffd" if m[1] else m[0], frame)


def replace_surrogates(value: Any) -> Any:
    """Plain JSON with lone surrogates in its strings replaced, since they have no UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [replace_surrogates(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, dict):
        return {replace_surrogates(k): replace_surrogates(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    return value


_ID = rb'(-?(?:0|[1-9]\d*)|"(?:[^"\\]|\\.)*")'
REQUEST_HEAD = re.compile(
    rb'\{"jsonrpc":"2\.0","id":(?P<id>0|[1-9]\d{0,17}|"[\w-]{1,64}"),"method":"(?P<method>[\w/]{1,64})","params":',
    re.ASCII,
)
"""The start of a request as most peers write it."""

_VERSION = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_NAME = rb'"(result|error|method|params)"'
_HEAD_ID = re.compile(rb"^\s*\{\s*" + _VERSION + rb'"id"\s*:\s*' + _ID + rb"\s*,\s*" + _VERSION + _NAME)
_HEAD_NAME = re.compile(rb"^\s*\{\s*" + _VERSION + _NAME)
_TAIL_ID = re.compile(rb',\s*"id"\s*:\s*' + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def guess(head: bytes, tail: bytes) -> tuple[RequestId | None, bool]:
    """The id of an unreadable message, as its two ends show it, and whether it looks like a response."""
    if match := _HEAD_ID.match(head):
        return _guessed_id(match[1]), match[2] in (b"result", b"error")
    name = _HEAD_NAME.match(head)
    if name and (match := _TAIL_ID.search(tail or head)):
        return _guessed_id(match[1]), name[1] in (b"result", b"error")
    return None, False


def _guessed_id(text: bytes) -> RequestId | None:
    try:
        return id_of(msgspec.json.decode(text, type=Raw))
    except msgspec.DecodeError:
        return None

"""JSON-RPC on the wire, as tests write and read it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from acpella.rpc import Peer

UNKNOWN_ID = "null"


@dataclass(frozen=True)
class PlainVocabulary:
    """A vocabulary without methods, so that everything is an extension: plain JSON in, plain JSON out."""

    requests: Mapping[str, Any] = field(default_factory=dict)
    notifications: Mapping[str, Any] = field(default_factory=dict)
    stream: None = None
    encoder: msgspec.json.Encoder = msgspec.json.Encoder()

    @staticmethod
    def decode_hook(kind: type, value: Any) -> Any:
        raise NotImplementedError


PLAIN = PlainVocabulary()


def request(id: str | int, method: str, params: object = None) -> bytes:
    """A line; the id is given as JSON text, so that every spelling can be tried."""
    rest = json.dumps({"method": method, "params": {} if params is None else params})
    return f'{{"jsonrpc":"2.0","id":{id},{rest[1:]}\n'.encode()


def notification(method: str, params: object = None) -> bytes:
    return message(method=method, params={} if params is None else params)


def result(id: str | int, value: object) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id},"result":{json.dumps(value)}}}\n'.encode()


def error(id: str | int, value: object) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{id},"error":{json.dumps(value)}}}\n'.encode()


def message(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def in_headers(frame: bytes) -> bytes:
    """The message of a line with a `Content-Length` header instead."""
    body = frame.removesuffix(b"\n")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def update(text: str, session: str = "s") -> bytes:
    """A `session/update` line: the message that comes in floods."""
    content = {"type": "text", "text": text}
    params = {"sessionId": session, "update": {"sessionUpdate": "agent_message_chunk", "content": content}}
    return notification("session/update", params)


def _no_constants(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_lines(data: bytes | bytearray) -> list[dict[str, Any]]:
    """The messages of well-formed lines; anything else in between fails the test."""
    if not data:
        return []
    text = bytes(data).decode("utf-8")
    assert text.endswith("\n"), "the last line is not ended"
    return [json.loads(line, parse_constant=_no_constants) for line in text[:-1].split("\n")]


def read_header_frames(data: bytes | bytearray) -> list[dict[str, Any]]:
    """The messages of well-formed `Content-Length` frames; anything else fails the test."""
    rest, messages = bytes(data), []
    while rest:
        header = re.match(rb"Content-Length: (\d+)\r\n\r\n", rest)
        assert header, f"expected a header, got {rest[:40]!r}"
        end = header.end() + int(header[1])
        messages.append(json.loads(rest[header.end() : end].decode(), parse_constant=_no_constants))
        rest = rest[end:]
    return messages


def sent(peer: Peer) -> list[dict[str, Any]]:
    """Take what the peer wants to write, and parse it."""
    return read_lines(peer.take())

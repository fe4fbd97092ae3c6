"""What nodes write for each other: the facts of a connection, entries of its stream, bodies of commands."""

import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from acpella.server.connection.profile import HTTP, WEBSOCKET, Profile

__all__ = [
    "PROFILES",
    "Attach",
    "ClientSent",
    "Closed",
    "Facts",
    "Frames",
    "Joined",
    "Left",
    "ReadingProgress",
    "Ticket",
    "decode",
    "encode",
]

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (HTTP, WEBSOCKET)}
"""The ways to connect whose connections any node can serve."""

MIN_PACKED = 4
"""The fewest messages of an entry that is packed: with fewer, packing costs more than it saves."""

MAX_AVERAGE = 4096
"""Bytes of a message on average in an entry that is packed. Without it, an image would hold up all others."""

_PACKED = b"\x78"
"""The first byte of zlib data; no list of msgpack begins with it."""

T = TypeVar("T")

encode: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode


def decode(body: bytes, kind: type[T]) -> T:
    """What was encoded. Raises `msgspec.MsgspecError` for anything else."""
    return msgspec.msgpack.decode(body, type=kind)


class Facts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a new home must know of a connection."""

    profile: str
    scopes: list[str]
    resumable: bool = False
    initialize: bytes = b""
    """The client's first message."""
    sessions: dict[str, bytes] = {}
    """How each open session is opened again: the JSON of cwd, directories and MCP servers."""
    questions: dict[str, str | None] = {}
    """What the agent asked and the client has not answered, by the JSON of its id, with its session."""
    numbers: dict[str, int] = {}
    """Of each stream, the number of the last message that is not kept; the connection's own is ""."""
    taken: dict[str, int] = {}
    """Of each stream, the number of the last message that was read, as far as was noted."""
    received: int = 0
    """Messages that came on sockets."""


class Ticket(msgspec.Struct, array_like=True):
    """What a ticket stands for."""

    principal: str
    scopes: list[str]
    until: float | None
    key: str
    """Which token it was given for; empty if the program's own check let the user in."""


# -- entries of a connection's stream ------------------------------------------------------------------------


class Frames(msgspec.Struct, array_like=True):
    """`frames`: messages of the agent, numbered without gaps."""

    session: str | None
    first: int
    messages: list[bytes]
    said_at: float = 0.0
    """When the agent said the first of them, by its node's clock: for statistics only."""

    def pack(self) -> bytes:
        """The body of the entry. Small messages resemble each other: many of them shrink to a tenth."""
        body = encode(self)
        count = len(self.messages)
        return zlib.compress(body, 1) if MIN_PACKED <= count and len(body) < count * MAX_AVERAGE else body

    @classmethod
    def unpack(cls, body: bytes) -> "Frames":
        """What was packed. Raises `msgspec.MsgspecError` for anything else."""
        if not body.startswith(_PACKED):
            return decode(body, cls)
        try:
            return decode(zlib.decompress(body), cls)
        except zlib.error as error:
            raise msgspec.DecodeError(str(error)) from None


class Joined(msgspec.Struct, array_like=True):
    """`joined`: what became of a gateway's wish to read a stream."""

    reader: str
    error: str = ""
    """What the home raised, by name."""
    after: int = 0
    """The number of the message before the first that is to be read."""
    seq: int = 0
    """The entry after which those messages are found."""
    received: int = 0
    """Messages that came on sockets so far."""


class Left(msgspec.Struct, array_like=True):
    """`left`: a gateway's reader is to end."""

    reader: str
    taken_over: bool = False
    why: str = ""
    abort: bool = False
    """Its client does not read, so it is to be dropped."""


class Closed(msgspec.Struct, array_like=True):
    """`closed`: the connection is over."""

    reason: str
    code: int


# -- bodies of commands --------------------------------------------------------------------------------------


class ClientSent(msgspec.Struct, array_like=True):
    """`message`: the client sent something. `tell`: what the gateway answers it, in line."""

    data: bytes
    number: int | None = None
    ordinal: int = 0
    expects: str | None = None
    """A session whose stream the client is going to open."""
    sent_at: float = 0.0
    """When the gateway took it, by its clock: for statistics only."""


class Attach(msgspec.Struct, array_like=True):
    """`attach`: a client of the gateway reads a stream. `detach` has the reader's name alone."""

    reader: str
    life: str
    """Of the node that is the gateway."""
    session: str | None
    cursor: str | None
    confirms: bool
    take_over: bool
    scopes: list[str]
    until: float | None


class ReadingProgress(msgspec.Struct, array_like=True):
    """`progress`: how far readers have read, and what clients have confirmed."""

    taken: dict[str, int]
    acked: list[tuple[str | None, int]]

"""What both remote transports need to resume after a cut: when to retry, what to send, what to keep."""

import random
from collections import deque

import msgspec

from acpella.errors import TransportError
from acpella.rpc.message import UNREADABLE, mend_surrogates, write_notification

__all__ = [
    "ACK_BYTES",
    "ACK_MESSAGES",
    "UNREADABLE",
    "Backoff",
    "Head",
    "UnconfirmedFrames",
    "ack",
    "missing",
    "read_head",
]

RESUME_WITHIN = 60.0
"""Seconds in which a cut connection must be back. Without it, callers wait for a server that is gone."""

ACK_MESSAGES = 64
ACK_BYTES = 256 * 1024
"""What may arrive before the server is told; it stops sending when much more than this is unconfirmed."""

MAX_SENT = 32 * 1024 * 1024
"""Bytes kept for sending again. Without it, a server that answers nothing makes us keep everything."""


class Backoff:
    """Growing pauses with some randomness, until the time is up."""

    def __init__(self, now: float, *, within: float = RESUME_WITHIN) -> None:
        self._until = now + within
        self._count = 0

    def next(self, now: float) -> float | None:
        """Seconds to wait before the next try; None when there should be none."""
        if now >= self._until:
            return None
        pause = min(0.05 * 2**self._count, 5.0) * random.uniform(0.5, 1.0) if self._count else 0.0
        self._count += 1
        return pause


class Head(msgspec.Struct):
    """The parts of a message that a transport must know."""

    id: msgspec.Raw = msgspec.Raw(b"")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")

    @property
    def is_answer(self) -> bool:
        """Whether somebody waits for it; what has no method may be nothing at all."""
        return not self.method and bool(self.key and (self.result or self.error))

    @property
    def key(self) -> bytes:
        """The id as it was written, so that 1 and "1" are two ids (T-030); empty for a notification."""
        return b"" if bytes(self.id) == b"null" else bytes(self.id)


_decode_head = msgspec.json.Decoder(Head).decode


def read_head(frame: bytes) -> Head:
    """Look at a message. Raises one of `UNREADABLE`."""
    try:
        return _decode_head(frame)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _decode_head(mend_surrogates(frame))  # half a character hides nothing else


class UnconfirmedFrames:
    """Frames that the server may not have got yet, oldest first, numbered from 1."""

    def __init__(self) -> None:
        self.count = 0
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._requests: dict[bytes, int] = {}  # id -> number of its frame

    def add(self, frame: bytes) -> None:
        self.count += 1
        self._frames.append(frame)
        self._size += len(frame)
        try:
            head = read_head(frame)
        except UNREADABLE:
            pass  # the server will say what is wrong with it
        else:
            if head.method and head.key:
                self._requests[head.key] = self.count
        while self._size > MAX_SENT and len(self._frames) > 1:
            self._size -= len(self._frames.popleft())

    def answered(self, key: bytes) -> None:
        """A response came: what was sent up to its request has arrived."""
        number = self._requests.pop(key, 0)
        if number:
            self.arrived(number)

    def arrived(self, number: int) -> None:
        while self._frames and self.count - len(self._frames) < number:
            self._size -= len(self._frames.popleft())
        if not self._frames:
            self._requests = {key: at for key, at in self._requests.items() if at > number}

    def after(self, number: int) -> list[bytes] | None:
        """The frames after one, or None if they are not kept any more."""
        if number < self.count - len(self._frames) or number > self.count:
            return None
        self.arrived(number)
        return list(self._frames)

    @property
    def waits(self) -> bool:
        """Whether a response would tell anything."""
        return bool(self._requests)


def ack(event_id: str, session_id: str | None = None) -> bytes:
    """The message that tells the server how far we have read."""
    params = {"lastEventId": event_id}
    if session_id is not None:
        params["sessionId"] = session_id
    return write_notification("$/acpella/ack", params)


def missing(library: str) -> TransportError:
    """The error for a library that is not installed."""
    return TransportError(
        f"agents behind a URL need the library {library}: install it with `pip install 'acpella[standard]'`"
    )

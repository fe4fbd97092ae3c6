"""What comes from a Streamable HTTP server: its streams, and what a transport must know of their messages."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from acpella.errors import TransportError
from acpella.rpc import Receiver
from acpella.rpc.message import write_error

from ._http_requests import HttpRequests, Refused
from ._http_streams import EventStream
from ._resume import UNREADABLE, ack, read_head
from ._sse import ServerSentEvent
from .endpoint import Endpoint

__all__ = ["Incoming", "session_in"]

log: logging.Logger = logging.getLogger(__name__)

SETTLE = 0.1
SETTLE_WITHIN = 10.0
"""A loaded session counts as replayed when its stream was quiet for `SETTLE` seconds (T-042), and after
`SETTLE_WITHIN` seconds in any case."""

_ENDING = ("session/close", "session/delete")

LINGER = 1.0
"""Seconds that the stream of a closed session stays: whoever closes one often deletes it next."""


class _Params(msgspec.Struct):
    session_id: str | None = msgspec.field(default=None, name="sessionId")


_read_params = msgspec.json.Decoder(_Params).decode


def session_in(raw: msgspec.Raw) -> str | None:
    """The session that parameters or a result name; one that fits into no header is none."""
    try:
        session = _read_params(raw).session_id
    except UNREADABLE:
        return None
    return session if session and session.isascii() and session.isprintable() else None


class Incoming:
    """Reads the connection's own stream and those of sessions, and gives what they bring to the receiver."""

    def __init__(
        self,
        requests: HttpRequests,
        endpoint: Endpoint,
        receiver: Receiver,
        *,
        start_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        is_over: Callable[[], bool],
        on_lost: Callable[[TransportError], None],
        tell_link: Callable[[bool], None] | None,
    ) -> None:
        """`on_lost` is called with the reason when the connection is over; `tell_link` with False when a
        stream was cut, and with True when all are back."""
        self._requests = requests
        self._endpoint = endpoint
        self._receiver = receiver
        self._start_task = start_task
        self._is_over = is_over
        self._on_lost = on_lost
        self._tell_link = tell_link
        self._streams: dict[str | None, EventStream] = {}
        self._down: set[str | None] = set()
        self._behind: set[EventStream] = set()  # streams whose server is to be told how far we are
        self._ack_wake = asyncio.Event()
        self.pending: dict[bytes, tuple[str, str | None]] = {}
        """Our requests: method and session."""
        self.asked: dict[bytes, str] = {}
        """The server's requests that came on a session's stream."""
        self.readable = asyncio.Event()
        """Set while messages are wanted."""
        self.readable.set()

    def has_stream(self, session: str | None) -> bool:
        return session in self._streams

    async def stream_status(self, session: str | None) -> int:
        """Open a stream unless it is open; returns the status of its answer."""
        stream = self._streams.get(session)
        if stream is None:
            stream = self._open_stream(session)
        return await asyncio.shield(stream.ready)

    def _open_stream(self, session: str | None) -> EventStream:
        stream = self._streams[session] = EventStream(session, self._requests, self._endpoint, self)
        stream.task = self._start_task(self._read_stream(stream), "stream")
        return stream

    async def _read_stream(self, stream: EventStream) -> None:
        try:
            await stream.follow()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("reading a stream failed")
            self._on_lost(TransportError("reading failed; the log says why"))
        finally:
            self._forget(stream)
            if not stream.ready.done():
                stream.ready.set_result(503)

    @property
    def is_over(self) -> bool:
        """Whether nothing is read any more."""
        return self._is_over()

    def on_events(self, stream: EventStream, events: list[ServerSentEvent]) -> None:
        """Give the messages of some events to the receiver, all at once."""
        accepted = stream.accept(events, partial(self._note, stream))
        if accepted.ack_due:
            self._behind.add(stream)
            self._ack_wake.set()
        if accepted.messages:
            self._receiver.received(b"\n".join([*accepted.messages, b""]))
        if accepted.lost:
            text = "the connection was cut for too long: messages were lost; load again"
            self._on_lost(TransportError(text))

    def _note(self, stream: EventStream, data: bytes) -> bool:
        """Keep what the transport must know of a message. False if it must not be delivered yet."""
        try:
            head = read_head(data)
        except UNREADABLE:
            return True  # the connection will say what is wrong with it
        key = head.key
        if head.method:
            if key and stream.session is not None:
                self.asked[key] = stream.session
            return True
        method, session = self.pending.pop(key, ("", None))
        if not bytes(head.result):
            return True
        if method in ("session/new", "session/fork"):
            new_session = session_in(head.result)
            if new_session is not None and new_session not in self._streams:
                self._open_stream(new_session)  # T-043
        elif method == "session/load" and session is not None and stream.session is None:
            self._start_task(self._settle(session, data), "load")
            return False
        elif method in _ENDING and session in self._streams:
            asyncio.get_running_loop().call_later(LINGER, self._end_stream, self._streams[session])
        return True

    def _end_stream(self, stream: EventStream) -> None:
        """The session was closed; unless more was asked about it since, nothing comes on its stream."""
        awaited = any(session == stream.session for _, session in self.pending.values())
        if stream.task is not None and not awaited:
            stream.task.cancel()

    async def _settle(self, session: str, answer: bytes) -> None:
        """Deliver the answer to a load after its replay, which comes on another stream (T-042)."""
        settled_at = time.monotonic()
        while (now := time.monotonic()) - settled_at < SETTLE_WITHIN:
            stream = self._streams.get(session)
            if stream is None:
                last = settled_at  # the replay comes on the stream that the answer came on
            else:
                last = max(settled_at, stream.last_event if stream.connected else now)
            if now - last >= SETTLE and self.readable.is_set():
                break
            await asyncio.sleep(SETTLE - (now - last) if now - last < SETTLE else SETTLE)
        self._receiver.received(answer + b"\n")

    def on_session_lost(self, stream: EventStream) -> None:
        """A session's stream is gone: its requests will not be answered; it is opened again on next use."""
        self._forget(stream)
        self.asked = {key: session for key, session in self.asked.items() if session != stream.session}
        for key, (method, session) in list(self.pending.items()):
            if session == stream.session and method != "session/load":
                del self.pending[key]
                text = f"the stream of the session ended before {method} was answered"
                self._receiver.received(write_error(key, -32603, text) + b"\n")

    def _forget(self, stream: EventStream) -> None:
        if self._streams.get(stream.session) is stream:
            del self._streams[stream.session]
            self.on_link(stream, up=True)

    def on_link(self, stream: EventStream, *, up: bool) -> None:
        """A stream was cut, or is back."""
        before = bool(self._down)
        (self._down.discard if up else self._down.add)(stream.session)
        if self._tell_link is not None and bool(self._down) is not before:
            try:
                self._tell_link(not self._down)
            except Exception:
                log.exception("on_link failed")

    # -- signs of life ---------------------------------------------------------------------------

    async def confirm(self) -> None:
        """Tell the server how far we have read. Beside the other POSTs: those may wait for just this."""
        while True:
            await self._ack_wake.wait()
            self._ack_wake.clear()
            while self._behind:
                stream = self._behind.pop()
                headers = {} if stream.session is None else {"Acp-Session-Id": stream.session}
                try:
                    await self._requests.post(ack(stream.last_id.decode("latin-1"), stream.session), headers)
                except Refused as error:
                    if error.status in (429, 503):
                        self._behind.add(stream)
                        await asyncio.sleep(0.1)
                except TransportError:
                    pass  # the streams tell if the server is gone

    def check_silence(self, silent_after: float) -> None:
        """Give up streams on which nothing has come for too long."""
        if self.readable.is_set():
            now = time.monotonic()
            for stream in self._streams.values():
                stream.check_silence(now, silent_after)

    def on_connection_lost(self, error: TransportError) -> None:
        """It is over."""
        self._on_lost(error)

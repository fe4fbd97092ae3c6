"""Event streams of a Streamable HTTP client: read, told apart from what was seen, picked up after a cut."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from acpella.errors import TransportError

from ._http_requests import HttpRequests, Refused
from ._resume import ACK_BYTES, ACK_MESSAGES, Backoff
from ._sse import Overlong, ServerSentEvent, SseParser
from .endpoint import CONNECT_WITHIN, MAX_MESSAGE, Endpoint

if TYPE_CHECKING:
    import httpx2

__all__ = ["Accepted", "EventStream", "StreamOwner"]

log: logging.Logger = logging.getLogger(__name__)

_PLAIN_UPDATE = b'{"jsonrpc":"2.0","method":"session/update"'
"""How most of what arrives begins; nothing in it concerns the transport."""


class StreamOwner(Protocol):
    """The owner of the streams, which hears what happens on them."""

    @property
    def is_over(self) -> bool:
        """Whether reading has stopped."""
        ...

    @property
    def readable(self) -> asyncio.Event:
        """Set while messages are wanted."""
        ...

    def on_events(self, stream: "EventStream", events: list[ServerSentEvent]) -> None: ...

    def on_link(self, stream: "EventStream", *, up: bool) -> None:
        """The stream was cut, or is back."""
        ...

    def on_session_lost(self, stream: "EventStream") -> None:
        """The stream of a session is over for good."""
        ...

    def on_connection_lost(self, error: TransportError) -> None: ...


class Accepted(NamedTuple):
    """What is new in some events."""

    messages: list[bytes]
    lost: bool
    """The server does not keep what is missing."""
    ack_due: bool
    """The server is to be told how far we are."""


class EventStream:
    """One event stream: the connection's own, or a session's."""

    def __init__(
        self, session: str | None, requests: HttpRequests, endpoint: Endpoint, owner: StreamOwner
    ) -> None:
        self.session = session
        self._requests = requests
        self._endpoint = endpoint
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[int] = self._loop.create_future()
        """The status of its first answer."""
        self.task: asyncio.Task[None] | None = None
        self.connected = False
        self.last_event = time.monotonic()
        """When something came, or the stream ended."""
        self.last_id = b""
        self._limit: asyncio.Timeout | None = None
        self._reached = False  # the last try to open it succeeded
        self._comments = 0
        self._heard = time.monotonic()
        self._sequence = -1
        self._unacked = 0
        self._unacked_bytes = 0

    # -- reading -------------------------------------------------------------------------------

    async def follow(self) -> None:
        """Read the stream, and pick it up again after a cut if the server can do its part."""
        import httpx2

        backoff = Backoff(self._loop.time())
        why = "it ended"
        while True:
            status, body = 200, b""
            try:
                await self._read_once()
            except Refused as refused:
                status, body = refused.status, refused.body
            except Overlong as error:
                text = f"{self._endpoint.shown} sent too much at once: {error}"
                self._owner.on_connection_lost(TransportError(text))
                return
            except TimeoutError:
                status, why = 0, "the server has gone silent"
            except httpx2.ConnectError as error:
                status, why = 0, str(self._endpoint.unreachable(error))
            except (httpx2.TransportError, httpx2.StreamError, OSError) as error:
                status, why = 0, str(error) or type(error).__name__
            if self._owner.is_over:
                return
            if self._reached:
                backoff = Backoff(self._loop.time())
            elif self._is_refused(status, body):
                return
            if not self._requests.generation:
                self._lose(f"the connection to {self._endpoint.shown} was lost: {why}")
                return
            self._owner.on_link(self, up=False)
            pause = backoff.next(self._loop.time())
            if pause is None:
                text = f"the connection to {self._endpoint.shown} was cut and did not come back: {why}"
                self._owner.on_connection_lost(TransportError(text))
                return
            await asyncio.sleep(pause)

    def _is_refused(self, status: int, body: bytes) -> bool:
        """Whether the server refuses the stream; whoever waits for it is told."""
        if not self.ready.done():
            if status and (status not in (429, 503) or not self._requests.generation):
                self.ready.set_result(status)
                return True
        elif status in (401, 403, 404, 410) and self.session is None:
            refused = status in (401, 403)
            error = self._endpoint.refused(status, body) if refused else self._requests.forgotten()
            self._owner.on_connection_lost(error)
            return True
        elif status in (404, 410):
            self._owner.on_session_lost(self)
            return True
        return False

    def _lose(self, text: str) -> None:
        if self.session is None:
            self._owner.on_connection_lost(TransportError(text))
        else:
            self._owner.on_session_lost(self)

    async def _read_once(self) -> None:
        self._reached = False
        async with asyncio.timeout(CONNECT_WITHIN) as self._limit:
            async with self._requests.events(self.session, self.last_id) as response:
                assert self._limit is not None
                self._limit.reschedule(None)
                await self._read_events(response)

    async def _read_events(self, response: "httpx2.Response") -> None:
        parser = SseParser(max_event=MAX_MESSAGE)
        self._heard = time.monotonic()
        self._unacked = self._unacked_bytes = 0
        self.connected = self._reached = True
        self._owner.on_link(self, up=True)
        if not self.ready.done():
            self.ready.set_result(200)
        readable = self._owner.readable
        try:
            async for chunk in response.aiter_raw():
                self._heard = time.monotonic()
                events = parser.feed(chunk)
                if events:
                    self._owner.on_events(self, events)
                else:
                    self._comments += parser.comments
                if self._owner.is_over:
                    return
                if not readable.is_set():
                    await readable.wait()
                    self._heard = time.monotonic()
            if not self._requests.generation and (events := parser.finish()):
                self._owner.on_events(self, events)
        finally:
            self.connected = False
            self.last_event = time.monotonic()

    def check_silence(self, now: float, silent_after: float) -> None:
        """Give up a connection on which a server that sends signs of life has sent none."""
        alive = self._requests.generation or self._comments
        if self.connected and alive and now - self._heard > silent_after and self._limit is not None:
            self._limit.reschedule(self._loop.time())

    # -- what comes ----------------------------------------------------------------------------

    def accept(self, events: list[ServerSentEvent], note: Callable[[bytes], bool]) -> Accepted:
        """The messages of some events that were not seen before the cut.

        `note` looks at those that are not plain updates, and gives False for one that must wait.
        """
        messages: list[bytes] = []
        size = 0
        lost = False
        for event in events:
            if event.id:
                number = event.id[event.id.rfind(b"-") + 1 :]
                if number.isdigit():
                    sequence = int(number)
                    if sequence <= self._sequence:
                        continue  # seen before the cut
                    self._sequence = sequence
                    self.last_id = event.id
                    self._unacked += 1
            if event.kind == b"resync":
                lost = True
                break
            data = event.data
            size += len(data)
            if data[:42] == _PLAIN_UPDATE or (data[:1] == b"{" and note(data)):
                messages.append(data)
        self.last_event = time.monotonic()
        return Accepted(messages, lost, self._is_ack_due(size))

    def _is_ack_due(self, size: int) -> bool:
        if not self._requests.generation:
            return False
        self._unacked_bytes += size
        due = self._unacked >= ACK_MESSAGES or (self._unacked > 0 and self._unacked_bytes >= ACK_BYTES)
        if due:
            self._unacked = self._unacked_bytes = 0
        return due

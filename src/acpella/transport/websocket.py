"""A remote agent over WebSocket: one socket for everything, picked up again after a cut."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver
from acpella.rpc.message import guess, write_error

from ._resume import ACK_BYTES, ACK_MESSAGES, UNREADABLE, Backoff, UnconfirmedFrames, ack, missing, read_head
from ._websocket_link import WebSocketLink
from .endpoint import CONNECT_WITHIN, MAX_ERROR_BODY, MAX_MESSAGE, Endpoint

if TYPE_CHECKING:
    from websockets.http11 import Response

__all__ = ["WebSocketChannel"]

log: logging.Logger = logging.getLogger(__name__)

PING_EVERY = 20.0
"""Seconds between pings; a server that is silent for two of them is gone (T-066)."""

CLOSE_WITHIN = 2.0
"""Seconds that the server gets to answer our goodbye."""

MAX_FRAME = 16 * 1024 * 1024
"""Bytes of a message that is sent; servers end the conversation for longer ones, acpella's among them."""

ENDS = 4096
"""Bytes at the ends of an unreadable message in which its id is looked for."""

BUSY_WITHIN = 5.0
"""Seconds in which a server that is stopping, or whose database is away, is asked again."""

_GONE_FOR_NOW = (1001, 1006, 1012, 1013)
"""Close codes after which it makes sense to come back: going away, cut, restart, try again."""

_TAKEN_OVER = 4001
"""Close code of a server when the connection was picked up on another socket."""

TAKEN_OVER_TIMES, TAKEN_OVER_WITHIN = 5, 60.0
"""How often that may happen in so many seconds. An attempt of ours may be delayed, and arrive after we have
come back on another socket. More than that means another client, and we would take turns for ever."""


class WebSocketChannel:
    """One JSON-RPC message per text frame. The channel survives cuts if the server supports that."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ping_every: float = PING_EVERY,
        on_link: Callable[[bool], None] | None = None,
        identity: str = "",
    ) -> None:
        """`on_link` is called with False when the connection was cut, and with True when it is back.
        `identity` names the peer."""
        self.about: ChannelInfo = ChannelInfo(identity=identity)
        self._endpoint = endpoint
        self._ping_every = ping_every
        self._on_link = on_link
        self._link: WebSocketLink | None = None
        self._opened = self._over = self._closing = False
        self._paused = False
        self._held = False  # the receiver was told to wait because the link is down
        self._blocked = False  # the link has more to write than it should
        self._connection_id: str | None = None
        self._generation: str | None = None  # of a server that can resume; None for others
        self._received = 0  # text frames of this connection in all
        self._unacked = 0
        self._unacked_bytes = 0
        self._sent = UnconfirmedFrames()
        self._taken_over: deque[float] = deque(maxlen=TAKEN_OVER_TIMES)  # when
        self._resuming: asyncio.Task[None] | None = None
        self._beat: asyncio.TimerHandle | None = None

    @property
    def connection_id(self) -> str | None:
        return self._connection_id

    # -- the beginning -----------------------------------------------------------------------

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Connect.

        Raises:
            TransportError: the server cannot be reached or refuses us. The message says why.
        """
        if self._opened:
            raise LocalProtocolError("a channel can be opened once")
        self._opened = True
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._write_high = write_high
        backoff = Backoff(self._loop.time(), within=BUSY_WITHIN)
        while True:
            try:
                link, response = await self._connect({})
                break
            except _Refused as refused:
                pause = backoff.next(self._loop.time())
                if refused.status != 503 or not refused.invites or pause is None:
                    raise refused.error from None
                await asyncio.sleep(max(pause, 0.1))  # another node may be there
        self._connection_id = response.headers.get("Acp-Connection-Id")
        generation = response.headers.get("Acpella-Resume")
        self._generation = generation if self._connection_id else None
        self._use(link)

    async def _connect(self, resume: dict[str, str]) -> tuple[WebSocketLink, "Response"]:
        """A new link whose handshake is done; nothing of what it receives is delivered yet."""
        try:
            from websockets.client import ClientProtocol
            from websockets.uri import parse_uri
        except ImportError:
            raise missing("websockets") from None
        endpoint = self._endpoint
        url = endpoint.url if endpoint.is_websocket else "ws" + endpoint.url[4:]
        protocol = ClientProtocol(parse_uri(url), max_size=MAX_MESSAGE)
        request = protocol.connect()
        for name, value in {**endpoint.headers, "Acpella-Resume": "1", **resume}.items():
            request.headers[name] = value
        if "User-Agent" not in request.headers:
            request.headers["User-Agent"] = "acpella"
        if cookies := endpoint.cookie_header():
            request.headers["Cookie"] = cookies
        protocol.send_request(request)
        link = WebSocketLink(self, protocol, address=endpoint.shown)
        secure = endpoint.is_secure
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await self._loop.create_connection(
                    lambda: link,
                    endpoint.host,
                    endpoint.port,
                    ssl=endpoint.context() if secure else None,
                    server_hostname=endpoint.host if secure else None,
                )
                response = await link.handshake
        except (OSError, TimeoutError) as error:
            link.abort()
            raise endpoint.unreachable(error) from error
        except BaseException:
            link.abort()
            raise
        endpoint.keep_cookies(response.headers.raw_items())
        if response.status_code != 101:
            link.abort()
            raise _refused(endpoint, response)
        if protocol.handshake_exc is not None:
            link.abort()
            raise TransportError(f"{endpoint.shown} does not speak WebSocket: {protocol.handshake_exc}")
        return link, response

    def _use(self, link: WebSocketLink) -> None:
        self._link = link
        link.transport.set_write_buffer_limits(high=self._write_high)
        if self._paused:
            link.transport.pause_reading()
        self._beat = self._loop.call_later(self._ping_every, self._ping)
        link.deliver()

    # -- talking -------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray) -> None:
        if self._over or self._closing:
            return
        for line in bytes(data).split(b"\n"):
            if line:
                if len(line) > MAX_FRAME:
                    line = self._unsendable(line, -32600, f"a message has at most {MAX_FRAME >> 20} MiB here")
                elif not line.isascii() and not _is_utf8(line):
                    line = self._unsendable(line, -32700, "a message is UTF-8")
                if line is None:
                    continue
                if self._generation is not None:
                    self._sent.add(line)  # sent again if it gets lost
                if self._link is not None:
                    self._link.send(line)

    def _unsendable(self, line: bytes, code: int, text: str) -> bytes | None:
        """What goes in place of a message for which the server would end the whole conversation."""
        try:
            head = read_head(line)
            key, is_answer = head.key or None, not head.method
        except UNREADABLE:
            key, is_answer = guess(line[:ENDS], line[-ENDS:])
        if key is None:
            log.warning("a message was not sent: %s", text)
            return None
        error = write_error(key, code, text)
        if is_answer:
            return error
        self._loop.call_soon(self._receiver.received, error + b"\n")
        return None

    def pause_reading(self) -> None:
        self._paused = True
        if self._link is not None:
            self._link.pause(True)

    def resume_reading(self) -> None:
        self._paused = False
        if self._link is not None:
            self._link.pause(False)

    def received(self, frames: list[bytes]) -> None:
        """Whole text frames arrived on the link."""
        self._received += len(frames)
        data = b"\n".join(frames)
        if self._generation is not None:
            if self._sent.waits:
                self._note_answers(frames)
            self._unacked += len(frames)
            self._unacked_bytes += len(data)
            if (self._unacked >= ACK_MESSAGES or self._unacked_bytes >= ACK_BYTES) and self._link is not None:
                self._unacked = self._unacked_bytes = 0
                self._link.send(ack(f"{self._generation}-{self._received}"))
        if data.count(b"\n") != len(frames) - 1:  # somebody sends JSON over several lines
            data = b"\n".join(frame.replace(b"\n", b" ") for frame in frames)
        self._receiver.received(data + b"\n")

    def _note_answers(self, frames: list[bytes]) -> None:
        for frame in frames:
            if frame.find(b'"method"', 0, 64) < 0:
                with suppress(*UNREADABLE):
                    head = read_head(frame)
                    if not head.method:
                        self._sent.answered(head.key)

    def blocked(self, link: WebSocketLink, blocked: bool) -> None:
        """The link has too much to write, or has written enough of it."""
        if link is self._link:
            self._blocked = blocked
            if not self._held:
                (self._receiver.pause_writing if blocked else self._receiver.resume_writing)()

    def _ping(self) -> None:
        link = self._link
        if link is None:
            return
        silent = time.monotonic() - link.heard
        if silent > 2 * self._ping_every and not self._paused:
            link.abort("the server has gone silent")
            return
        link.ping()
        self._beat = self._loop.call_later(self._ping_every, self._ping)

    # -- cuts ------------------------------------------------------------------------------------

    def lost(self, link: WebSocketLink, code: int, why: str) -> None:
        """A link is over."""
        if link is not self._link:
            return
        self._link = None
        self._blocked = False
        if self._beat is not None:
            self._beat.cancel()
        if self._closing or self._over:
            return
        if self._generation is None or not (code in _GONE_FOR_NOW or self._was_our_own(code)):
            self._end(f"the connection to {self._endpoint.shown} ended: {why}", clean=code == 1000)
            return
        log.info("the connection to %s was cut (%s); picking it up", self._endpoint.shown, why)
        self._receiver.pause_writing()
        self._held = True
        self._tell_link(False)
        self._resuming = self._loop.create_task(self._resume(why), name="acpella resume")

    def _was_our_own(self, code: int) -> bool:
        """Whether it was probably an earlier attempt of ours that took this connection over."""
        if code != _TAKEN_OVER:
            return False
        now, recent = self._loop.time(), self._taken_over
        is_full = len(recent) == recent.maxlen and now - recent[0] < TAKEN_OVER_WITHIN
        recent.append(now)
        return not is_full

    async def _resume(self, why: str) -> None:
        backoff = Backoff(self._loop.time())
        problem: BaseException | None = None
        url = self._endpoint.shown
        while (pause := backoff.next(self._loop.time())) is not None:
            await asyncio.sleep(pause)
            assert self._connection_id is not None
            headers = {
                "Acp-Connection-Id": self._connection_id,
                "Last-Event-ID": f"{self._generation}-{self._received}",
            }
            try:
                link, response = await self._connect(headers)
            except _Refused as error:
                if error.status in (404, 410):
                    self._end(f"the connection to {url} was cut and the server does not know it any more")
                    return
                if error.status < 500 and error.status not in (409, 429):
                    self._end(f"the connection to {url} was cut and cannot be picked up: {error}")
                    return
                problem = error
                continue
            except TransportError as error:
                problem = error
                continue
            count = response.headers.get("Acpella-Received", "")
            again = self._sent.after(int(count)) if count.isdigit() else None
            if again is None:
                link.abort()
                self._end(f"the connection to {url} was cut for too long: messages to it are lost")
                return
            self._resuming = None
            self._unacked = self._unacked_bytes = 0  # the server knows from the header
            self._use(link)
            for frame in again:
                link.send(frame)
            self._held = False
            if not self._blocked:
                self._receiver.resume_writing()
            self._tell_link(True)
            return
        self._end(f"the connection to {url} was cut and did not come back: {problem or why}")

    def _tell_link(self, up: bool) -> None:
        if self._on_link is not None:
            try:
                self._on_link(up)
            except Exception:
                log.exception("on_link failed")

    def _end(self, reason: str, *, clean: bool = False) -> None:
        if not self._over:
            self._over = True
            self._receiver.ended(ConnectionClosed(reason, clean=clean))

    # -- the end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Send a close frame and close the socket."""
        self._closing = True
        if self._beat is not None:
            self._beat.cancel()
        resuming, self._resuming = self._resuming, None
        if resuming is not None and resuming is not asyncio.current_task():
            resuming.cancel()
            await asyncio.wait([resuming], timeout=CLOSE_WITHIN)
        link = self._link
        if link is not None:
            link.goodbye()
            try:
                await asyncio.wait([link.ended], timeout=CLOSE_WITHIN)
            finally:
                link.abort()


class _Refused(Exception):
    """The server answered the handshake with another status than 101."""

    def __init__(self, status: int, error: TransportError, *, invites: bool) -> None:
        self.status = status
        self.error = error
        self.invites = invites
        """The server says when to come again."""
        super().__init__(str(error))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refused(endpoint: Endpoint, response: "Response") -> _Refused:
    body = bytes(response.body or b"")[:MAX_ERROR_BODY]
    error = endpoint.refused(response.status_code, body, location=response.headers.get("Location"))
    return _Refused(response.status_code, error, invites="Retry-After" in response.headers)

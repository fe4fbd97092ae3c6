"""A remote agent over Streamable HTTP: messages go out as POSTs and come in on event streams."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver

from ._resume import ACK_BYTES, ACK_MESSAGES, UNREADABLE, Backoff, Head, ack, missing, read_head
from ._sse import Event, Overlong, SseParser
from .endpoint import CONNECT_WITHIN, MAX_ERROR_BODY, MAX_MESSAGE, Endpoint, shown_body

if TYPE_CHECKING:
    import httpx2

__all__ = ["HttpChannel"]

log = logging.getLogger(__name__)

ANSWER_WITHIN = 120.0
"""Seconds until a POST is taken; servers may delay it while we are behind with reading (T-091)."""

SILENT_AFTER = 45.0
"""Seconds without a sign of life on a stream of a server that sends them every 15: it is half open."""

SETTLE = 0.1
SETTLE_WITHIN = 10.0
"""A loaded session counts as replayed when its stream was quiet for `SETTLE` seconds (T-042)."""

CLOSE_WITHIN = 2.0
"""Seconds for the last messages to be sent, and as many for the goodbye."""

IDLE_FOR = 2.0
"""Seconds that an unused socket is kept. Servers close theirs after 5, perhaps just when we write."""

INITIALIZE_TRIES = 3

_PLAIN_UPDATE = b'{"jsonrpc":"2.0","method":"session/update"'
"""How most of what arrives begins; nothing in it concerns the transport."""

_ESTABLISHING = ("session/load", "session/resume")
_ENDING = ("session/close", "session/delete")

LINGER = 1.0
"""Seconds that the stream of a closed session stays: whoever closes one often deletes it next."""


class _Params(msgspec.Struct):
    session_id: str | None = msgspec.field(default=None, name="sessionId")


_read_params = msgspec.json.Decoder(_Params).decode


def _session_in(raw: msgspec.Raw) -> str | None:
    """The session that parameters or a result name; one that fits into no header is none."""
    try:
        session = _read_params(raw).session_id
    except UNREADABLE:
        return None
    return session if session and session.isascii() and session.isprintable() else None


class _Stream:
    """One event stream: the connection's own, or a session's."""

    __slots__ = (
        "comments",
        "connected",
        "heard",
        "last_event",
        "last_id",
        "limit",
        "reached",
        "ready",
        "sequence",
        "session",
        "task",
        "unacked",
        "unacked_bytes",
    )

    def __init__(self, session: str | None, loop: asyncio.AbstractEventLoop) -> None:
        self.session = session
        self.ready: asyncio.Future[int] = loop.create_future()  # the status of its first answer
        self.task: asyncio.Task[None] | None = None
        self.limit: asyncio.Timeout | None = None
        self.connected = False
        self.reached = False  # the last try to open it succeeded
        self.comments = 0
        self.heard = self.last_event = time.monotonic()
        self.last_id = b""
        self.sequence = -1
        self.unacked = 0
        self.unacked_bytes = 0


class _Status(Exception):
    def __init__(self, status: int, body: bytes, location: str | None = None) -> None:
        self.status = status
        self.body = body
        self.location = location
        super().__init__(str(status))


class HttpChannel:
    """The official Streamable HTTP transport, client side. HTTP/2 where the server offers it."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        silent_after: float = SILENT_AFTER,
        on_link: Callable[[bool], None] | None = None,
        identity: str = "",
    ) -> None:
        """`on_link` hears False when a stream was cut, and True when all are back. `identity` is what the
        channel tells about its peer."""
        self._endpoint = endpoint
        self._silent_after = silent_after
        self._on_link = on_link
        self._identity = identity
        self._failure: TransportError | None = None  # why no connection came about
        self._client: httpx2.AsyncClient | None = None
        self._connection_id: str | None = None
        self._generation = ""  # of a server that can resume; empty for others
        self._streams: dict[str | None, _Stream] = {}
        self._down: set[str | None] = set()
        self._outbox: deque[bytes] = deque()
        self._waiting = 0  # bytes in the outbox
        self._full = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._readable = asyncio.Event()
        self._readable.set()
        self._posted = 0
        self._pending: dict[bytes, tuple[str, str | None]] = {}  # our requests: method and session
        self._asked: dict[bytes, str] = {}  # the server's requests that came on a session stream
        self._behind: set[_Stream] = set()  # streams whose server is to be told how far we are
        self._ack_wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._beat: asyncio.TimerHandle | None = None
        self._over = self._closing = False

    @property
    def about(self) -> ChannelInfo:
        """Its identity, and why no connection came about."""
        return ChannelInfo(identity=self._identity, failure=self._failure)

    @property
    def connection_id(self) -> str | None:
        return self._connection_id

    # -- the beginning -----------------------------------------------------------------------

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Get ready; the first message, `initialize`, makes the connection.

        Raises:
            TransportError: a library is missing.
        """
        if self._client is not None:
            raise LocalProtocolError("a channel can be opened once")
        try:
            import httpx2
        except ImportError:
            raise missing("httpx2") from None
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._write_high = write_high
        options: dict[str, Any] = {
            "headers": {"User-Agent": "acpella", **self._endpoint.headers, "Accept-Encoding": "identity"},
            "cookies": self._endpoint.jar,
            "verify": self._endpoint.context() if self._endpoint.is_secure else True,
            "timeout": httpx2.Timeout(ANSWER_WITHIN, connect=CONNECT_WITHIN, pool=None),
            "limits": httpx2.Limits(
                max_connections=None, max_keepalive_connections=8, keepalive_expiry=IDLE_FOR
            ),
            "follow_redirects": False,  # T-084
            "trust_env": not self._endpoint.is_loopback,  # no proxy leads to this machine
        }
        try:
            self._client = httpx2.AsyncClient(http2=True, **options)
        except ImportError:  # h2 is not there
            self._client = httpx2.AsyncClient(**options)
        self._start(self._post_all(), "posts")
        self._start(self._ack_all(), "acks")
        self._beat = self._loop.call_later(self._silent_after / 3, self._check_silence)

    def _start(self, work: Any, name: str) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name=f"acpella {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the channel's side --------------------------------------------------------------------

    def write(self, data: bytes | bytearray) -> None:
        if self._over or self._closing:
            return
        for line in bytes(data).split(b"\n"):
            if line:
                self._outbox.append(line)
                self._waiting += len(line)
        self._idle.clear()
        self._wake.set()
        if self._waiting > self._write_high and not self._full:
            self._full = True
            self._receiver.pause_writing()

    def pause_reading(self) -> None:
        self._readable.clear()

    def resume_reading(self) -> None:
        self._readable.set()

    # -- sending -------------------------------------------------------------------------------

    async def _post_all(self) -> None:
        """One POST after the other, so that the agent sees messages in their order (§2.5)."""
        try:
            while not self._over:
                while self._outbox:
                    line = self._outbox.popleft()
                    await self._post(line)
                    self._waiting -= len(line)
                    if self._full and self._waiting <= self._write_high // 4:
                        self._full = False
                        self._receiver.resume_writing()
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
        except asyncio.CancelledError:
            raise
        except TransportError as error:
            self._end(error)
        except Exception:
            log.exception("sending failed")
            self._end(TransportError("sending failed; the log says why"))
        finally:
            self._idle.set()

    async def _post(self, line: bytes) -> None:
        try:
            head = read_head(line)
        except UNREADABLE:
            await self._post_unreadable(line)
            return
        if head.method == "initialize" and head.key and self._connection_id is None:
            await self._initialize(line)
            return
        if self._connection_id is None:
            self._fail(head, -32600, "the first message must be `initialize`")
            return
        if head.method:
            session = _session_in(head.params)
            if head.key:
                self._pending[head.key] = (head.method, session)
        else:
            session = self._asked.pop(head.key, None)
        if session is not None:
            status = await self._stream_status(session)
            if status not in (
                200,
                400,
                404,
            ):  # what is wrong with the session, the answer to the message says
                await self._refuse(head, status, b"", session)
                return
        await self._post_message(line, head, session)

    async def _post_message(self, line: bytes, head: Head, session: str | None) -> None:
        headers = {} if session is None else {"Acp-Session-Id": session}
        try:
            await self._send_numbered(line, headers)
        except _Status as error:
            if error.status == 404 and session is not None and head.method in _ESTABLISHING:
                await self._post_message(line, head, None)  # a server that knows only open sessions
                await self._stream_status(session)
                return
            if error.status in (401, 403):
                raise self._endpoint.refused(error.status, error.body) from None
            if error.status == 410 or (error.status == 404 and session is None):
                raise self._forgotten() from None
            await self._refuse(head, error.status, error.body, session)
            return
        if session is not None and head.method in _ESTABLISHING and session not in self._streams:
            await self._stream_status(session)  # by now it may know it

    async def _send_numbered(self, line: bytes, headers: dict[str, str]) -> None:
        """Send a message; one that the server has no time for is sent later."""
        backoff = Backoff(self._loop.time())
        while True:
            self._posted += 1
            pause = backoff.next(self._loop.time())
            try:
                await self._send(line, {**headers, "Acpella-Message": str(self._posted)})
                return
            except _Status as error:
                if error.status != 429 or pause is None:
                    raise
                await asyncio.sleep(max(pause, 0.1))

    async def _send(self, line: bytes, headers: dict[str, str]) -> tuple[Any, bytes]:
        """POST until it is answered; a server that can resume recognises what it already has."""
        import httpx2

        assert self._client is not None
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        if self._connection_id is not None:
            headers["Acp-Connection-Id"] = self._connection_id
        backoff = Backoff(self._loop.time())
        while True:
            pause = backoff.next(self._loop.time())
            try:
                async with self._client.stream(
                    "POST", self._endpoint.http_url, content=line, headers=headers
                ) as response:
                    most = MAX_MESSAGE if response.status_code == 200 else MAX_ERROR_BODY
                    body = await _body(response, most)
                break
            except (httpx2.TransportError, OSError) as error:
                again = self._generation or isinstance(error, httpx2.ConnectError)
                if self._connection_id is None or not again or pause is None:
                    raise self._endpoint.unreachable(error) from error
                log.debug("a POST was cut and is repeated: %s", error)
                await asyncio.sleep(pause)
        if not 200 <= response.status_code < 300:
            raise _Status(response.status_code, body, response.headers.get("location"))
        return response, body

    async def _initialize(self, line: bytes) -> None:
        tries = 0
        while True:
            tries += 1
            try:
                response, body = await self._send(line, {"Acpella-Resume": "1"})
                break
            except _Status as error:
                self._failure = self._endpoint.refused(error.status, error.body, location=error.location)
                raise self._failure from None
            except TransportError as error:
                import httpx2

                if tries < INITIALIZE_TRIES and isinstance(
                    error.__cause__, httpx2.ReadError | httpx2.RemoteProtocolError
                ):
                    await asyncio.sleep(0.05 * 2**tries)
                    continue
                self._failure = error
                raise
        connection_id = response.headers.get("acp-connection-id")
        try:
            answer = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        except UNREADABLE:
            answer = None
        if not connection_id or answer is None:
            detail = shown_body(body)
            self._failure = TransportError(
                f"{self._endpoint.shown} does not answer like an ACP server"
                + (f": {detail}" if detail else "")
            )
            raise self._failure
        self._connection_id = connection_id
        self._generation = response.headers.get("acpella-resume", "")
        if "error" in answer:  # T-021
            await self._delete()
            self._connection_id = None
        else:
            status = await self._stream_status(None)
            if status != 200:
                raise self._endpoint.refused(status)
        self._receiver.received(body.replace(b"\n", b" ") + b"\n")

    async def _post_unreadable(self, line: bytes) -> None:
        """The server says what is wrong with it; where there is none yet, or it does not, we do (T-006)."""
        if self._connection_id is not None:
            try:
                await self._send_numbered(line, {})
                return
            except _Status as error:
                if (answer := _error_in(error.body)) is not None:
                    self._receiver.received(answer + b"\n")
                    return
        try:
            msgspec.json.decode(line)
            error = {"code": -32600, "message": "a message must be an object"}
        except UNREADABLE:
            error = {"code": -32700, "message": "Parse error"}
        answer = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
        self._receiver.received(answer + b"\n")

    async def _refuse(self, head: Head, status: int, body: bytes, session: str | None) -> None:
        """A message was not taken: its request fails, with the server's own words if it has any."""
        what = head.method or "an answer"
        told = _error_in(body)
        if head.method and head.key:
            self._pending.pop(head.key, None)
        if told is not None and head.key and not head.is_answer:
            self._receiver.received(told + b"\n")
        elif head.method and head.key:
            detail = {"status": status, "body": shown_body(body)}
            if status == 404 and session is not None:
                self._fail(
                    head, -32002, f"{self._endpoint.shown} does not know the session of {what}", detail
                )
            else:
                self._fail(head, -32603, f"{self._endpoint.shown} did not take {what}: {status}", detail)
        elif status >= 500:  # the conversation has a hole
            raise TransportError(f"{self._endpoint.shown} did not take {what}: {status} {shown_body(body)}")
        else:
            log.warning("%s was not taken: %d %s", what, status, shown_body(body))
            if head.is_answer:
                await self._answer_instead(head, session)

    async def _answer_instead(self, head: Head, session: str | None) -> None:
        """The agent waits for an answer, and the one that there was cannot be read."""
        error = {"code": -32603, "message": "the client's answer was not taken"}
        line = msgspec.json.encode({"jsonrpc": "2.0", "id": head.id, "error": error})
        try:
            await self._send_numbered(line, {} if session is None else {"Acp-Session-Id": session})
        except _Status as refused:
            log.warning("nor was an error instead of it: %d", refused.status)

    def _fail(self, head: Head, code: int, message: str, data: Any = None) -> None:
        if head.method and head.key:
            error = {"code": code, "message": message} | ({} if data is None else {"data": data})
            answer = msgspec.json.encode({"jsonrpc": "2.0", "id": head.id, "error": error})
            self._receiver.received(answer + b"\n")

    # -- streams -------------------------------------------------------------------------------

    async def _stream_status(self, session: str | None) -> int:
        """Open a stream unless it is open; gives the status of its answer."""
        stream = self._streams.get(session)
        if stream is None:
            stream = self._open_stream(session)
        return await asyncio.shield(stream.ready)

    def _open_stream(self, session: str | None) -> _Stream:
        stream = self._streams[session] = _Stream(session, self._loop)
        stream.task = self._start(self._read_stream(stream), "stream")
        return stream

    async def _read_stream(self, stream: _Stream) -> None:
        try:
            await self._follow(stream)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("reading a stream failed")
            self._end(TransportError("reading failed; the log says why"))
        finally:
            self._forget(stream)
            if not stream.ready.done():
                stream.ready.set_result(503)

    async def _follow(self, stream: _Stream) -> None:
        """Read a stream, and pick it up again after a cut if the server can do its part."""
        import httpx2

        backoff = Backoff(self._loop.time())
        why = "it ended"
        while True:
            try:
                status, body = await self._read_once(stream)
            except Overlong as error:
                self._end(TransportError(f"{self._endpoint.shown} sent too much at once: {error}"))
                return
            except TimeoutError:
                status, body, why = 0, b"", "the server has gone silent"
            except httpx2.ConnectError as error:
                status, body, why = 0, b"", str(self._endpoint.unreachable(error))
            except (httpx2.TransportError, httpx2.StreamError, OSError) as error:
                status, body, why = 0, b"", str(error) or type(error).__name__
            if self._over or self._closing:
                return
            if stream.reached:
                backoff = Backoff(self._loop.time())
            elif not stream.ready.done():
                if status and (status != 429 or not self._generation):
                    stream.ready.set_result(status)
                    return
            elif status in (401, 403, 404, 410) and stream.session is None:
                refused = status in (401, 403)
                self._end(self._endpoint.refused(status, body) if refused else self._forgotten())
                return
            elif status in (404, 410):
                self._session_over(stream)
                return
            if not self._generation:
                if stream.session is None:
                    self._end(TransportError(f"the connection to {self._endpoint.shown} was lost: {why}"))
                else:
                    self._session_over(stream)
                return
            self._tell_link(stream, up=False)
            pause = backoff.next(self._loop.time())
            if pause is None:
                text = f"the connection to {self._endpoint.shown} was cut and did not come back: {why}"
                self._end(TransportError(text))
                return
            await asyncio.sleep(pause)

    async def _read_once(self, stream: _Stream) -> tuple[int, bytes]:
        import httpx2

        assert self._client is not None and self._connection_id is not None
        headers = {
            "Accept": "text/event-stream",
            "Acp-Connection-Id": self._connection_id,
            "Acpella-Resume": "1",
            "Cache-Control": "no-cache",
        }
        if stream.session is not None:
            headers["Acp-Session-Id"] = stream.session
        if stream.last_id:
            headers["Last-Event-ID"] = stream.last_id.decode("latin-1")
        elif self._generation:
            headers["Last-Event-ID"] = f"{self._generation}-0"  # from the beginning
        timeout = httpx2.Timeout(ANSWER_WITHIN, connect=CONNECT_WITHIN, read=None, pool=None)
        stream.reached = False
        url = self._endpoint.http_url
        async with asyncio.timeout(CONNECT_WITHIN) as stream.limit:
            async with self._client.stream("GET", url, headers=headers, timeout=timeout) as response:
                status = response.status_code
                if status == 200 and "text/event-stream" not in response.headers.get("content-type", ""):
                    status = 406
                if status != 200:
                    return status, await _body(response, MAX_ERROR_BODY)
                assert stream.limit is not None
                stream.limit.reschedule(None)
                await self._take_events(stream, response)
                return 200, b""

    async def _take_events(self, stream: _Stream, response: Any) -> None:
        parser = SseParser(max_event=MAX_MESSAGE)
        stream.heard = time.monotonic()
        stream.unacked = stream.unacked_bytes = 0
        stream.connected = stream.reached = True
        self._tell_link(stream, up=True)
        if not stream.ready.done():
            stream.ready.set_result(200)
        readable = self._readable
        try:
            async for chunk in response.aiter_raw():
                stream.heard = time.monotonic()
                events = parser.feed(chunk)
                if events:
                    self._arrived(stream, events)
                else:
                    stream.comments += parser.comments
                if self._over:
                    return
                if not readable.is_set():
                    await readable.wait()
                    stream.heard = time.monotonic()
            if not self._generation and (events := parser.finish()):
                self._arrived(stream, events)
        finally:
            stream.connected = False
            stream.last_event = time.monotonic()

    def _arrived(self, stream: _Stream, events: list[Event]) -> None:
        """Give the messages of some events to the receiver, all at once."""
        texts: list[bytes] = []
        size = 0
        lost = False
        for event in events:
            if event.id:
                number = event.id[event.id.rfind(b"-") + 1 :]
                if number.isdigit():
                    sequence = int(number)
                    if sequence <= stream.sequence:
                        continue  # seen before the cut
                    stream.sequence = sequence
                    stream.last_id = event.id
                    stream.unacked += 1
            if event.kind == b"resync":
                lost = True
                break
            data = event.data
            size += len(data)
            if data[:42] == _PLAIN_UPDATE or (data[:1] == b"{" and self._note(stream, data)):
                texts.append(data)
        stream.last_event = time.monotonic()
        if self._generation:
            stream.unacked_bytes += size
            if stream.unacked >= ACK_MESSAGES or (stream.unacked and stream.unacked_bytes >= ACK_BYTES):
                stream.unacked = stream.unacked_bytes = 0
                self._behind.add(stream)
                self._ack_wake.set()
        if texts:
            texts.append(b"")
            self._receiver.received(b"\n".join(texts))
        if lost:
            self._end(TransportError("the connection was cut for too long: messages were lost; load again"))

    def _note(self, stream: _Stream, data: bytes) -> bool:
        """Keep what the transport must know of a message. False if it must not be delivered yet."""
        try:
            head = read_head(data)
        except UNREADABLE:
            return True  # the connection will say what is wrong with it
        key = head.key
        if head.method:
            if key and stream.session is not None:
                self._asked[key] = stream.session
            return True
        method, session = self._pending.pop(key, ("", None))
        if not bytes(head.result):
            return True
        if method in ("session/new", "session/fork"):
            made = _session_in(head.result)
            if made is not None and made not in self._streams:
                self._open_stream(made)  # T-043
        elif method == "session/load" and session is not None and stream.session is None:
            self._start(self._settle(session, data), "load")
            return False
        elif method in _ENDING and session in self._streams:
            self._loop.call_later(LINGER, self._end_stream, self._streams[session])
        return True

    def _end_stream(self, stream: _Stream) -> None:
        """The session was closed; unless more was asked about it since, nothing comes on its stream."""
        asked = any(session == stream.session for _, session in self._pending.values())
        if stream.task is not None and not asked:
            stream.task.cancel()

    async def _settle(self, session: str, answer: bytes) -> None:
        """Deliver the answer to a load after its replay, which comes on another stream (T-042)."""
        answered = time.monotonic()
        while (now := time.monotonic()) - answered < SETTLE_WITHIN:
            stream = self._streams.get(session)
            if stream is None:
                last = answered  # the replay comes on the stream that the answer came on
            else:
                last = max(answered, stream.last_event if stream.connected else now)
            if now - last >= SETTLE and self._readable.is_set():
                break
            await asyncio.sleep(SETTLE - (now - last) if now - last < SETTLE else SETTLE)
        self._receiver.received(answer + b"\n")

    def _session_over(self, stream: _Stream) -> None:
        """A session's stream is gone: its requests will not be answered; it is opened again on next use."""
        self._forget(stream)
        self._asked = {key: session for key, session in self._asked.items() if session != stream.session}
        for key, (method, session) in list(self._pending.items()):
            if session == stream.session and method != "session/load":
                del self._pending[key]
                text = f"the stream of the session ended before {method} was answered"
                self._fail(Head(id=msgspec.Raw(key), method=method), -32603, text)

    def _forget(self, stream: _Stream) -> None:
        if self._streams.get(stream.session) is stream:
            del self._streams[stream.session]
            self._tell_link(stream, up=True)

    def _tell_link(self, stream: _Stream, *, up: bool) -> None:
        before = bool(self._down)
        (self._down.discard if up else self._down.add)(stream.session)
        if self._on_link is not None and bool(self._down) is not before:
            try:
                self._on_link(not self._down)
            except Exception:
                log.exception("on_link failed")

    # -- signs of life ---------------------------------------------------------------------------

    async def _ack_all(self) -> None:
        """Tell the server how far we have read. Beside the other POSTs: those may wait for just this."""
        while True:
            await self._ack_wake.wait()
            self._ack_wake.clear()
            while self._behind:
                stream = self._behind.pop()
                headers = {} if stream.session is None else {"Acp-Session-Id": stream.session}
                try:
                    await self._send(ack(stream.last_id.decode("latin-1"), stream.session), headers)
                except _Status as error:
                    if error.status in (429, 503):
                        self._behind.add(stream)
                        await asyncio.sleep(0.1)
                except TransportError:
                    pass  # the streams tell if the server is gone

    def _check_silence(self) -> None:
        now = time.monotonic()
        if self._readable.is_set():
            for stream in self._streams.values():
                alive = self._generation or stream.comments
                if stream.connected and alive and now - stream.heard > self._silent_after:
                    if stream.limit is not None:
                        stream.limit.reschedule(self._loop.time())
        self._beat = self._loop.call_later(self._silent_after / 3, self._check_silence)

    # -- the end -----------------------------------------------------------------------------------

    def _end(self, error: TransportError) -> None:
        if not self._over and not self._closing:
            self._over = True
            self._receiver.ended(ConnectionClosed(str(error)))

    def _forgotten(self) -> TransportError:
        return TransportError(f"{self._endpoint.shown} does not know the connection any more")

    async def close(self) -> None:
        """Send what is left, end the connection at the server, close the streams."""
        if self._client is None or self._closing:
            return
        if not self._over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), CLOSE_WITHIN)
        self._closing = True
        if self._beat is not None:
            self._beat.cancel()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=CLOSE_WITHIN)
            await self._delete()
        finally:
            await self._client.aclose()

    async def _delete(self) -> None:
        import httpx2

        if self._connection_id is None or self._client is None:
            return
        headers = {"Acp-Connection-Id": self._connection_id}
        with suppress(httpx2.HTTPError, OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                async with self._client.stream("DELETE", self._endpoint.http_url, headers=headers):
                    pass


class _ErrorAnswer(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    error: msgspec.Raw


_read_error = msgspec.json.Decoder(_ErrorAnswer).decode


def _error_in(body: bytes) -> bytes | None:
    """The JSON-RPC error that a refusal may have as its body, on one line."""
    line = body.strip().replace(b"\n", b" ").replace(b"\r", b" ")
    try:
        _read_error(line)
    except UNREADABLE:
        return None
    return line


async def _body(response: Any, most: int) -> bytes:
    """The body of an answer, up to a limit."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > most:
            parts.append(part[: len(part) - (size - most)])
            break
        parts.append(part)
    return b"".join(parts)

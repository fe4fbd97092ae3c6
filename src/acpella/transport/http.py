"""A remote agent over Streamable HTTP: messages go out as POSTs and come in on event streams."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal

import msgspec

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import ChannelInfo, Receiver
from acpella.rpc.message import write_error

from ._http_incoming import Incoming, session_in
from ._http_requests import CLOSE_WITHIN, HttpRequests, Refused
from ._resume import UNREADABLE, Backoff, Head, read_head
from .endpoint import Endpoint, shown_body

__all__ = ["HttpChannel"]

log: logging.Logger = logging.getLogger(__name__)

SILENT_AFTER = 45.0
"""Seconds without a sign of life on a stream of a server that sends them every 15: it is half open."""

INITIALIZE_TRIES = 3

BUSY_WITHIN = 5.0
"""Seconds in which a server that is stopping, or whose database is away, is asked again."""

_ESTABLISHING = ("session/load", "session/resume")


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
        """`on_link` is called with False when a stream was cut, and with True when all are back. `identity`
        names the peer."""
        self._endpoint = endpoint
        self._silent_after = silent_after
        self._on_link = on_link
        self._identity = identity
        self._failure: TransportError | None = None  # why no connection came about
        self._requests = HttpRequests(endpoint)
        self._opened = False
        self._outbox: deque[bytes] = deque()
        self._waiting = 0  # bytes in the outbox
        self._full = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._posted = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._beat: asyncio.TimerHandle | None = None
        self._over = self._closing = False

    @property
    def about(self) -> ChannelInfo:
        """Its identity, and why the connection failed."""
        return ChannelInfo(identity=self._identity, failure=self._failure)

    @property
    def connection_id(self) -> str | None:
        return self._requests.connection_id

    # -- the beginning -----------------------------------------------------------------------

    async def open(self, receiver: Receiver, *, write_high: int) -> None:
        """Prepare the channel. The first message, `initialize`, opens the connection.

        Raises:
            TransportError: a library is missing.
        """
        if self._opened:
            raise LocalProtocolError("a channel can be opened once")
        self._requests.open()
        self._opened = True
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        self._write_high = write_high
        self._incoming = Incoming(
            self._requests,
            self._endpoint,
            receiver,
            start_task=self._start,
            is_over=self._is_over,
            on_lost=self._end,
            tell_link=self._on_link,
        )
        self._start(self._post_all(), "posts")
        self._start(self._incoming.confirm(), "acks")
        self._beat = self._loop.call_later(self._silent_after / 3, self._check_silence)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name=f"acpella {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the channel's side --------------------------------------------------------------------

    def write(self, data: bytes | bytearray) -> None:
        if self._is_over():
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
        self._incoming.readable.clear()

    def resume_reading(self) -> None:
        self._incoming.readable.set()

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
        if head.method == "initialize" and head.key and self._requests.connection_id is None:
            await self._initialize(line)
            return
        if self._requests.connection_id is None:
            self._fail(head, -32600, "the first message must be `initialize`")
            return
        if head.method:
            session = session_in(head.params)
            if head.key:
                self._incoming.pending[head.key] = (head.method, session)
        else:
            session = self._incoming.asked.pop(head.key, None)
        if session is not None:
            status = await self._incoming.stream_status(session)
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
        except Refused as error:
            if error.status == 404 and session is not None and head.method in _ESTABLISHING:
                await self._post_message(line, head, None)  # a server that knows only open sessions
                await self._incoming.stream_status(session)
                return
            if error.status in (401, 403):
                raise self._endpoint.refused(error.status, error.body) from None
            if error.status == 410 or (error.status == 404 and session is None):
                raise self._requests.forgotten() from None
            await self._refuse(head, error.status, error.body, session)
            return
        if session is not None and head.method in _ESTABLISHING and not self._incoming.has_stream(session):
            await self._incoming.stream_status(session)  # by now it may know it

    async def _send_numbered(self, line: bytes, headers: dict[str, str]) -> None:
        """Send a message; one that the server has no time for, or cannot take just now, is sent later."""
        backoff = Backoff(self._loop.time())
        self._posted += 1
        number = str(self._posted)  # the same every time: it may have been taken after all
        while True:
            pause = backoff.next(self._loop.time())
            try:
                await self._requests.post(line, {**headers, "Acpella-Message": number})
                return
            except Refused as error:
                again = error.status == 429 or (error.status == 503 and self._requests.generation)
                if not again or pause is None:
                    raise
                await asyncio.sleep(max(pause, 0.1))

    async def _initialize(self, line: bytes) -> None:
        tries = 0
        backoff = Backoff(self._loop.time(), within=BUSY_WITHIN)
        while True:
            tries += 1
            try:
                response, body = await self._requests.post(line, {"Acpella-Resume": "1"})
                break
            except Refused as error:
                pause = backoff.next(self._loop.time())
                if error.status == 503 and error.invites and pause is not None:  # another node may be there
                    await asyncio.sleep(max(pause, 0.1))
                    continue
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
        self._requests.connection_id = connection_id
        self._requests.generation = response.headers.get("acpella-resume", "")
        if "error" in answer:  # T-021
            await self._requests.delete()
            self._requests.connection_id = None
        else:
            status = await self._incoming.stream_status(None)
            if status != 200:
                raise self._endpoint.refused(status)
        self._receiver.received(body.replace(b"\n", b" ") + b"\n")

    async def _post_unreadable(self, line: bytes) -> None:
        """Let the server say what is wrong with it; if it does not, or there is none yet, we do (T-006)."""
        if self._requests.connection_id is not None:
            try:
                await self._send_numbered(line, {})
                return
            except Refused as error:
                if (answer := _error_in(error.body)) is not None:
                    self._receiver.received(answer + b"\n")
                    return
        try:
            msgspec.json.decode(line)
            answer = write_error(b"null", -32600, "a message must be an object")
        except UNREADABLE:
            answer = write_error(b"null", -32700, "Parse error")
        self._receiver.received(answer + b"\n")

    async def _refuse(self, head: Head, status: int, body: bytes, session: str | None) -> None:
        """A message was not taken: its request fails, with the server's own words if it has any."""
        what = head.method or "an answer"
        error = _error_in(body)
        if head.method and head.key:
            self._incoming.pending.pop(head.key, None)
        if error is not None and head.key and not head.is_answer:
            self._receiver.received(error + b"\n")
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
        """Send an error: the agent waits for an answer, and the server did not take ours."""
        line = write_error(bytes(head.id), -32603, "the client's answer was not taken")
        try:
            await self._send_numbered(line, {} if session is None else {"Acp-Session-Id": session})
        except Refused as refused:
            log.warning("nor was an error instead of it: %d", refused.status)

    def _fail(self, head: Head, code: int, message: str, data: Any = None) -> None:
        if head.method and head.key:
            self._receiver.received(write_error(head.key, code, message, data) + b"\n")

    # -- the end -----------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        return self._over or self._closing

    def _check_silence(self) -> None:
        self._incoming.check_silence(self._silent_after)
        self._beat = self._loop.call_later(self._silent_after / 3, self._check_silence)

    def _end(self, error: TransportError) -> None:
        """End the channel and tell our side why."""
        if not self._over and not self._closing:
            self._over = True
            self._receiver.ended(ConnectionClosed(str(error)))

    async def close(self) -> None:
        """Send what is left, end the connection at the server, close the streams."""
        if not self._opened or self._closing:
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
            await self._requests.delete()
        finally:
            await self._requests.close()


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

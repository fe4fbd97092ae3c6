"""Drives a `Peer` over a `Channel`: runs handlers, resolves calls, holds both sides to their limits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from acpella.errors import ConnectionClosed, LocalProtocolError, RemoteProtocolError, RequestCancelled

from .calls import Call, overdue
from .channel import Channel
from .events import CancelRequested, Crash, Failure, Noise, PeerEvent, Reply, Request
from .flow import SMALL_READ, Reading
from .framing import Framing
from .handlers import Handler
from .inbox import Inbox, handled_inbox
from .limits import Limits
from .message import RequestId
from .peer import Peer
from .recent_frames import RecentFrames
from .requests import Requests, after_answer
from .vocabulary import Method, Vocabulary
from .writing import SENT, Writing

__all__ = ["Connection"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

ABORT_GRACE = 1.0
"""Seconds that cancelled handlers get to clean up before the connection stops waiting for them."""


class Connection:
    """A conversation with one peer. Use it as an async context manager.

    Notifications are handled one after the other in the order they came; each request runs in a task of
    its own. What is read and not yet handled is bounded: at `Limits.queue_low` reading pauses, so a slow
    consumer slows the peer. While somebody here waits for the peer (for an answer, or for it to read what
    we write) reading goes on up to `Limits.queue_high`, so that two sides that call each other while both
    are flooded never wait for each other.
    """

    def __init__(
        self,
        channel: Channel,
        vocabulary: Vocabulary,
        *,
        requests: Mapping[str, Handler] | None = None,
        notifications: Mapping[str, Handler] | None = None,
        on_noise: Callable[[Noise], None] | None = None,
        limits: Limits = Limits(),
        framing: Framing | None = None,
        answer_noise: bool = True,
        is_cancel_useful: Callable[[str, Any], bool] | None = None,
    ) -> None:
        """Prepare a connection; `async with` opens it.

        `requests` and `notifications` map method names to handlers. `on_noise` is called with whatever
        arrived and was not a message. `framing` None lets the peer's first message decide. A call that is
        given up is cancelled at the peer, unless `is_cancel_useful` is False for its method and parameters.
        """
        self._channel = channel
        self._on_noise = on_noise
        self._is_cancel_useful = is_cancel_useful
        self._limits = limits
        request_handlers: Mapping[str, Handler] = {} if requests is None else requests
        notification_handlers: Mapping[str, Handler] = {} if notifications is None else notifications
        self._peer = Peer(
            vocabulary,
            requests=request_handlers,
            notifications=notification_handlers,
            limits=limits,
            framing=framing,
            answer_noise=answer_noise,
        )
        self._recent_frames = RecentFrames()
        self._calls: dict[RequestId, Call] = {}
        self._awaited = 0  # calls whose answer does not wait for the inbox
        self._stuck_handlers = 0  # calls that the notification handler waits for
        self._unfinished = 0  # bytes read since the last event
        self._reading = Reading(channel)
        self._writing = Writing(
            self._peer, channel, self._recent_frames, limit=limits.write_max, on_flood=self._flooded
        )
        self._requests = Requests(request_handlers, self._peer, self._writing, limits)
        self._inbox = Inbox(
            notification_handlers, on_request=self._requests.start, on_less=self._inbox_shrank
        )

        self._opened = False
        self._ending: ConnectionClosed | None = None
        self.failure: Exception | None = None
        """The fault of our own that ended the conversation, if one did."""
        self._finish_task: asyncio.Task[None] | None = None
        self._finished: asyncio.Future[None] | None = None

    # -- life --------------------------------------------------------------------------

    async def open(self) -> Self:
        """Open the channel and start to read.

        Raises:
            TransportError: the peer cannot be started or reached.
        """
        if self._opened:
            raise LocalProtocolError("a connection can be opened once")
        self._opened = True
        self._loop = asyncio.get_running_loop()
        self._finished = self._loop.create_future()
        self._inbox.open()
        self._writing.mute = False
        try:
            await self._channel.open(self, write_high=self._limits.write_high)
        except BaseException as error:
            self._writing.mute = True
            self._inbox.task.cancel()
            if self._ending is None:
                self._ending = ConnectionClosed(f"the connection could not be opened: {error}")
                self._finished.set_result(None)
            raise
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(grace=0 if error is not None else None)

    @property
    def closed(self) -> ConnectionClosed | None:
        """The reason why the conversation has ended; None while it lasts."""
        return self._ending

    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the conversation and all handlers have ended. Returns the reason."""
        if self._finished is None:
            raise LocalProtocolError("the connection was never opened")
        await asyncio.shield(self._finished)
        assert self._ending is not None
        return self._ending

    async def close(self, *, grace: float | None = None) -> None:
        """Stop reading, fail pending calls, wait for handlers, close the channel.

        Handlers still running after `grace` seconds (`Limits.close_grace` by default) are cancelled.
        Safe to call twice and from a handler.
        """
        if self._finished is None:
            return
        self._end(ConnectionClosed("the connection was closed by this side", clean=True), grace=grace)
        task = asyncio.current_task()
        if task not in self._requests.running and task is not self._inbox.task:
            await self.wait_closed()

    @property
    def handling(self) -> bool:
        """Whether notifications have arrived that are not handled yet."""
        return bool(self._inbox)

    @property
    def in_handler(self) -> bool:
        """Whether the caller is a notification handler, or a task that one started."""
        return handled_inbox.get() is self._inbox

    def last_frames(self, count: int = 20) -> tuple[str, ...]:
        """The last frames in both directions, shortened and without secrets."""
        return self._recent_frames.frames(count)

    def speak(self, vocabulary: Vocabulary) -> None:
        """Read what comes from here on with these methods; the handlers stay."""
        self._peer.speak(vocabulary)

    # -- talking -----------------------------------------------------------------------

    @overload
    async def call(
        self, method: Method[P, R], params: P, *, timeout: float | None = None, in_order: bool = False
    ) -> R: ...

    @overload
    async def call(
        self, method: str, params: Any = None, *, timeout: float | None = None, in_order: bool = False
    ) -> Any: ...

    async def call(
        self, method: Any, params: Any = None, *, timeout: float | None = None, in_order: bool = False
    ) -> Any:
        """Ask the peer and wait for its answer.

        A call that is cancelled or runs out of time is cancelled at the peer too. With `in_order`, the
        answer is given only after every notification that came before it has been handled; such a call
        must not be awaited by a notification handler.

        Raises:
            RpcError: the peer answered with an error.
            RemoteProtocolError: the answer cannot be used.
            ConnectionClosed: the peer went away.
            TimeoutError: no answer within `timeout` seconds.
        """
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        if self._writing.mute or self._writing.paused:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._ready_to_write()
            except TimeoutError:
                raise overdue(method, timeout) from None
        if self._ending is not None:
            raise self._ending.again()
        call_id = self._peer.call(method, {} if params is None else params)
        call = Call(self._loop.create_future(), in_order=in_order)
        self._calls[call_id] = call
        if not in_order:
            self._awaited += 1
            if self._inbox.size:
                self._check_reading()
        stuck = self.in_handler
        self._stuck_handlers += stuck
        self._writing.flush()
        timer = None
        if deadline is not None:
            timer = self._loop.call_at(deadline, call.expire, method, timeout)
        try:
            return await call.future
        finally:
            del call  # it leads to an error whose traceback leads here, and so to the params
            self._stuck_handlers -= stuck
            if timer is not None:
                timer.cancel()
            if self._calls.pop(call_id, None) is not None and self._ending is None:
                name = method if isinstance(method, str) else method.name
                useful = self._is_cancel_useful is None or self._is_cancel_useful(name, params)
                self._peer.abandon(call_id, tell=useful)
                self._writing.flush()
            if not in_order:
                self._awaited -= 1
                if self._inbox.size:
                    self._check_reading()

    def notify(self, method: Method[P, Any] | str, params: P) -> Awaitable[None]:
        """Tell the peer something. Waits only when the peer is far behind with reading.

        Raises:
            ConnectionClosed: the peer went away.
        """
        writing = self._writing  # no coroutine unless there is something to wait for: floods come this way
        if writing.mute or writing.paused:
            return self._notify_later(method, params)
        if writing.gather(self._peer.notify(method, params)):
            return asyncio.sleep(0)
        return SENT

    async def _notify_later(self, method: Method[P, Any] | str, params: P) -> None:
        await self._ready_to_write()
        if self._writing.gather(self._peer.notify(method, params)):
            await asyncio.sleep(0)

    def after_answer(self, work: Callable[[], None]) -> None:
        """Do something after the answer to a request, unless it is an error. For async handlers.

        What it sends follows the answer, even if the answer has to wait for the peer to read.
        """
        after_answer(work)

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent."""
        self._writing.flush()
        await self._writing.until_free()

    async def _ready_to_write(self) -> None:
        if self._finished is None:
            raise LocalProtocolError("the connection is not open; use `async with`")
        await self._writing.until_free()
        if self._writing.mute and self._ending is not None:
            raise self._ending.again()

    def _flooded(self) -> None:
        self._end(ConnectionClosed("the peer sends but does not read: too much is waiting"))

    # -- the channel's side (Receiver) ---------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._ending is not None:
            return
        self._recent_frames.received(data)
        self._unfinished += len(data)
        try:
            events = self._peer.receive(data)
            if events:
                size, self._unfinished = self._unfinished, 0
                self._dispatch(events, size)
        except Exception as error:  # a bug of ours must end the conversation, not leave everybody waiting
            self._fail(error)
            return
        if self._peer.unsent:
            self._writing.flush()  # error answers that the peer gave by itself
        if len(data) < SMALL_READ:
            stream = self._peer.stream_event
            self._reading.small_read(
                of_stream=stream is not None and bool(events) and events[-1].__class__ is stream
            )
        if self._inbox.size >= self._limits.queue_low:
            self._check_reading()

    def pause_writing(self) -> None:
        """The peer is behind with reading."""
        if not self._writing.paused:
            self._writing.pause()
            self._check_reading()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        if self._writing.paused:
            self._writing.resume()
            self._check_reading()

    def ended(self, reason: ConnectionClosed) -> None:
        """The peer will send nothing more."""
        if self._ending is None:
            try:
                # if an answer was cut off, why the connection ended says more than a parse error
                self._dispatch([event for event in self._peer.finish() if not _is_unreadable(event)], 0)
                self._writing.flush()
            except Exception as error:
                self._fail(error)
        self._end(reason)

    def _fail(self, error: Exception) -> None:
        """End after a bug of ours. The peer still gets what is ready, and the answers to earlier requests."""
        log.error("failed to read what the peer sent", exc_info=error)
        self.failure = error
        reason = ConnectionClosed("what the peer sent could not be handled; the log says why")
        self._end(reason, listening=True)
        self._writing.flush()

    # -- dispatch ------------------------------------------------------------------------

    def _dispatch(self, events: list[PeerEvent], size: int) -> None:
        inbox = self._inbox
        if self._peer.only_stream:
            inbox.put_all(events)
            inbox.filled(size)
            return
        queued = False
        crash: Exception | None = None
        for event in events:
            if isinstance(event, Request):
                if inbox.put_request(event):
                    queued = True
                else:
                    self._requests.answer(event)
            elif isinstance(event, Reply):
                self._settle(event.id, event.result)
            elif isinstance(event, Failure):
                self._settle(event.id, event.error)
            elif isinstance(event, CancelRequested):
                self._cancel(event.id)
            elif isinstance(event, Noise):
                self._report(event)
            elif isinstance(event, Crash):
                crash = event.error
            else:
                inbox.put(event)
                queued = True
        if queued:
            inbox.filled(size)
        if crash is not None:
            raise crash

    def _settle(self, call_id: RequestId, outcome: object) -> None:
        call = self._calls.pop(call_id, None)
        if call is not None:
            self._inbox.settle(call, outcome)

    def _cancel(self, request_id: RequestId) -> None:
        if not self._requests.cancel(request_id) and self._inbox.remove_request(request_id):
            self._peer.refuse(request_id, RequestCancelled())
            self._writing.flush()

    def _report(self, noise: Noise) -> None:
        log.warning("skipped a line that is not a message: %s: %s", noise.reason, noise.excerpt)
        if self._on_noise is not None:
            try:
                self._on_noise(noise)
            except Exception:
                log.exception("on_noise failed")

    # -- flow ------------------------------------------------------------------------------

    def _inbox_shrank(self) -> None:
        if self._reading.rests:
            self._check_reading()

    def _check_reading(self) -> None:
        """Stop or go on reading, as the inbox and those who wait for the peer demand."""
        size, paused = self._inbox.size, self._writing.paused
        full = size >= self._limits.queue_low
        if full and (self._awaited or paused):
            full = size >= self._limits.queue_high
            if full and (paused or (self._stuck_handlers and self._inbox.handling)):
                self._end(ConnectionClosed("both sides send and neither reads: too much is waiting"))
                return
        self._reading.rest("queue", stop=full)

    # -- the end -----------------------------------------------------------------------------

    def _end(self, reason: ConnectionClosed, *, grace: float | None = None, listening: bool = False) -> None:
        if self._ending is None:
            if not reason.clean:
                reason.frames = self._recent_frames.frames()
            self._ending = reason
            self._reading.end()
            # a peer that has only stopped talking may listen
            self._writing.end(mute=not (reason.clean or listening))
            for call_id in self._peer.forget_calls():
                self._settle(call_id, reason.again())
            for call_id in list(self._calls):
                self._settle(call_id, reason.again())
            self._inbox.end()
            self._finish_task = self._loop.create_task(
                self._finish(self._limits.close_grace if grace is None else grace), name="acpella close"
            )
        elif grace == 0:
            self._requests.cancel_all()

    def _busy(self) -> list[asyncio.Task[None]]:
        return [task for task in (self._inbox.task, *self._requests.running) if not task.done()]

    async def _finish(self, grace: float) -> None:
        """Let handlers end, then close the channel."""
        assert self._finished is not None
        try:
            await self._end_handlers(grace)
        finally:  # even if the loop shuts down: a child process must not stay
            self._writing.flush()
            self._writing.end(mute=True)
            try:
                await self._channel.close()
            except Exception:
                log.exception("failed to close the channel")
            finally:
                if not self._finished.done():
                    self._finished.set_result(None)

    async def _end_handlers(self, grace: float) -> None:
        deadline = self._loop.time() + grace
        while (busy := self._busy()) and (left := deadline - self._loop.time()) > 0:
            await asyncio.wait(busy, timeout=left)
        self._requests.cancel_all()
        self._inbox.task.cancel()
        if busy := self._busy():
            await asyncio.wait(busy, timeout=ABORT_GRACE)
        for task in self._busy():
            log.warning("the handler %s ignores its cancellation", task.get_name())
        self._inbox.settle_rest()


def _is_unreadable(event: object) -> bool:
    return isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)

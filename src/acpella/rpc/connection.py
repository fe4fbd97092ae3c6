"""Drives a `Peer` over a `Channel`: runs handlers, resolves calls, holds both sides to their limits."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import CoroutineType, TracebackType
from typing import Any, Self, TypeAlias, TypeVar, overload

from acpella.errors import (
    AcpellaError,
    ConnectionClosed,
    InternalError,
    LocalProtocolError,
    Overloaded,
    RemoteProtocolError,
    RequestCancelled,
    RpcError,
)

from .channel import Channel
from .flow import SMALL_READ, Reading, Turns
from .frame_log import FrameLog
from .framing import Framing
from .limits import Limits
from .message import RequestId
from .peer import CancelRequested, Crash, Failure, Method, Noise, Peer, Reply, Request, Vocabulary

__all__ = ["Connection", "Handler", "current_request"]

log: logging.Logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

Handler: TypeAlias = Callable[[Any], Awaitable[Any] | Any]
"""Takes the parameters; what it returns, or what awaiting that gives, is the result."""

FLUSH_AT = 64 * 1024
"""Bytes of notifications gathered before they are written without waiting for the end of the loop's turn."""

SMALL = 1024
"""Bytes of a request that is not counted; only the number of such ones is bounded."""

BURST = 64
"""Notifications sent in a row before the sender lets other tasks run; keeps concurrent sessions fair."""

ABORT_GRACE = 1.0
"""Seconds that cancelled handlers get to clean up before the connection stops waiting for them."""

current_request: ContextVar[RequestId | None] = ContextVar("acpella_current_request", default=None)
"""In a request handler: the id of the request."""

_notified: ContextVar["Connection | None"] = ContextVar("acpella_notified", default=None)
"""In a notification handler, and in the tasks that it starts: whose it is."""


_afterwards: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("acpella_afterwards", default=())
"""In a request handler: what is to be done once the answer is on its way."""


class _Call:
    """A call of ours that waits for its answer."""

    __slots__ = ("future", "in_order")

    def __init__(self, future: asyncio.Future[Any], *, in_order: bool) -> None:
        self.future = future
        self.in_order = in_order

    def settle(self, outcome: object) -> None:
        if self.future.done():
            return
        if isinstance(outcome, AcpellaError):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class _Settled:
    """A queued answer: it takes effect when the notifications before it have been handled."""

    __slots__ = ("call", "outcome")

    def __init__(self, call: _Call, outcome: object) -> None:
        self.call = call
        self.outcome = outcome


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

        `requests` and `notifications` map method names to handlers. `on_noise` hears of all that arrived
        and was not a message. `framing` None lets the peer's first message decide. A call that is given
        up is cancelled at the peer, unless `is_cancel_useful` says no to its method and parameters.
        """
        self._channel = channel
        self._requests: Mapping[str, Handler] = {} if requests is None else requests
        self._notifications: Mapping[str, Handler] = {} if notifications is None else notifications
        self._on_noise = on_noise
        self._is_cancel_useful = is_cancel_useful
        self._limits = limits
        self._peer = Peer(
            vocabulary,
            requests=self._requests,
            notifications=self._notifications,
            limits=limits,
            framing=framing,
            answer_noise=answer_noise,
        )
        self._frame_log = FrameLog()
        self._calls: dict[RequestId, _Call] = {}
        self._awaited = 0  # calls whose answer does not wait for the queue
        self._stuck_handlers = 0  # calls that the notification handler waits for
        self._running: dict[asyncio.Task[None], RequestId] = {}
        self._running_by_id: dict[RequestId, asyncio.Task[None]] = {}
        self._large: dict[asyncio.Task[None], int] = {}  # bytes of those that are not small
        self._large_bytes = 0

        self._queue: deque[Any] = deque()  # notifications, settled answers, requests, and sizes (int)
        self._queued = 0  # bytes
        self._unfinished = 0  # bytes read since the last event
        self._queued_requests = 0
        self._handling = False  # a notification handler is suspended
        self._wake: asyncio.Future[None] | None = None
        self._pump_task: asyncio.Task[None] | None = None

        self._reading = Reading(channel)
        self._writing_paused = False
        self._writers = Turns()  # who waits for that to end
        self._unread = 0  # bytes written while it was
        self._tick_scheduled = False
        self._burst = 0

        self._opened = False
        self._mute = True  # nothing may be written: not open yet, or the peer is gone
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
        self._pump_task = self._loop.create_task(self._pump(), name="acpella pump")
        self._mute = False
        try:
            await self._channel.open(self, write_high=self._limits.write_high)
        except BaseException as error:
            self._mute = True
            self._pump_task.cancel()
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
        """Stop reading, fail pending calls, wait for handlers, let go of the peer.

        Handlers still running after `grace` seconds (`Limits.close_grace` by default) are cancelled.
        Safe to call twice and from a handler.
        """
        if self._finished is None:
            return
        self._end(ConnectionClosed("the connection was closed by this side", clean=True), grace=grace)
        if asyncio.current_task() not in self._running and asyncio.current_task() is not self._pump_task:
            await self.wait_closed()

    @property
    def handling(self) -> bool:
        """Whether notifications have arrived that are not handled yet."""
        return self._handling or bool(self._queue)

    @property
    def in_handler(self) -> bool:
        """Whether the caller is a notification handler, or a task that one started."""
        return _notified.get() is self

    def last_frames(self, count: int = 20) -> tuple[str, ...]:
        """The last frames in both directions, shortened and without secrets."""
        return self._frame_log.frames(count)

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
        if self._mute or self._writing_paused:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._ready_to_write()
            except TimeoutError:
                raise _overdue(method, timeout) from None
        if self._ending is not None:
            raise self._ending.again()
        call_id = self._peer.call(method, {} if params is None else params)
        call = _Call(self._loop.create_future(), in_order=in_order)
        self._calls[call_id] = call
        if not in_order:
            self._awaited += 1
            if self._queued:
                self._check_reading()
        stuck = self.in_handler
        self._stuck_handlers += stuck
        self._flush()
        timer = None
        if deadline is not None:
            timer = self._loop.call_at(deadline, self._expire, call, method, timeout)
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
                self._flush()
            if not in_order:
                self._awaited -= 1
                if self._queued:
                    self._check_reading()

    async def notify(self, method: Method[P, Any] | str, params: P) -> None:
        """Tell the peer something. Waits only when the peer is far behind with reading.

        Raises:
            ConnectionClosed: the peer went away.
        """
        if self._mute or self._writing_paused:
            await self._ready_to_write()
        unsent = self._peer.notify(method, params)
        self._burst += 1
        if not self._tick_scheduled:  # the first of this turn goes at once, what follows is gathered
            self._tick_scheduled = True
            self._loop.call_soon(self._tick)
            self._flush()
        elif unsent >= FLUSH_AT:
            self._flush()
        if self._burst >= BURST:
            self._burst = 0
            await asyncio.sleep(0)

    def after_answer(self, work: Callable[[], None]) -> None:
        """Do something after the answer to a request, unless it is an error. For async handlers.

        What it sends follows the answer, even if the answer has to wait for the peer to read.
        """
        _afterwards.set((*_afterwards.get(), work))

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent."""
        self._flush()
        await self._until_writable()

    def _expire(self, call: _Call, method: Method[Any, Any] | str, timeout: float | None) -> None:
        if not call.future.done():
            call.future.set_exception(_overdue(method, timeout))

    async def _until_writable(self) -> None:
        while self._writing_paused and not self._mute:
            await self._writers.wait()
        self._writers.wake_next()

    async def _ready_to_write(self) -> None:
        if self._finished is None:
            raise LocalProtocolError("the connection is not open; use `async with`")
        await self._until_writable()
        if self._mute and self._ending is not None:
            raise self._ending.again()

    def _tick(self) -> None:
        self._tick_scheduled = False
        self._burst = 0
        self._flush()

    def _flush(self) -> None:
        if self._peer.unsent:
            data = self._peer.take()
            if self._mute:
                return
            self._frame_log.sent(data)
            if self._writing_paused and self._ending is None:  # an error answer; all else waits
                self._unread += len(data)
                if self._unread > self._limits.write_max:
                    self._end(ConnectionClosed("the peer sends but does not read: too much is waiting"))
                    return
            self._channel.write(data)

    # -- the channel's side (Receiver) ---------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._ending is not None:
            return
        self._frame_log.received(data)
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
            self._flush()  # error answers that the peer gave by itself
        if len(data) < SMALL_READ:
            stream = self._peer.stream_event
            self._reading.small_read(
                of_stream=stream is not None and bool(events) and events[-1].__class__ is stream
            )
        if self._queued >= self._limits.queue_low:
            self._check_reading()

    def pause_writing(self) -> None:
        """The peer is behind with reading."""
        if not self._writing_paused:
            self._writing_paused = True
            self._check_reading()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        if self._writing_paused:
            self._writing_paused = False
            self._unread = 0
            if self._mute:
                self._writers.wake_all()
            else:
                self._writers.wake_next()
            self._check_reading()

    def ended(self, reason: ConnectionClosed) -> None:
        """The peer will send nothing more."""
        if self._ending is None:
            try:
                # of half an answer, why the other half never came is the better error
                self._dispatch([event for event in self._peer.finish() if not _is_unreadable(event)], 0)
                self._flush()
            except Exception as error:
                self._fail(error)
        self._end(reason)

    def _fail(self, error: Exception) -> None:
        """Something here is broken. The peer gets what is ready, and the answers to what it asked before."""
        log.error("failed to read what the peer sent", exc_info=error)
        self.failure = error
        reason = ConnectionClosed("what the peer sent could not be handled; the log says why")
        self._end(reason, listening=True)
        self._flush()

    # -- dispatch ------------------------------------------------------------------------

    def _dispatch(self, events: list[Any], size: int) -> None:
        queue = self._queue
        before = len(queue)
        crash: Exception | None = None
        if self._peer.only_stream:
            queue.extend(events)
            events = []
        for event in events:
            kind = event.__class__
            if kind is Request:
                # behind the notifications that came before it, unless one of those is stuck in its handler
                if queue and not self._handling:
                    self._queued_requests += 1
                    queue.append(event)
                else:
                    self._answer_at_once(event)
            elif kind is Reply:
                self._settle(event.id, event.result)
            elif kind is Failure:
                self._settle(event.id, event.error)
            elif kind is CancelRequested:
                self._cancel(event.id)
            elif kind is Noise:
                self._report(event)
            elif kind is Crash:
                crash = event.error
            else:
                queue.append(event)
        if len(queue) > before:
            queue.append(size)
            self._queued += size
            self._wake_pump()
        if crash is not None:
            raise crash

    def _settle(self, call_id: RequestId, outcome: object) -> None:
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        if call.in_order and (self._queue or self._handling):
            self._queue.append(_Settled(call, outcome))
            self._wake_pump()
        else:
            call.settle(outcome)

    def _report(self, noise: Noise) -> None:
        log.warning("skipped a line that is not a message: %s: %s", noise.reason, noise.excerpt)
        if self._on_noise is not None:
            try:
                self._on_noise(noise)
            except Exception:
                log.exception("on_noise failed")

    # -- notifications ---------------------------------------------------------------------

    def _wake_pump(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _pump(self) -> None:
        """Handles notifications, one after the other."""
        _notified.set(self)
        queue = self._queue
        handlers = self._notifications
        while True:
            while queue:
                item = queue.popleft()
                kind = item.__class__
                if kind is int:  # the size of what came before it
                    self._queued -= item
                    if self._reading.rests:
                        self._check_reading()
                elif kind is _Settled:
                    item.call.settle(item.outcome)
                    await asyncio.sleep(0)  # whoever waited for it goes on before what followed it
                elif kind is Request:
                    self._queued_requests -= 1
                    self._start(item)
                    await asyncio.sleep(0)  # its first step comes before what followed it
                else:
                    try:
                        work = handlers[item.method](item.params)
                        if work is not None and _awaitable(work):
                            await self._handle(work)
                    except asyncio.CancelledError:
                        if self._pump_task is None or self._pump_task.cancelling():
                            raise
                        log.warning("the handler of %s was cancelled", item.method)
                    except Exception:
                        log.exception("the handler of %s failed", item.method)
            if self._ending is not None:
                return
            self._wake = self._loop.create_future()
            await self._wake

    async def _handle(self, work: Awaitable[Any]) -> None:
        # runs only if the handler really waits
        start = self._loop.call_soon(self._start_queued) if self._queued_requests else None
        self._handling = True
        try:
            await work
        finally:
            self._handling = False
            if start is not None:
                start.cancel()

    def _start_queued(self) -> None:
        """A notification handler may wait for one of the requests behind it: start those now."""
        waiting = [item for item in self._queue if item.__class__ is Request]
        rest = [item for item in self._queue if item.__class__ is not Request]
        self._queue.clear()
        self._queue.extend(rest)
        self._queued_requests = 0
        for request in waiting:
            self._start(request)

    # -- requests --------------------------------------------------------------------------

    def _answer_at_once(self, request: Request) -> None:
        """Run a handler that is a plain function without a task, which would cost a turn of the loop."""
        handler = self._requests[request.method]
        if self._writing_paused or self._ending is not None or not _is_plain(handler):
            self._start(request)
            return
        token = current_request.set(request.id)
        try:
            result = handler(request.params)
        except Exception as error:
            self._refuse(request, error)
        else:
            if _awaitable(result):
                self._start(request, result)
                return
            self._peer.answer(request.id, result)
        finally:
            current_request.reset(token)
        self._flush()

    def _refuse(self, request: Request, error: Exception) -> None:
        if isinstance(error, RpcError):
            self._peer.refuse(request.id, error)
        else:
            log.error("the handler of %s failed", request.method, exc_info=error)
            self._peer.refuse(request.id, InternalError())

    def _start(self, request: Request, work: Awaitable[Any] | None = None) -> None:
        if self._mute:
            return
        size = request.size
        if len(self._running) >= self._limits.max_requests or (
            self._large and self._large_bytes + size > self._limits.max_request_bytes
        ):
            self._peer.refuse(request.id, Overloaded())
            self._flush()
            return
        task = self._loop.create_task(self._run(request, work), name=request.method)
        if isinstance(work, CoroutineType):
            task.add_done_callback(lambda _: work.close())  # one that is cancelled first never awaits it
        if not task.done():  # as an eager one may be
            self._running[task] = request.id
            self._running_by_id[request.id] = task
            if size > SMALL:
                self._large[task] = size
                self._large_bytes += size

    async def _run(self, request: Request, work: Awaitable[Any] | None) -> None:
        current_request.set(request.id)
        _notified.set(None)
        _afterwards.set(())
        try:
            result = self._requests[request.method](request.params) if work is None else work
            if _awaitable(result):
                result = await result
            while self._writing_paused and self._ending is None:
                await self._writers.wait()
            if self._writers:
                self._writers.wake_next()
        except Exception as error:
            self._refuse(request, error)
        except asyncio.CancelledError:
            self._peer.refuse(request.id, RequestCancelled())
        except BaseException:
            self._peer.refuse(request.id, InternalError())
            self._flush()
            raise
        else:
            self._peer.answer(request.id, result)
            for step in _afterwards.get():
                step()
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._forget(task)
        self._flush()

    def _forget(self, task: asyncio.Task[Any]) -> RequestId | None:
        """A request was answered. Done by its own task: a callback would cost a turn of the loop."""
        request_id = self._running.pop(task, None)
        if request_id is not None and self._running_by_id.get(request_id) is task:
            del self._running_by_id[request_id]
        if self._large:
            self._large_bytes -= self._large.pop(task, 0)
        return request_id

    def _stop(self, task: asyncio.Task[None]) -> None:
        task.add_done_callback(self._stopped)
        task.cancel()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        request_id = self._forget(task)
        if request_id is not None:  # it never took its first step
            self._peer.refuse(request_id, RequestCancelled())
            self._flush()

    def _cancel(self, request_id: RequestId) -> None:
        task = self._running_by_id.get(request_id)
        if task is not None:
            self._stop(task)
            return
        for item in self._queue if self._queued_requests else ():
            if item.__class__ is Request and item.id == request_id:
                self._queue.remove(item)
                self._queued_requests -= 1
                self._peer.refuse(request_id, RequestCancelled())
                self._flush()
                return

    # -- flow ------------------------------------------------------------------------------

    def _check_reading(self) -> None:
        """Stop or go on reading, as the queue and those who wait for the peer demand."""
        full = self._queued >= self._limits.queue_low
        if full and (self._awaited or self._writing_paused):
            full = self._queued >= self._limits.queue_high
            if full and (self._writing_paused or (self._stuck_handlers and self._handling)):
                self._end(ConnectionClosed("both sides send and neither reads: too much is waiting"))
                return
        self._reading.rest("queue", stop=full)

    # -- the end -----------------------------------------------------------------------------

    def _end(self, reason: ConnectionClosed, *, grace: float | None = None, listening: bool = False) -> None:
        if self._ending is None:
            if not reason.clean:
                reason.frames = self._frame_log.frames()
            self._ending = reason
            self._reading.end()
            self._mute = not (reason.clean or listening)  # one that has only stopped talking may listen
            if self._mute:
                self.resume_writing()  # wakes those who would wait for ever
            elif self._writing_paused:
                self._writers.wake_all()  # answers need not wait any longer
            for call_id in self._peer.forget_calls():
                self._settle(call_id, reason.again())
            for call_id in list(self._calls):
                self._settle(call_id, reason.again())
            self._wake_pump()
            self._finish_task = self._loop.create_task(
                self._finish(self._limits.close_grace if grace is None else grace), name="acpella close"
            )
        elif grace == 0:
            self._abort()

    def _abort(self) -> None:
        for task in list(self._running):
            self._stop(task)

    def _busy(self) -> list[asyncio.Task[None]]:
        assert self._pump_task is not None
        return [task for task in (self._pump_task, *self._running) if not task.done()]

    async def _finish(self, grace: float) -> None:
        """Let handlers end, then let go of the peer."""
        assert self._finished is not None
        try:
            await self._end_handlers(grace)
        finally:  # even if the loop shuts down: a child process must not stay
            self._flush()
            self._mute = True
            self.resume_writing()
            try:
                await self._channel.close()
            except Exception:
                log.exception("failed to close the channel")
            finally:
                if not self._finished.done():
                    self._finished.set_result(None)

    async def _end_handlers(self, grace: float) -> None:
        assert self._pump_task is not None
        deadline = self._loop.time() + grace
        while (busy := self._busy()) and (left := deadline - self._loop.time()) > 0:
            await asyncio.wait(busy, timeout=left)
        self._abort()
        self._pump_task.cancel()
        if busy := self._busy():
            await asyncio.wait(busy, timeout=ABORT_GRACE)
        for task in self._busy():
            log.warning("the handler %s ignores its cancellation", task.get_name())
        while self._queue:  # a stuck notification handler must not hide the end from those who wait
            item = self._queue.popleft()
            if item.__class__ is _Settled:
                item.call.settle(item.outcome)


def _awaitable(value: object) -> bool:
    return value.__class__ is CoroutineType or inspect.isawaitable(value)


def _is_plain(handler: Handler) -> bool:
    code = getattr(handler, "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_COROUTINE


def _overdue(method: Method[Any, Any] | str, timeout: float | None) -> TimeoutError:
    name = method if isinstance(method, str) else method.name
    return TimeoutError(f"{name} was not answered within {timeout:g} s")


def _is_unreadable(event: object) -> bool:
    return isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)

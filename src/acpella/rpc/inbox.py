"""What the peer sent and what must keep its order: notifications, and all that waits behind them."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from .calls import Call
from .events import PeerEvent, Request
from .handlers import Handler, is_awaitable
from .message import RequestId

__all__ = ["Inbox", "handled_inbox"]

log: logging.Logger = logging.getLogger(__name__)

handled_inbox: ContextVar["Inbox | None"] = ContextVar("acpella_handled_inbox", default=None)
"""In a notification handler, and in the tasks that it starts: whose notification it is."""


class _Settled:
    """A queued answer: it takes effect when the notifications before it have been handled."""

    __slots__ = ("call", "outcome")

    def __init__(self, call: Call, outcome: object) -> None:
        self.call = call
        self.outcome = outcome


class Inbox:
    """Handles notifications one after the other, in the order they came.

    A request that came after a notification waits for its handler, unless the handler is suspended: it may
    need the request. An answer to an `in_order` call always waits.
    """

    __slots__ = (
        "_ended",
        "_handlers",
        "_loop",
        "_on_less",
        "_on_request",
        "_queue",
        "_requests",
        "_task",
        "_wake",
        "handling",
        "size",
    )

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        on_request: Callable[[Request], None],
        on_less: Callable[[], None],
    ) -> None:
        """`on_request` starts a request whose turn it is; `on_less` hears that `size` has become less."""
        self._handlers = handlers
        self._on_request = on_request
        self._on_less = on_less
        self._queue: deque[Any] = deque()  # notifications, settled answers, requests, and sizes (int)
        self._requests = 0  # in the queue
        self.size: int = 0
        """Bytes that were read and are not handled yet."""
        self.handling: bool = False
        """Whether a notification handler is suspended."""
        self._ended = False
        self._wake: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        return self.handling or bool(self._queue)

    @property
    def task(self) -> asyncio.Task[None]:
        """What runs the handlers."""
        assert self._task is not None
        return self._task

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name="acpella inbox")

    def end(self) -> None:
        """Nothing more comes: stop when the queue is empty."""
        self._ended = True
        self._rouse()

    # -- in -------------------------------------------------------------------------------

    def put(self, event: PeerEvent) -> None:
        self._queue.append(event)

    def put_all(self, events: list[PeerEvent]) -> None:
        self._queue.extend(events)

    def put_request(self, request: Request) -> bool:
        """Queue a request behind the notifications before it. False: there are none to wait for."""
        if self.handling or not self._queue:
            return False
        self._requests += 1
        self._queue.append(request)
        return True

    def filled(self, size: int) -> None:
        """All that was read at once has been put, `size` bytes of it."""
        self._queue.append(size)
        self.size += size
        self._rouse()

    def settle(self, call: Call, outcome: object) -> None:
        if call.in_order and self:
            self._queue.append(_Settled(call, outcome))
            self._rouse()
        else:
            call.settle(outcome)

    def remove_request(self, request_id: RequestId) -> bool:
        for item in self._queue if self._requests else ():
            if item.__class__ is Request and item.id == request_id:
                self._queue.remove(item)
                self._requests -= 1
                return True
        return False

    def settle_rest(self) -> None:
        """Settle the answers still queued: callers must not wait for a stuck notification handler."""
        while self._queue:
            item = self._queue.popleft()
            if item.__class__ is _Settled:
                item.call.settle(item.outcome)

    # -- out ------------------------------------------------------------------------------

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _run(self) -> None:
        handled_inbox.set(self)
        queue = self._queue
        handlers = self._handlers
        while True:
            while queue:
                item = queue.popleft()
                kind = item.__class__
                if kind is int:  # the size of what came before it
                    self.size -= item
                    self._on_less()
                elif kind is _Settled:
                    item.call.settle(item.outcome)
                    await asyncio.sleep(0)  # whoever waited for it goes on before what followed it
                elif kind is Request:
                    self._requests -= 1
                    self._on_request(item)
                    await asyncio.sleep(0)  # its first step comes before what followed it
                else:
                    try:
                        work = handlers[item.method](item.params)
                        if work is not None and is_awaitable(work):
                            await self._handle(work)
                    except asyncio.CancelledError:
                        if self.task.cancelling():
                            raise
                        log.warning("the handler of %s was cancelled", item.method)
                    except Exception:
                        log.exception("the handler of %s failed", item.method)
            if self._ended:
                return
            self._wake = self._loop.create_future()
            await self._wake

    async def _handle(self, work: Awaitable[Any]) -> None:
        # runs only if the handler really waits
        start = self._loop.call_soon(self._start_requests) if self._requests else None
        self.handling = True
        try:
            await work
        finally:
            self.handling = False
            if start is not None:
                start.cancel()

    def _start_requests(self) -> None:
        """A notification handler may wait for one of the requests behind it: start those now."""
        waiting = [item for item in self._queue if item.__class__ is Request]
        rest = [item for item in self._queue if item.__class__ is not Request]
        self._queue.clear()
        self._queue.extend(rest)
        self._requests = 0
        for request in waiting:
            self._on_request(request)

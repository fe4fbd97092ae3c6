"""The peer's requests: each runs in a task of its own and is answered once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import CoroutineType
from typing import Any

from acpella.errors import InternalError, Overloaded, RequestCancelled, RpcError

from .events import Request
from .handlers import Handler, is_awaitable, is_plain
from .inbox import handled_inbox
from .limits import Limits
from .message import RequestId
from .peer import Peer
from .writing import Writing

__all__ = ["Requests", "after_answer", "current_request"]

log: logging.Logger = logging.getLogger(__name__)

SMALL = 1024
"""Requests of up to this many bytes are not added up; only their number is bounded."""

current_request: ContextVar[RequestId | None] = ContextVar("acpella_current_request", default=None)
"""In a request handler: the id of the request."""

_afterwards: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("acpella_afterwards", default=())
"""In a request handler: what is to be done once the answer is on its way."""


def after_answer(work: Callable[[], None]) -> None:
    """Do something after the answer to the current request, unless that is an error."""
    _afterwards.set((*_afterwards.get(), work))


class Requests:
    """Runs handlers, and gives what they return or raise to the peer."""

    __slots__ = ("_by_id", "_handlers", "_large", "_large_bytes", "_limits", "_peer", "_writing", "running")

    def __init__(self, handlers: Mapping[str, Handler], peer: Peer, writing: Writing, limits: Limits) -> None:
        self._handlers = handlers
        self._peer = peer
        self._writing = writing
        self._limits = limits
        self.running: dict[asyncio.Task[None], RequestId] = {}
        self._by_id: dict[RequestId, asyncio.Task[None]] = {}
        self._large: dict[asyncio.Task[None], int] = {}  # bytes of those that are not small
        self._large_bytes = 0

    def answer(self, request: Request) -> None:
        """Run a handler that is a plain function without a task, which would cost a turn of the loop."""
        handler = self._handlers[request.method]
        if self._writing.paused or self._writing.ending or not is_plain(handler):
            self.start(request)
            return
        token = current_request.set(request.id)
        try:
            result = handler(request.params)
        except Exception as error:
            self._refuse(request, error)
        else:
            if is_awaitable(result):
                self.start(request, result)
                return
            self._peer.answer(request.id, result)
        finally:
            current_request.reset(token)
        self._writing.flush()

    def start(self, request: Request, work: Awaitable[Any] | None = None) -> None:
        """Run a handler in a task; `work` is what it gave, if it was called already."""
        if self._writing.mute:
            return
        size = request.size
        if len(self.running) >= self._limits.max_requests or (
            self._large and self._large_bytes + size > self._limits.max_request_bytes
        ):
            self._peer.refuse(request.id, Overloaded())
            self._writing.flush()
            return
        task = asyncio.get_running_loop().create_task(self._run(request, work), name=request.method)
        if isinstance(work, CoroutineType):
            task.add_done_callback(lambda _: work.close())  # one that is cancelled first never awaits it
        if not task.done():  # as an eager one may be
            self.running[task] = request.id
            self._by_id[request.id] = task
            if size > SMALL:
                self._large[task] = size
                self._large_bytes += size

    def cancel(self, request_id: RequestId) -> bool:
        """Cancel the handler of a request. False: it does not run."""
        task = self._by_id.get(request_id)
        if task is None:
            return False
        self._stop(task)
        return True

    def cancel_all(self) -> None:
        for task in list(self.running):
            self._stop(task)

    async def _run(self, request: Request, work: Awaitable[Any] | None) -> None:
        current_request.set(request.id)
        handled_inbox.set(None)
        _afterwards.set(())
        try:
            result = self._handlers[request.method](request.params) if work is None else work
            if is_awaitable(result):
                result = await result
            await self._writing.until_answerable()
        except Exception as error:
            self._refuse(request, error)
        except asyncio.CancelledError:
            self._peer.refuse(request.id, RequestCancelled())
        except BaseException:
            self._peer.refuse(request.id, InternalError())
            self._writing.flush()
            raise
        else:
            self._peer.answer(request.id, result)
            for step in _afterwards.get():
                step()
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._forget(task)
        self._writing.flush()

    def _refuse(self, request: Request, error: Exception) -> None:
        if isinstance(error, RpcError):
            self._peer.refuse(request.id, error)
        else:
            log.error("the handler of %s failed", request.method, exc_info=error)
            self._peer.refuse(request.id, InternalError())

    def _forget(self, task: asyncio.Task[Any]) -> RequestId | None:
        """A request was answered. Done by its own task: a callback would cost a turn of the loop."""
        request_id = self.running.pop(task, None)
        if request_id is not None and self._by_id.get(request_id) is task:
            del self._by_id[request_id]
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
            self._writing.flush()

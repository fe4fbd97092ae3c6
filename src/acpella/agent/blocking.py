"""The turn for plain functions: the same methods, which wait instead of being awaited."""

import asyncio
import concurrent.futures
import inspect
import threading
from types import TracebackType
from typing import Any, Self

from .turn import Turn

__all__ = ["BlockingTurn", "LoopCalls"]


CANCELLED = "the user cancelled this turn"


class LoopCalls:
    """Runs coroutines on the event loop while a thread waits for them; cancelling the turn ends them."""

    def __init__(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        self._turn = turn
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._running: set[asyncio.Task[Any]] = set()

    @property
    def on_loop(self) -> bool:
        """Whether the caller is the event loop itself, which must not wait."""
        return threading.get_ident() == self._loop_thread

    def wait(self, work: Any) -> Any:
        if self._turn.cancelled:  # then the loop may be closed by now
            work.close()
            raise asyncio.CancelledError(CANCELLED)
        try:
            return asyncio.run_coroutine_threadsafe(self._run(work), self._loop).result()
        except concurrent.futures.CancelledError:  # an Exception, unlike the other: `except` must not eat it
            raise asyncio.CancelledError(CANCELLED) from None

    async def _run(self, work: Any) -> Any:
        if self._turn.cancelled:
            work.close()
            raise asyncio.CancelledError(CANCELLED)
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            return await work
        finally:
            self._running.discard(task)

    async def cancel(self) -> None:
        """End what is running, and wait until it has cleaned up."""
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)


class _Blocking:
    """Wraps an object whose coroutine methods run on the event loop while this thread waits.

    On the event loop itself it is the wrapped object: plain functions may return coroutines.
    """

    _inner: Any
    _calls: LoopCalls

    def __init__(self, inner: Any, calls: LoopCalls) -> None:
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_calls", calls)

    def __getattr__(self, name: str) -> Any:
        return self._wrap(getattr(self._inner, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, _unwrap(value))

    def _wrap(self, value: Any) -> Any:
        if self._calls.on_loop:
            return value
        if inspect.ismethod(value):
            return self._method(value)
        if type(value).__module__.startswith("acpella.agent.") and hasattr(value, "__dict__"):
            return _Blocking(value, self._calls)
        return value

    def _method(self, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            plain = [_unwrap(arg) for arg in args]
            result = method(*plain, **{key: _unwrap(value) for key, value in kwargs.items()})
            return self._wrap(self._calls.wait(result) if inspect.isawaitable(result) else result)

        call.__name__ = method.__name__
        call.__doc__ = method.__doc__
        return call

    def __enter__(self) -> Self:
        self._calls.wait(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.wait(self._inner.__aexit__(kind, error, trace))


class BlockingTurn(_Blocking):
    """What a plain function gets for a `Turn`: `turn.say("hi")`, `with turn.tool("Read") as call: ...`."""

    def __init__(self, turn: Turn, calls: LoopCalls) -> None:
        super().__init__(turn, calls)


def _unwrap(value: Any) -> Any:
    return value._inner if isinstance(value, _Blocking) else value  # pyright: ignore[reportPrivateUsage] - ours

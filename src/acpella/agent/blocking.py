"""The turn for plain functions: the same methods, which wait instead of being awaited."""

import asyncio
import inspect
from types import TracebackType
from typing import Any, Self

from .turn import Turn

__all__ = ["BlockingTurn"]


class _Blocking:
    """Wraps an object whose coroutine methods run on the event loop while this thread waits."""

    def __init__(self, inner: Any, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._turn = turn
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return self._wrap(getattr(self._inner, name))

    def _wrap(self, value: Any) -> Any:
        if inspect.ismethod(value):
            return self._method(value)
        if type(value).__module__.startswith("acpella.agent.") and hasattr(value, "__dict__"):
            return _Blocking(value, self._turn, self._loop)
        return value

    def _method(self, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            plain = [_unwrap(arg) for arg in args]
            result = method(*plain, **{key: _unwrap(value) for key, value in kwargs.items()})
            return self._wrap(self._wait(result) if inspect.isawaitable(result) else result)

        call.__name__ = method.__name__
        call.__doc__ = method.__doc__
        return call

    def _wait(self, work: Any) -> Any:
        if self._turn.cancelled:
            work.close()
            raise asyncio.CancelledError("the user cancelled this turn")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __enter__(self) -> Self:
        self._wait(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait(self._inner.__aexit__(kind, error, trace))


class BlockingTurn(_Blocking):
    """What a plain function gets for a `Turn`: `turn.say("hi")`, `with turn.tool("Read") as call: ...`."""

    def __init__(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(turn, turn, loop)


def _unwrap(value: Any) -> Any:
    return value._inner if isinstance(value, _Blocking) else value  # pyright: ignore[reportPrivateUsage] - ours

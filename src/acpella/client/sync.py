"""The client for programs without an event loop: the same objects, whose methods wait."""

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .connect import connect as connect_async
from .result import Result
from .session import Prompt
from .targets import Target
from .turn import PromptTurn

__all__ = ["ask", "connect"]

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    """The one loop of all blocking clients, in a thread of its own."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="acpella.sync", daemon=True).start()
        return _loop


def _wait(work: Coroutine[Any, Any, T]) -> T:
    future = asyncio.run_coroutine_threadsafe(work, _running_loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


class _Blocking:
    """Wraps an object of the client: coroutine methods wait, turns become iterators."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return repr(self._inner)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not inspect.ismethod(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            plain = [arg._inner if isinstance(arg, _Blocking) else arg for arg in args]  # pyright: ignore[reportPrivateUsage] - ours
            result = value(*plain, **kwargs)
            return _wrap(_wait(result) if inspect.iscoroutine(result) else result)

        return call


class BlockingTurn(_Blocking):
    """A prompt under way: iterate it for updates, or call `wait()` for the result."""

    def __iter__(self) -> Iterator[Any]:
        updates = self._inner.__aiter__()
        try:
            while True:
                try:
                    yield _wait(updates.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            _wait(updates.aclose())

    def wait(self) -> Result:
        """The result, when the turn has ended."""

        async def finish() -> Result:
            return await self._inner

        return _wait(finish())


def _wrap(value: Any) -> Any:
    if isinstance(value, PromptTurn):
        return BlockingTurn(value)
    if type(value).__module__ in ("acpella.client.session", "acpella.client.connect"):
        return _Blocking(value)
    return value


@contextmanager
def connect(target: Target, **options: Any) -> Generator[Any, None, None]:
    """`acpella.connect` for plain `with`. Takes the same options."""

    async def make() -> Any:
        return await connect_async(target, **options).__aenter__()

    agent = _wait(make())
    try:
        yield _Blocking(agent)
    finally:
        _wait(agent.__aexit__(None, None, None))


def ask(target: Target, prompt: Prompt, *, cwd: str = ".", **options: Any) -> Result:
    """Ask an agent one thing and wait for the answer: `acpella.ask("agent.py", "hi").text`."""
    with connect(target, **options) as agent:
        return agent.new_session(cwd=cwd).prompt(prompt).wait()

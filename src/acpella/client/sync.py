"""The client for programs without an event loop: the same objects, whose methods wait.

with acpella.sync.connect("agent.py") as agent:
    session = agent.new_session(".")
    print(session.prompt("hi").text)
    for update in session.prompt("and now?"):
        print(update)
"""

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .agent import ConnectedAgent
from .connect import connect as connect_async
from .result import Result
from .session import ClientSession, Prompt
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
        object.__setattr__(self, "_inner", inner)

    def __repr__(self) -> str:
        return repr(self._inner)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)  # `session.on_update = ...` is meant for the session

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not inspect.ismethod(value):
            return _wrap(value)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = value(*map(_unwrap, args), **{key: _unwrap(arg) for key, arg in kwargs.items()})
            return _wrap(_wait(result) if inspect.iscoroutine(result) else result)

        return call


class BlockingTurn(_Blocking):
    """A prompt: iterate it for updates, or call `wait()` for the result.

    `.text`, `.stop_reason`, `.tool_calls` and the rest of a result are here too: they wait for the end of the
    turn, and while it is iterated they tell what is known so far. Leaving a `with` block or a loop early
    cancels it.
    """

    def __init__(self, inner: PromptTurn) -> None:
        super().__init__(inner)
        inner.how_to_send = "iterate it, call wait(), or read its text"

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

    def __enter__(self) -> "BlockingTurn":
        _wait(self._inner.__aenter__())
        return self

    def __exit__(self, *error: Any) -> None:
        _wait(self._inner.__aexit__(*error))

    def __getattr__(self, name: str) -> Any:
        if name in _OF_RESULTS:
            return getattr(self.result, name)
        return super().__getattr__(name)

    @property
    def result(self) -> Result:
        """What the turn gave, when it has ended; while it is iterated, what is known so far."""
        turn: PromptTurn = self._inner
        return turn.result if turn.is_sent else self.wait()

    def wait(self) -> Result:
        """The result, when the turn has ended."""

        async def finish() -> Result:
            return await self._inner

        return _wait(finish())


_OF_RESULTS = frozenset(
    ("text", "thoughts", "stop_reason", "tool_calls", "plan", "usage", "context", "commands")
)


def _wrap(value: Any) -> Any:
    if isinstance(value, PromptTurn):
        return BlockingTurn(value)
    return _Blocking(value) if isinstance(value, ConnectedAgent | ClientSession) else value


def _unwrap(value: Any) -> Any:
    return value._inner if isinstance(value, _Blocking) else value  # pyright: ignore[reportPrivateUsage] - ours


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

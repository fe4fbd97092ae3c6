"""Runs a prompt handler, whatever kind of function it is."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from functools import partial
from typing import Any, cast

from .blocking import BlockingTurn, LoopCalls
from .current import CURRENT_TURN
from .definition import PromptHandler
from .turn import Turn
from .turn_core import TurnCore

__all__ = ["drive"]


async def drive(handler: PromptHandler, turn: Turn, core: TurnCore) -> None:
    """Run the handler to its end and send what it yields or returns."""
    calls = LoopCalls(turn, asyncio.get_running_loop())
    CURRENT_TURN.set((turn, calls))  # the task that runs this is the turn's own
    try:
        if _is_async(handler):
            await _settle(handler(turn), core)
        else:
            await _settle(await _in_thread(handler, turn, core, calls), core)
    except asyncio.CancelledError:
        await calls.cancel()
        raise
    except SystemExit as error:  # of a library with a command line inside: not the end of the agent
        raise RuntimeError(f"the prompt handler raised SystemExit({error.code!r})") from error


def _is_async(handler: Any) -> bool:
    for function in (handler, getattr(handler, "__call__", None)):  # noqa: B004 - looks at the method itself
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return True
    return False


async def _settle(result: Any, core: TurnCore) -> None:
    if inspect.isasyncgen(result):
        async with aclosing(cast("AsyncGenerator[Any, None]", result)) as items:
            async for item in items:
                await core.emit(item)
    elif inspect.isawaitable(result):
        await core.emit(await result)
    else:
        await core.emit(result)


async def _in_thread(handler: PromptHandler, turn: Turn, core: TurnCore, calls: LoopCalls) -> Any:
    """Run a plain function in a thread of its own; a cancelled turn does not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    blocking = BlockingTurn(turn, calls)

    def tell(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        try:
            result = handler(blocking)
            if inspect.isgenerator(result):
                with closing(cast("Generator[Any, None, None]", result)) as items:
                    for item in items:
                        calls.wait(core.emit(item))
                result = None
            outcome = (result, None)
        except BaseException as error:
            if isinstance(error, StopIteration):  # has no place in a future
                error = RuntimeError("the prompt handler raised StopIteration")
            outcome = (None, error)
        try:
            loop.call_soon_threadsafe(tell, *outcome)
        except RuntimeError:
            pass  # the loop is gone
        del outcome  # an error's traceback has this frame

    # A daemon thread: one that ignores a cancellation must not keep the process alive.
    run = partial(contextvars.copy_context().run, work)
    threading.Thread(target=run, name=f"turn of {turn.session.id}", daemon=True).start()
    return await done

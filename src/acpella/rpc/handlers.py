"""The functions that answer a peer: plain ones, and those that are awaited."""

import inspect
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, TypeAlias

__all__ = ["Handler", "is_awaitable", "is_plain"]

Handler: TypeAlias = Callable[[Any], Awaitable[Any] | Any]
"""Takes the parameters; what it returns, or what awaiting that gives, is the result."""


def is_awaitable(value: object) -> bool:
    return value.__class__ is CoroutineType or inspect.isawaitable(value)


def is_plain(handler: Handler) -> bool:
    """Whether calling the handler is sure to run its code, unlike calling a coroutine function."""
    code = getattr(handler, "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_COROUTINE

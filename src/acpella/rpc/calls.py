"""A call of ours that waits for its answer."""

import asyncio
from typing import Any

from acpella.errors import AcpellaError

from .vocabulary import Method

__all__ = ["Call", "overdue"]


class Call:
    """Waits for its answer; with `in_order`, also for the notifications that came before that."""

    __slots__ = ("future", "in_order")

    def __init__(self, future: asyncio.Future[Any], *, in_order: bool) -> None:
        self.future: asyncio.Future[Any] = future
        self.in_order: bool = in_order

    def settle(self, outcome: object) -> None:
        if self.future.done():
            return
        if isinstance(outcome, AcpellaError):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)

    def expire(self, method: Method[Any, Any] | str, timeout: float | None) -> None:
        if not self.future.done():
            self.future.set_exception(overdue(method, timeout))


def overdue(method: Method[Any, Any] | str, timeout: float | None) -> TimeoutError:
    name = method if isinstance(method, str) else method.name
    return TimeoutError(f"{name} was not answered within {timeout:g} s")

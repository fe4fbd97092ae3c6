"""The tasks of a background process: each is waited for, or ended with the process."""

import asyncio
import logging
from collections.abc import Awaitable

__all__ = ["Tasks"]

log: logging.Logger = logging.getLogger(__name__)


class Tasks:
    """Runs work that nobody awaits. What it raises goes to the log."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(_quietly(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in list(self._running):
            task.cancel()


async def _quietly(work: Awaitable[None]) -> None:
    try:
        await work
    except Exception:
        log.exception("a task of the daemon failed")

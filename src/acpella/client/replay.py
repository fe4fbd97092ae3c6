"""Finds the end of a replay: some agents answer `session/load` before they have replayed everything."""

import asyncio
from collections.abc import Callable

__all__ = ["until_quiet"]

QUIET = 0.05
"""Seconds without an update after the answer, for a replay to count as complete. Every load takes so long."""

LATE_QUIET = 0.25
"""The same once updates have come after the answer: this agent takes its time."""

SILENT_QUIET = 0.3
"""The same if nothing came before the answer: nothing was said in the session, or all of it follows."""

REPLAY_WITHIN = 10.0
"""Seconds after which a session counts as loaded, come what may: some agents are never quiet."""


async def until_quiet(count: Callable[[], int], *, busy: Callable[[], bool] = lambda: False) -> None:
    """Wait for the rest of a replay. `count` counts updates, `busy` says whether some are not handled yet."""
    loop = asyncio.get_running_loop()
    before, since = count(), loop.time()
    deadline, needed = since + REPLAY_WITHIN, QUIET if before else SILENT_QUIET
    while loop.time() < deadline:
        await asyncio.sleep(QUIET)
        if count() != before or busy():
            before, since, needed = count(), loop.time(), LATE_QUIET
        elif loop.time() - since >= needed:
            return

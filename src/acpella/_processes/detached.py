"""Ending what has left the group of a process: commands in sessions of their own."""

import asyncio
from typing import Protocol

__all__ = ["end_detached"]

GRACE = 0.5
"""Seconds to exit after SIGTERM, before SIGKILL."""

POLL_TIME = 0.02
"""Seconds until the second look whether they are gone; only polling tells."""


class _Tree(Protocol):
    """A `ProcessTree`."""

    def note_descendants(self) -> None: ...
    def terminate_detached(self) -> bool: ...
    def kill_detached(self) -> bool: ...
    def detached_run(self) -> bool: ...


async def end_detached(tree: _Tree) -> None:
    """End those that were noted and still run, in steps."""
    deadline = asyncio.get_running_loop().time() + GRACE
    pause = POLL_TIME
    try:
        runs = tree.terminate_detached()
        while runs and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(pause)
            pause *= 1.5
            runs = tree.detached_run()
    finally:
        tree.note_descendants()  # what they have started since
        tree.kill_detached()

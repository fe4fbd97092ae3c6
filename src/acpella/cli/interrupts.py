"""Ctrl-C: the first cancels, the second ends everything at once."""

import asyncio
import contextlib
import os
import signal
import threading
from typing import Any

from . import exits

__all__ = ["Interrupts"]

AT_ONCE = 0.6
"""Seconds that a second Ctrl-C leaves for tidying up."""


class Interrupts:
    """Watches Ctrl-C for as long as the event loop runs. Make it inside the program's main task."""

    def __init__(self) -> None:
        self.asked = False
        self.cancelled = False
        """Somebody cancelled the turn, here or from another shell."""
        self.code = exits.CANCELLED
        self.turn: Any = None
        """The turn that the first Ctrl-C cancels; without one it ends the program."""
        self.channel: Any = None
        """To the agent; a child process dies with the second Ctrl-C."""
        main = asyncio.current_task()
        assert main is not None
        self._main = main
        self._tasks: list[asyncio.Task[Any]] = []
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
            loop.add_signal_handler(signal.SIGTERM, self._terminate, signal.SIGTERM)
            loop.add_signal_handler(signal.SIGHUP, self._terminate, signal.SIGHUP)
        except NotImplementedError:
            pass  # Windows: KeyboardInterrupt ends the program

    def _interrupt(self) -> None:
        if self.asked:
            self._end_now()
            return
        self.asked = True
        if self.turn is None:
            self._main.cancel()
        else:
            self.cancel_turn()

    def note_cancelled(self) -> None:
        """The turn was cancelled elsewhere: some agents call a turn so that only was refused something."""
        self.cancelled = True

    def cancel_turn(self) -> None:
        """Another shell wants the turn to end."""
        self.cancelled = True
        if self.turn is not None:
            self._tasks.append(asyncio.get_running_loop().create_task(self._cancel()))

    def _terminate(self, number: int) -> None:
        self.asked = True
        self.code = 128 + number
        self._end_now()

    def _end_now(self) -> None:
        pid = getattr(self.channel, "pid", None)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # before it is reaped, so the number is still its own
        self._main.cancel()
        late = threading.Timer(AT_ONCE, os._exit, [self.code])
        late.daemon = True
        late.start()

    async def _cancel(self) -> None:
        from acpella.errors import AcpellaError

        try:
            await self.turn.cancel()
        except (AcpellaError, TimeoutError):
            pass  # the turn itself tells

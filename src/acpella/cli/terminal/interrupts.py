"""What ends a command: Ctrl-C cancels, a second one ends everything; SIGTERM and SIGHUP end it in order."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from acpella._processes import HANGUP, on_signals

from .. import exits

if TYPE_CHECKING:
    from acpella.rpc import PeerProcess

__all__ = ["Interrupts"]

AT_ONCE = 0.6
"""Seconds that a second Ctrl-C leaves for tidying up."""

CANCEL_WITHIN = 2.0
"""Seconds for the agent to stop its turn and its commands when this command is told to end."""

LEAVE_WITHIN = 7.0
"""Seconds for the whole end in order; whoever sent SIGTERM may send SIGKILL after ten."""


class Interrupts:
    """Watches Ctrl-C for as long as the event loop runs. Make it inside the program's main task."""

    def __init__(self) -> None:
        self.asked: bool = False
        self.cancelled: bool = False
        """Somebody cancelled the turn, here or from another shell."""
        self.code: int = exits.CANCELLED
        self.turn: Any = None
        """The turn that the first Ctrl-C cancels; without one it ends the program."""
        self.process: PeerProcess | None = None
        """The agent's; it dies with the second Ctrl-C."""
        main = asyncio.current_task()
        assert main is not None
        self._main = main
        self._tasks: list[asyncio.Task[Any]] = []
        self._pressed = 0
        self._leaving = False
        ending = (signal.SIGTERM, *HANGUP)
        if not on_signals((signal.SIGINT,), self._interrupt) or not on_signals(ending, self._terminate):
            return  # Windows: KeyboardInterrupt ends the program
        # These run even if the loop is busy and calls none of those above; it is still woken up.
        self._handle_at_once(signal.SIGINT, self._press)
        for number in ending:
            self._handle_at_once(number, self._on_termination)

    # -- without the event loop ------------------------------------------------------------------

    @staticmethod
    def _handle_at_once(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
        signal.signal(number, handler)
        if sys.platform != "win32":
            signal.siginterrupt(number, False)

    def _press(self, number: int, frame: object) -> None:
        self._pressed += 1
        if self._pressed == 2 or (self._pressed == 1 and self._leaving):
            self._end_at_once()
        elif self._pressed > 2:
            os._exit(self.code)

    def _on_termination(self, number: int, frame: object) -> None:
        if self._leaving:
            self._end_at_once()
            return
        self._leaving = self.asked = True
        self.code = 128 + number
        self._exit_after(LEAVE_WITHIN)

    def _end_at_once(self) -> None:
        self._kill()
        self._exit_after(AT_ONCE)

    def _exit_after(self, seconds: float) -> None:
        late = threading.Timer(seconds, self._exit)
        late.daemon = True
        late.start()

    def _exit(self) -> None:
        self._kill()
        os._exit(self.code)

    def _kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    # -- with it ---------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        if self.asked:
            self._main.cancel()
            return
        self.asked = True
        if self.turn is None:
            self._main.cancel()
        else:
            self.cancel_turn()

    def note_cancelled(self) -> None:
        """Somebody else cancelled the turn. The stop reason is no proof: a refusal may look the same."""
        self.cancelled = True

    def cancel_turn(self, *, within: float | None = None) -> None:
        """Cancel the turn, if there is one; another shell may want that, too."""
        self.cancelled = True
        if self.turn is not None:
            self._tasks.append(asyncio.get_running_loop().create_task(self._cancel(self.turn, within)))

    def _terminate(self) -> None:
        if self.turn is None:
            self._main.cancel()
        else:  # only the agent can end its commands cleanly; the program ends after the turn
            self.cancel_turn(within=CANCEL_WITHIN)

    async def _cancel(self, turn: Any, within: float | None) -> None:
        from acpella.errors import AcpellaError

        try:
            await turn.cancel(within=within)
        except (AcpellaError, TimeoutError):
            pass  # the turn itself tells

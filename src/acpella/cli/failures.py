"""What went wrong, said to the person at the terminal."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from acpella.errors import AcpellaError, AuthRequired, ConnectionClosed, RpcError

from . import exits
from .terminal.output import say

__all__ = ["guarded", "report"]

DOCTOR = (
    "\n`acpella agents doctor AGENT` checks it step by step; `acpella run --verbose` shows its whole stderr."
)


def report(error: BaseException, *, silent: str = "", doctor: bool = True, agent: str = "-a AGENT") -> int:
    """Tell it, and give the exit code; `silent` stands for an error without a text.

    `agent` is how the command line names the agent, for what to do about it.
    """
    if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.DONE
    if isinstance(error, RpcError):
        from .daemon.errors import from_wire

        error = from_wire(error)
    died = isinstance(error, ConnectionClosed) and (error.exit_code is not None or error.signal)
    more = DOCTOR if died and doctor else ""
    if isinstance(error, AuthRequired):
        more = f"\nTo log in: `{' '.join(('acpella chat', agent)).rstrip()}`, and there /login"
    say((str(error) or silent or type(error).__name__) + more)
    return exits.code_for(error)


def guarded(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command that talks to an agent; gives the exit code."""

    async def watched() -> int:
        from .terminal.alerts import alerts_to

        with alerts_to(say, verbose=False):
            return await work()

    try:
        return asyncio.run(watched())
    except (AcpellaError, TimeoutError, OSError, ValueError) as error:
        return report(error)
    except KeyboardInterrupt:
        return exits.CANCELLED

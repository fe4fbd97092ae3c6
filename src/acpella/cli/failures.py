"""What went wrong, said to the person at the terminal."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from acpella.errors import AcpellaError, AuthRequired, ConnectionClosed, RpcError, TransportError

from . import exits
from .file_errors import explain
from .terminal.output import say

__all__ = ["guarded", "report", "without_stderr"]

DOCTOR = "\n`acpella agents doctor AGENT` checks it step by step"
WHOLE_STDERR = "; `acpella run --verbose` shows its whole stderr"


def report(
    error: BaseException,
    *,
    silent: str = "",
    doctor: bool = True,
    verbose: bool = False,
    agent: str = "-a AGENT",
) -> int:
    """Print the error and return the exit code; `silent` is printed for an error without a text.

    `verbose` is whether the user asked to see stderr; `agent` is how the command line names the agent. Both
    decide what to advise.
    """
    if isinstance(error, BrokenPipeError):  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.DONE
    if isinstance(error, RpcError):
        from .daemon.errors import from_wire

        error = from_wire(error)
    died = isinstance(error, ConnectionClosed) and (error.exit_code is not None or error.signal)
    more = DOCTOR + ("." if verbose else f"{WHOLE_STDERR}.") if died and doctor else ""
    if isinstance(error, AuthRequired):
        more = f"\nTo log in: `{' '.join(('acpella chat', agent)).rstrip()}`, and there /login"
    say((explain(error) or silent or type(error).__name__) + more)
    return exits.code_for(error)


def without_stderr(error: AcpellaError) -> AcpellaError | TimeoutError:
    """The same error for somebody who has already seen what the agent wrote to its stderr."""
    if isinstance(error, RpcError):
        from .daemon.errors import from_wire

        shortened = from_wire(error)
    else:
        shortened = error
    if isinstance(shortened, ConnectionClosed | TransportError):
        shortened.stderr_tail = ""
    return shortened


def guarded(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command that talks to an agent; returns the exit code."""

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

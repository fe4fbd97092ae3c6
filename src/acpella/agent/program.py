"""An agent as a program: it speaks on stdin and stdout, ends on signals, and with an exit code."""

import asyncio
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Awaitable, Callable

from .definition import Definition

__all__ = ["run_program", "stop_on_signals"]

log = logging.getLogger(__name__)

EXIT_GRACE = 0.3
"""Seconds for what a handler has left running, tasks and threads, to end with the agent."""

READING_FAILED = 70
"""Exit code after a fault of our own, as sysexits.h has it: an editor must not take it for a normal end."""


def run_program(
    definition: Definition,
    serve: Callable[[], Awaitable[Exception | None]],
    close: Callable[[], Awaitable[None]],
) -> None:
    """Serve, then close. Raises `SystemExit` when a fault of acpella's own ended it."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            f"{definition.name} speaks ACP on stdin and stdout, for an editor to start. To try it here: "
            f'acpella run -a {shlex.quote(shlex.join(sys.argv))} "hi"\n'
        )
    exit_codes: list[int] = []
    deadline = threading.Timer(EXIT_GRACE, _leave_behind, args=[exit_codes])
    deadline.daemon = True

    async def run() -> None:
        try:
            if await serve() is not None:
                where = "" if definition.log_file is None else f" The log says why: {definition.log_file}"
                sys.stderr.write(
                    f"{definition.name} had to stop: it failed to read a message of the editor.{where}\n"
                )
                exit_codes.append(READING_FAILED)
        finally:
            await close()
            deadline.start()

    try:
        asyncio.run(run())
    finally:
        deadline.cancel()
    if exit_codes:
        raise SystemExit(exit_codes[0])


def _leave_behind(exit_codes: list[int]) -> None:
    """A task or a thread of a handler does not end, and would keep the process alive."""
    log.warning("a prompt handler has left something running; ending without it")
    logging.shutdown()
    os._exit(exit_codes[0] if exit_codes else 0)


def stop_on_signals(shutdown: Callable[[], Awaitable[None]]) -> None:
    """On SIGINT and SIGTERM, end turns and the connection."""
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Future[None]] = []

    def stop() -> None:
        stopping.append(asyncio.ensure_future(shutdown()))

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            pass

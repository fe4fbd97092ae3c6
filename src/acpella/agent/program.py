"""An agent as a program: it speaks on stdin and stdout, ends on signals, and with an exit code."""

import asyncio
import logging
import shlex
import signal
import sys
import threading
from collections.abc import Awaitable, Callable

from acpella.sessions import quick_thread_switches

from .daemon_threads import DaemonThreads
from .definition import Definition

__all__ = ["run_program", "stop_on_signals"]

log: logging.Logger = logging.getLogger(__name__)

EXIT_GRACE = 0.3
"""Seconds for tasks that a handler has left running to end with the agent."""

READING_FAILED = 70
"""Exit code after a fault of our own, as sysexits.h has it: an editor must not take it for a normal end."""


def run_program(
    definition: Definition,
    serve: Callable[[], Awaitable[Exception | None]],
    close: Callable[[], Awaitable[None]],
) -> None:
    """Serve, then close. What a handler has left running is named in the log and left behind.

    Raises:
        SystemExit: a fault of acpella's own ended it.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            f"{definition.name} speaks ACP on stdin and stdout, for an editor to start. To try it here: "
            f'acpella run -a {shlex.quote(shlex.join(sys.argv))} "hi"\n'
        )
    threads = DaemonThreads()
    before = set(threading.enumerate())

    left: list[asyncio.Task[object]] = []

    async def run() -> Exception | None:
        asyncio.get_running_loop().set_default_executor(threads)
        try:
            return await serve()
        finally:
            await close()
            left.extend(await _end_tasks())

    runner = asyncio.Runner()
    with quick_thread_switches():
        try:
            failure = runner.run(run())
        finally:
            _close(runner, left)
    _tell_left(left, [thread for thread in threading.enumerate() if thread not in before | threads.idle])
    if failure is not None:
        where = "" if definition.log_file is None else f" The log says why: {definition.log_file}"
        sys.stderr.write(
            f"{definition.name} had to stop: it failed to read a message of the editor.{where}\n"
        )
        raise SystemExit(READING_FAILED)


async def _end_tasks() -> set[asyncio.Task[object]]:
    """Cancel what still runs on the loop; returns those that ignore it."""
    tasks: set[asyncio.Task[object]] = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return (await asyncio.wait(tasks, timeout=EXIT_GRACE))[1] if tasks else set()


def _close(runner: asyncio.Runner, left: list[asyncio.Task[object]]) -> None:
    if not left:
        runner.close()
        return
    # `Runner.close` would wait for these tasks for ever. Nor may they be collected when the interpreter ends:
    # they would write errors to stderr. What the frame of a daemon thread holds is never touched again.
    threading.Thread(target=_hold, args=[left], name=_HOLDER, daemon=True).start()
    asyncio.set_event_loop(None)
    runner.get_loop().close()


_HOLDER = "acpella left behind"


def _hold(left: object) -> None:
    threading.Event().wait()


def _tell_left(left: list[asyncio.Task[object]], threads: list[threading.Thread]) -> None:
    tasks = sorted(task.get_name() for task in left)
    if tasks:
        log.warning("a handler ignores its end; these tasks are left behind: %s", ", ".join(tasks))
    leaving = [thread.name for thread in threads if thread.daemon and thread.name != _HOLDER]
    if leaving:
        log.warning("a handler is still at work; these threads are left behind: %s", ", ".join(leaving))
    staying = [thread.name for thread in threads if not thread.daemon]
    if staying:
        log.warning("the agent has ended, but its process waits for these threads: %s", ", ".join(staying))


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

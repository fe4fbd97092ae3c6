"""Records a program that another program talks to: the tap takes its place.

Three processes: the tap passes bytes on and nothing else; the program; and a recorder that does all the work
of reading, redacting and writing, with low priority and when traffic is low. Should the tap be killed, the
recorder writes what it has, and a guard ends the program.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from acpella.errors import TransportError

from .format import new_header
from .interceptor import Interceptor
from .queue import Chunk, Lost, Note, Queue
from .writer import Filters, Writer, open_private

assert sys.platform != "win32"  # like `standin`, which type checkers skip on Windows

from acpella.transport.standin import StandIn, widen  # noqa: E402

from .backlog import Backlog, Ending, packed  # noqa: E402

__all__ = ["record_program"]

PATIENCE = 5.0
"""Seconds for the recorder to write what it has when the program has ended."""

NICENESS = 10
"""The niceness of the recorder while there is a conversation, which the recording must not slow down."""

PIPE_SIZE = 1024 * 1024
"""Bytes that the pipe to the recorder holds, so that the tap need not wait while the recorder is busy."""

HANDED_OVER = 256
"""Items in one write to the recorder, each in two pieces. Systems accept about 1000 pieces."""

PID_SIZE = 8
"""Bytes in which the recorder's process id is told."""

MAX_DESCRIPTORS = 65536
"""One more than the highest file descriptor that the recorder may have inherited."""


def record_program(
    command: Sequence[str],
    path: str | os.PathLike[str],
    *,
    filters: Callable[[], Filters],
    interceptor: Interceptor | None = None,
) -> tuple[int, str]:
    """Run a program in place of this one until it ends, and record its input and output.

    Returns its exit code, or minus the number of the signal that ended it, and what went wrong with the
    recording. `interceptor` may hold back and change messages. Must be called before any thread is started.

    Raises:
        OSError: the file cannot be written.
        TransportError: the program cannot be started; the recording says so, too.
    """
    recorder = _Recorder(open_private(path), list(command), filters)
    queue = Queue()
    feeder = threading.Thread(target=recorder.feed, args=(queue,), daemon=True)
    feeder.start()
    stand_in = StandIn(command, seen=queue.put, gates=None if interceptor is None else interceptor.gates)
    try:
        stand_in.start()
    except TransportError as error:
        recorder.end(queue, feeder, {"exit": None, "error": str(error)})
        raise
    if interceptor is not None:
        interceptor.begin(queue.note)
    status = stand_in.run()
    if interceptor is not None:
        interceptor.end()
    ending = {"code": status} if status >= 0 else {"signal": -status}
    return status, recorder.end(queue, feeder, {"exit": ending})


class _Recorder:
    """The process that writes the recording, and the pipe to it."""

    def __init__(self, file: BinaryIO, command: list[str], filters: Callable[[], Filters]) -> None:
        source, self._target = os.pipe()
        widen(source, PIPE_SIZE)
        self._report, report = os.pipe()
        began = time.monotonic()
        # Nobody's child: whoever ends the tap with all that it started must leave it to write its file.
        parent = os.fork()
        if parent == 0:
            try:
                os.setsid()
                if (recorder := os.fork()) != 0:
                    os.write(report, recorder.to_bytes(PID_SIZE, "little"))
                else:
                    _be_alone({source, report, file.fileno()})
                    _record(source, report, file, command, filters(), began)
            finally:
                os._exit(0)
        os.waitpid(parent, 0)
        self._pid = int.from_bytes(os.read(self._report, PID_SIZE), "little")
        os.close(source)
        os.close(report)
        file.close()
        self._ending: dict[str, Any] = {}

    def feed(self, queue: Queue) -> None:
        """Pass what is queued to the recorder, and the ending once the queue is closed."""
        try:
            while (items := queue.take()) is not None:
                self._send(items)
            _write(self._target, b"".join(packed(Ending(self._ending, time.monotonic()))))
        except OSError:  # the recorder is gone; the conversation goes on without it
            while queue.take() is not None:
                pass

    def _send(self, items: list[Chunk | Lost | Note]) -> None:
        for start in range(0, len(items), HANDED_OVER):
            pieces = [piece for item in items[start : start + HANDED_OVER] for piece in packed(item)]
            sent = os.writev(self._target, pieces)
            if sent < sum(map(len, pieces)):
                _write(self._target, b"".join(pieces)[sent:])

    def end(self, queue: Queue, feeder: threading.Thread, ending: dict[str, Any]) -> str:
        """Let the feeder pass on what is left, and the ending. Returns what went wrong."""
        self._ending = ending
        _set_niceness(self._pid, 0)  # the conversation is over, and somebody may wait for the file
        queue.close()
        feeder.join(PATIENCE)
        if feeder.is_alive():  # it still uses the pipe
            return "the recorder is too slow; the end of the recording is missing"
        os.close(self._target)
        ready, _, _ = select.select([self._report], [], [], PATIENCE)
        if not ready:
            return "the recorder is still writing; the file is complete when its last line says `end`"
        return os.read(self._report, 4096).decode("utf-8", "replace")


def _be_alone(descriptors: set[int]) -> None:
    """Detach the recorder from signals and the client's pipes: whoever reads such a pipe must see its end,
    even while the recorder still runs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    bounds = [2, *sorted(descriptors), MAX_DESCRIPTORS]
    for below, above in pairwise(bounds):
        os.closerange(below + 1, above)
    with suppress(OSError):
        os.nice(NICENESS)
    _set_niceness(os.getpid(), NICENESS)


def _set_niceness(session: int, niceness: int) -> None:
    """Set the niceness of a session. With Linux autogroups, that of a process counts only inside it."""
    for _ in range(3):
        try:
            Path(f"/proc/{session}/autogroup").write_text(str(niceness), encoding="ascii")
            return
        except BlockingIOError:  # Linux allows one change per tenth of a second, over all users
            time.sleep(0.1)
        except OSError:
            return


def _record(
    source: int, report: int, file: BinaryIO, command: list[str], filters: Filters, began: float
) -> None:
    problem = "the recorder failed"
    try:
        header = new_header("tap", {"command": command, "cwd": os.getcwd()}, redacted=filters.name)
        writer = Writer(file, header, filters, began=began)
        end = Ending({"exit": None, "error": "the tap was killed"}, began)
        backlog = Backlog()
        threading.Thread(target=backlog.fill, args=(source,), daemon=True).start()
        while (item := backlog.take()) is not None:
            if isinstance(item, Ending):
                end = item
                break
            end = Ending(end.info, item.at)
            writer.put(item)
            if backlog.empty:
                writer.flush()
        writer.end(end.at, **end.info)
        problem = "" if writer.error is None else f"the recording stopped: {writer.error}"
    except Exception as error:  # whatever it is, it must be reported to the user
        problem = f"the recording stopped: {error!r}"
        raise
    finally:
        _write(report, problem.encode())


def _write(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]

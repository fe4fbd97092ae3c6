"""Records a program that somebody else talks to: the tap stands in its place.

Three processes: the tap passes bytes on and nothing else; the program; and a recorder that does all the work
of reading, redacting and writing, with lower priority. Should the tap be killed, the recorder writes what it
has, and a guard ends the program.
"""

import json
import os
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

from acpella.errors import TransportError
from acpella.local.guard import Guard

from .format import Direction, new_header
from .hand import Hand
from .queue import Chunk, Lost, Note, Queue
from .writer import Filters, Writer, open_private

assert sys.platform != "win32"  # as the module that it stands on, which type checkers skip there

from acpella.transport.standin import StandIn  # noqa: E402

__all__ = ["record_program"]

PATIENCE = 5.0
"""Seconds for the recorder to write what it has when the program has ended."""

NICENESS = 10
"""How far the recorder steps back: the conversation must not be slower than without it."""

_HEAD = struct.Struct("<BdI")
_KINDS: tuple[Direction, ...] = ("out", "in", "err")
_LOST = 8  # added to a kind: so many frames were lost
_END = 16
_NOTE = 32  # added to a kind: a message was changed; JSON, then the message


def record_program(
    command: Sequence[str],
    path: str | os.PathLike[str],
    *,
    filters: Callable[[], Filters],
    hand: Hand | None = None,
) -> tuple[int, str]:
    """Run a program in this one's place until it ends, and record what it says and hears.

    Gives its exit code, or minus the number of the signal that ended it, and what went wrong with the
    recording. `hand` may hold and change what passes. Must be called before there are threads.

    Raises:
        OSError: the file cannot be written.
        TransportError: the program cannot be started; the recording says so, too.
    """
    recorder = _Recorder(open_private(path), list(command), filters)
    queue = Queue()
    feeder = threading.Thread(target=recorder.feed, args=(queue,), daemon=True)
    feeder.start()
    stand_in = StandIn(command, seen=queue.put, gates=None if hand is None else hand.gates)
    try:
        guard = Guard(stand_in.start())
    except TransportError as error:
        recorder.end(queue, feeder, {"exit": None, "error": str(error)})
        raise
    if hand is not None:
        hand.begin(queue.note)
    status = stand_in.run()
    if hand is not None:
        hand.end()
    guard.stop()
    ending = {"code": status} if status >= 0 else {"signal": -status}
    return status, recorder.end(queue, feeder, {"exit": ending})


class _Recorder:
    """The process that writes, and the way to it."""

    def __init__(self, file: BinaryIO, command: list[str], filters: Callable[[], Filters]) -> None:
        source, self._target = os.pipe()
        self._report, report = os.pipe()
        began = time.monotonic()
        if os.fork() == 0:
            try:
                os.close(self._target)
                os.close(self._report)
                _be_alone()
                _record(source, report, file, command, filters(), began)
            finally:
                os._exit(0)
        os.close(source)
        os.close(report)
        file.close()
        self._ending: dict[str, Any] = {}

    def feed(self, queue: Queue) -> None:
        """Give what waits in the queue to the recorder, and the last line once the queue is closed."""
        try:
            while (items := queue.take()) is not None:
                for item in items:
                    self._send(item)
            data = json.dumps(self._ending).encode()
            _write(self._target, _HEAD.pack(_END, time.monotonic(), len(data)) + data)
        except OSError:  # it is gone; the conversation goes on without it
            while queue.take() is not None:
                pass

    def _send(self, item: Chunk | Lost | Note) -> None:
        kind = _KINDS.index(item.direction)
        if isinstance(item, Lost):
            _write(self._target, _HEAD.pack(kind + _LOST, item.at, item.frames))
        elif isinstance(item, Note):
            about = json.dumps({**item.info, "how": item.how}).encode()
            data = len(about).to_bytes(4, "little") + about + item.line
            _write(self._target, _HEAD.pack(kind + _NOTE, item.at, len(data)) + data)
        else:
            _write(self._target, _HEAD.pack(kind, item.at, len(item.data)) + item.data)

    def end(self, queue: Queue, feeder: threading.Thread, ending: dict[str, Any]) -> str:
        """Let the feeder write what is left, and the last line. Returns what went wrong."""
        self._ending = ending
        queue.close()
        feeder.join(PATIENCE)
        if feeder.is_alive():  # the pipe is its own until it is done
            return "the disk is too slow; the end of the recording is missing"
        os.close(self._target)
        ready, _, _ = select.select([self._report], [], [], PATIENCE)
        if not ready:
            return "the disk is too slow; the recording may be incomplete for a while"
        return os.read(self._report, 4096).decode("utf-8", "replace")


def _be_alone() -> None:
    """Neither the terminal's signals nor the client's pipes are the recorder's: they end without it."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    with suppress(OSError):
        os.nice(NICENESS)


def _record(
    source: int, report: int, file: BinaryIO, command: list[str], filters: Filters, began: float
) -> None:
    problem = "the recorder failed"
    try:
        header = new_header("tap", {"command": command, "cwd": os.getcwd()}, redacted=filters.name)
        writer = Writer(file, header, filters, began=began)
        end: dict[str, Any] = {"exit": None, "error": "the tap was killed"}
        at = began
        with os.fdopen(source, "rb", buffering=1024 * 1024) as stream:
            while len(head := stream.read(_HEAD.size)) == _HEAD.size:
                kind, at, size = cast("tuple[int, float, int]", _HEAD.unpack(head))
                if kind == _END:
                    end = json.loads(stream.read(size))
                elif kind >= _NOTE:
                    data = stream.read(size)
                    cut = 4 + int.from_bytes(data[:4], "little")
                    about: dict[str, Any] = json.loads(data[4:cut])
                    writer.note_change(_KINDS[kind - _NOTE], about.pop("how"), data[cut:], at, **about)
                    writer.flush()
                elif kind >= _LOST:
                    writer.lose(_KINDS[kind - _LOST], size, at)
                else:
                    writer.feed(_KINDS[kind], stream.read(size), at)
                    if not select.select([source], [], [], 0)[0]:
                        writer.flush()
        writer.end(at, **end)
        problem = "" if writer.error is None else f"the recording stopped: {writer.error}"
    except Exception as error:  # whatever it is, the person who reads the file must know
        problem = f"the recording stopped: {error!r}"
        raise
    finally:
        _write(report, problem.encode())


def _write(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]

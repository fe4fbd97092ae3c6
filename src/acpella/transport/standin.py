"""Stands in a program's place: starts it, and passes on bytes, signals and how it ended.

Threads with blocking reads and writes, no event loop: inherited descriptors keep their flags, and a byte that
comes is written on at once. Who looks at the bytes only takes note of them before that. A gate may keep them
back; one that is open costs nothing.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from acpella._processes import Guard, ProcessTree, inherited_environment
from acpella.errors import TransportError

from .pipe import Pipe, PipeGate, Seen, Stream, close_descriptor
from .process import why_not_started

assert sys.platform != "win32"  # type checkers skip the rest there; `acpella record` says what to do instead

__all__ = ["StandIn", "widen"]

READ_SIZE = 256 * 1024
"""Bytes asked for by one read."""

PIPE_SIZE = 256 * 1024
"""Bytes that the program's pipes hold, so that it need not wait for us with each message."""

BULK_SIZE = 16 * 1024
"""Bytes of one read that are a stream, not a message that somebody waits for."""

BULK_PAUSE = 0.0005
"""Seconds in which more of a stream gathers, so that it is passed on with fewer wake-ups of its reader. The
pipe holds what comes meanwhile; in twice the time, a quick agent fills it and has to wait."""

OUTPUT_AFTER_EXIT = 0.5
"""Seconds of silence after which the output of an exited program is over: a grandchild may hold it open."""

TALK_AFTER_EXIT = 3.0
"""The same if there is no silence."""

GONE_GRACE = 2.0
"""Seconds to end by itself when nobody reads its output any more, before it is terminated."""

TERMINATE_GRACE = 2.0
"""Seconds to exit after SIGTERM, before SIGKILL."""

DETACHED_GRACE = 0.5
"""The same for commands that it started in sessions of their own, once it has exited."""

_ENDED, _GONE, _DONE = b".", b"!", b"-"
"""The program has ended; nobody reads its output any more; a stream has ended."""

ENDING_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
PASSED_SIGNALS = (*ENDING_SIGNALS, "SIGUSR1", "SIGUSR2")


class StandIn:
    """One program, started in a group of its own. Use it in the main thread, once: `start`, then `run`."""

    def __init__(
        self, command: Sequence[str], *, seen: Seen, gates: Mapping[Stream, PipeGate] | None = None
    ) -> None:
        self._command = list(command)
        self._seen = seen
        self._gates = gates or {}
        self._last = 0.0  # when something was passed on
        self._done: set[Stream] = set()  # streams that have ended
        self._told_to_end = False
        self._was_signalled = False  # to end, by us or through us
        self._told, self._tell = os.pipe()
        self._woken, self._wake = os.pipe()

    def start(self) -> None:
        """Start the program.

        Raises:
            TransportError: it is missing or not executable.
        """
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=inherited_environment(),
                bufsize=0,
                start_new_session=True,  # a group of its own, so that all of it can be signalled
            )
        except (OSError, ValueError) as error:
            raise TransportError(why_not_started(self._command[0], None, error)) from error
        self._tree = ProcessTree(self._process)
        assert self._process.stdin and self._process.stdout
        ends = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._guard = Guard(self._process.pid, stdin=ends[0], stdout=ends[1])

    def run(self) -> int:
        """Pass everything on until the program has ended; returns its exit code, or minus its signal."""
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        # A signal that comes just before a wait begins does not end it: Python only notes it. This does.
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for name in PASSED_SIGNALS:
            if (number := getattr(signal, name, None)) is not None:
                signal.signal(number, self._pass_signal)
        self._pump("out", 0, process.stdin.fileno())
        outputs = [
            self._pump("in", process.stdout.fileno(), 1),
            self._pump("err", process.stderr.fileno(), 2),
        ]
        threading.Thread(target=self._wait, daemon=True).start()
        self._watch()
        self._linger(process.stdin.fileno())
        for gate in self._gates.values():
            if gate.closed:
                with suppress(OSError):
                    gate.finish()
        self._drain(outputs)
        if self._was_signalled:
            self._end_detached()
        self._guard.stop()
        return process.returncode

    # -- bytes ---------------------------------------------------------------------------------

    def _pump(self, stream: Stream, source: int, target: int) -> threading.Thread:
        widen(source, PIPE_SIZE)
        pipe = Pipe(stream, target, self._seen)
        gate = self._gates.get(stream)
        if gate is not None:
            gate.attach(pipe)
        thread = threading.Thread(target=self._pass_bytes, args=(pipe, gate, source), daemon=True)
        thread.start()
        return thread

    def _pass_bytes(self, pipe: Pipe, gate: PipeGate | None, source: int) -> None:
        # one buffer for all: memory for as much as may come costs more than copying what did come
        buffer = memoryview(bytearray(READ_SIZE))
        try:
            while size := _read_into(source, buffer):
                now = self._last = time.monotonic()
                if gate is not None and gate.closed:
                    gate.feed(bytes(buffer[:size]), now)
                else:
                    pipe.write(buffer[:size], now)
                if size >= BULK_SIZE:
                    time.sleep(BULK_PAUSE)
            if gate is not None and gate.closed:
                gate.finish()
        except OSError:  # the reader is gone
            if pipe.stream == "in":
                os.write(self._tell, _GONE)
        finally:
            # the other side sees the end of its pipe; the number stays taken, so that it means nothing else
            if pipe.stream != "err":
                self._guard.let_close()
            close_descriptor(source)
            pipe.close()
            self._done.add(pipe.stream)
            os.write(self._tell, _DONE)

    def _linger(self, program_stdin: int) -> None:
        """It has exited: while both sides hold their pipes, a child of it talks with the client in its place.

        Both directions must be open. What merely keeps its output open, such as a server that it left behind,
        says nothing to anybody, and the client waits for the end.
        """
        poll = select.poll()
        poll.register(self._told, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        poll.register(program_stdin, 0)  # only errors: nobody reads it
        if _is_stream(1):
            poll.register(1, 0)
        while not self._told_to_end and not self._done & {"out", "in"}:
            for descriptor, _ in poll.poll():
                if descriptor not in (self._told, self._woken):
                    return  # one side is gone
                os.read(descriptor, 4096)

    def _drain(self, outputs: list[threading.Thread]) -> None:
        """The talk is over: its output ends when it is closed, or silent because a grandchild holds it."""
        deadline = time.monotonic() + TALK_AFTER_EXIT
        quiet_since = time.monotonic()
        for thread in outputs:
            while thread.is_alive() and time.monotonic() < deadline:
                thread.join(0.05)
                if time.monotonic() - max(self._last, quiet_since) > OUTPUT_AFTER_EXIT:
                    break

    # -- life ------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._process.wait()
        os.write(self._tell, _ENDED)

    def _watch(self) -> None:
        """Wait for the program's end, and hasten it when nobody is there any more to talk to."""
        poll = select.poll()
        poll.register(self._told, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        if _is_stream(1):
            poll.register(1, 0)  # only errors: the reader is gone
        steps: list[tuple[float, int]] | None = None
        timeout: float | None = None
        while True:
            events = dict(poll.poll(None if timeout is None else timeout * 1000))
            if events.pop(self._woken, None) is not None:  # a signal, which is passed on by now
                os.read(self._woken, 4096)
                if not events:
                    continue
            if self._told in events:
                news = os.read(self._told, 16)
                if _ENDED in news:
                    return
                if _GONE not in news:
                    del events[self._told]
                    if not events:
                        continue
            if steps is None:  # the first that was heard: the client is gone
                steps = [(GONE_GRACE, signal.SIGTERM), (TERMINATE_GRACE, signal.SIGKILL)]
                if 1 in events:
                    poll.unregister(1)
            elif not events:
                self._signal(steps.pop(0)[1])
            timeout = steps[0][0] if steps else None

    def _pass_signal(self, number: int, frame: object) -> None:
        self._told_to_end |= signal.Signals(number).name in ENDING_SIGNALS
        self._signal(number)

    def _signal(self, number: int) -> None:
        if signal.Signals(number).name in (*ENDING_SIGNALS, "SIGKILL"):
            self._was_signalled = True
            self._tree.note_descendants()
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _end_detached(self) -> None:
        """What it started in sessions of their own has not heard of the signal."""
        deadline = time.monotonic() + DETACHED_GRACE
        runs = self._tree.terminate_detached()
        while runs and time.monotonic() < deadline:
            time.sleep(0.02)
            runs = self._tree.detached_run()
        self._tree.kill_detached()


def _read_into(source: int, buffer: memoryview) -> int:
    while True:
        try:
            return os.readv(source, [buffer])
        except BlockingIOError:  # somebody else made it so
            select.select([source], [], [])


def _is_stream(descriptor: int) -> bool:
    """Whether its reader can go away: a pipe or a socket."""
    import stat

    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def widen(descriptor: int, size: int) -> None:
    """Let a pipe hold this many bytes where that is possible."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < size:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)
    except (ImportError, AttributeError, OSError):
        pass  # not a pipe, not on this system, or this user has too many wide ones

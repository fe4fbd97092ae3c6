"""Holds and changes messages on their way between a client and an agent.

A `Holder` has a gate for either direction. While nobody holds anything, the gates are open and bytes pass by
them. Each direction has a lock and a thread of its own: one side that does not read must not stop the other.
"""

import itertools
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from acpella._plain_json import as_dict
from acpella.recording import RecordedFrame
from acpella.recording.queue import Note
from acpella.transport.pipe import Pipe, PipeGate, Stream

from .filters import Filter, FilterError
from .rows import Row, Rows

__all__ = ["MAX_HELD", "ActionError", "HoldRule", "Holder", "Report", "Then"]

Then: TypeAlias = Literal["hold", "drop", "delay", "duplicate", "garble"]
"""What happens to a matching message: it waits for a person, or gets a fault of `acpella.testing.faults`."""

Report: TypeAlias = Callable[[dict[str, Any]], None]
"""Receives what happens, on behalf of whoever holds messages. Must not block."""

Way: TypeAlias = Literal["in", "out"]

MAX_HELD = 1000
"""Messages of one direction that are held. Then reading stops, as it does before a slow reader."""

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of one direction that are held, and of a line without an end. Without it, floods fill the memory."""

MAX_TEXT = 1_000_000
"""Characters of a held message that are sent to whoever holds it. A longer one cannot be edited."""

MAX_DELAY = 600.0
"""Seconds that a message can be delayed."""

SHUT_SECONDS = 2.0
"""Seconds until holding counts as begun, even if one side has not read what was written to it before."""


class ActionError(ValueError):
    """What was asked for cannot be done."""


class HoldRule(msgspec.Struct, frozen=True):
    """Which messages, and what happens to them."""

    filter: str = ""
    """A filter as in `acpella inspect`; an empty one matches all messages."""
    then: Then = "hold"
    seconds: float = 1.0
    """How long, with `delay`."""

    def compiled(self) -> Filter:
        """Raises FilterError: a word means nothing here."""
        row_filter = Filter(self.filter)
        if "bad" in row_filter.keys:
            raise FilterError("bad: is known when a message has passed; hold by method:, kind: or text")
        return row_filter


class _Held(msgspec.Struct, frozen=True):
    n: int
    line: bytes
    row: Row
    since: float


class Holder:
    """Both directions of one conversation. Methods may be called by any thread."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._numbers = itertools.count(1)
        self._rows = Rows()
        self._looking = threading.Lock()  # for the rows and the rule; never while something is written
        self._rule = HoldRule()
        self._wanted = Filter("")
        self._report: Report | None = None
        self._note: Callable[[Note], None] = lambda note: None
        self._ways: dict[Way, _Direction] = {"in": _Direction("in", self), "out": _Direction("out", self)}

    @property
    def gates(self) -> Mapping[Stream, PipeGate]:
        """The gates, for the `StandIn`."""
        return {"in": self._ways["in"], "out": self._ways["out"]}

    def set_note(self, note: Callable[[Note], None]) -> None:
        """Set what is called with everything done to a message, for the recording."""
        self._note = note

    # -- what a person does ------------------------------------------------------------------------

    def start(self, rule: HoldRule, report: Report, *, requests: list[Row] | None = None) -> None:
        """Apply a rule from now on, in place of the one before. `requests` are the open requests.

        Raises:
            FilterError: the rule means nothing.
            ActionError: its numbers are out of range.
        """
        matches = rule.compiled()
        if not 0 <= rule.seconds <= MAX_DELAY:
            raise ActionError(f"a message can be delayed for up to {MAX_DELAY:.0f} seconds")
        with self._looking:
            if self._report is None:
                self._rows = Rows()
                for request in requests or []:
                    self._rows.expect(request)
            self._rule, self._wanted, self._report = rule, matches, report
        for way in self._ways.values():
            way.shut()

    def stop(self) -> None:
        """Let everything pass, what is held and what comes later. Returns at once."""
        with self._looking:
            self._report = None
        for way in self._ways.values():
            way.later(way.finish)

    def act(
        self,
        n: int,
        how: str,
        *,
        text: str | None = None,
        seconds: float = 1.0,
        result: Any = None,
        error: Any = None,
    ) -> None:
        """Do something to a held message: release, edit, drop, delay, duplicate, garble or answer it.

        Raises:
            ActionError: it is not held, or that cannot be done to it.
        """
        way = next((way for way in self._ways.values() if way.holds(n)), None)
        if way is None:
            raise ActionError(f"message {n} is not held any more")
        match how:
            case "release" | "drop" | "duplicate" | "garble":
                way.later(lambda: way.settle(n, how))
            case "edit":
                if text is None or not text.strip():
                    raise ActionError("an edited message needs its text; to send nothing, drop it")
                way.later(lambda: way.settle(n, "edit", _one_line(text)))
            case "delay":
                if not 0 <= seconds <= MAX_DELAY:
                    raise ActionError(f"a message can be delayed for up to {MAX_DELAY:.0f} seconds")
                way.delay(n, seconds)
            case "answer":
                self._answer(way, n, result, error)
            case _:
                raise ActionError(
                    f"{how!r} is not one of release, edit, drop, delay, duplicate, garble, answer"
                )

    def send(self, direction: Way, text: str) -> None:
        """Send a message of your own. Raises ActionError: it is empty."""
        if not text.strip():
            raise ActionError("there is nothing to send")
        way = self._ways[direction]
        way.later(lambda: way.insert(_one_line(text), "sent"))

    def _answer(self, way: "_Direction", n: int, result: Any, error: Any) -> None:
        row = way.holds(n)
        if row is None or row.kind != "req":
            raise ActionError("only a request can be answered")
        name, body = ("result", result) if error is None else ("error", error)
        encoded = msgspec.json.encode(body)
        line = b'{"jsonrpc":"2.0","id":%b,"%b":%b}\n' % (row.id.encode(), name.encode(), encoded)
        back = self._ways["out" if way.direction == "in" else "in"]
        way.later(lambda: way.settle(n, "answer") and back.later(lambda: back.insert(line, "answered")))

    # -- what the directions ask -------------------------------------------------------------------

    def judge(self, direction: Way, line: bytes, at: float) -> tuple[Row, Then | None, float]:
        """The row of a message, what happens to it (None if it does not match), and for how long."""
        try:
            message: Any = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            message = line.decode("utf-8", "replace").strip()
        with self._looking:
            row = self._rows.take(RecordedFrame(max(0.0, at - self._began), direction, message))
            if self._report is None:
                return row, None, 0.0
            fits = self._wanted.matches(row, [], lambda: line.decode("utf-8", "replace").lower())
            return row, self._rule.then if fits else None, self._rule.seconds

    def number(self) -> int:
        """For the next message that is held."""
        return next(self._numbers)

    def report(self, what: dict[str, Any]) -> None:
        """Report something to whoever holds messages."""
        report = self._report
        if report is not None:
            report(what)

    def note(self, direction: Way, how: str, line: bytes, **info: Any) -> None:
        """Note in the recording what was done to a message."""
        self._note(Note(direction, how, line, info, time.monotonic()))


class _Direction:
    """What goes one way (a `PipeGate`)."""

    def __init__(self, direction: Way, holder: Holder) -> None:
        self.direction: Way = direction
        self.closed: bool = False
        self._holder = holder
        self._pipe: Pipe | None = None
        self._state = threading.Condition()
        self._rest = b""
        self._held: dict[int, _Held] = {}
        self._size = 0
        self._inserted: list[tuple[bytes, str]] = []  # wait for the end of a line that is on its way
        self._timers: dict[int, threading.Timer] = {}
        self._jobs: queue.SimpleQueue[Callable[[], object]] | None = None
        self._dice = random.Random()

    # -- from the pump -----------------------------------------------------------------------------

    def attach(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def feed(self, data: bytes, at: float) -> None:
        pipe = self._pipe
        assert pipe is not None
        with self._state:
            if not self.closed:  # it was opened meanwhile
                pipe.write(data, at)
                return
            if pipe.mid_line:  # its beginning has passed already
                head, end, data = data.partition(b"\n")
                pipe.write(head + end, at)
                if end:
                    self._write_inserted()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(line + b"\n", at)
            if len(self._rest) > MAX_BYTES or self._rest[:15].lower() == b"content-length:":
                # too long to hold, or framed by Content-Length: then no line break ends it
                rest, self._rest = self._rest, b""
                self._write(rest)

    def finish(self) -> None:
        """Let everything pass, what is held and what comes later."""
        with self._state:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            try:
                for n in list(self._held):
                    self._settle(n, "release")
                if self._rest:
                    rest, self._rest = self._rest, b""
                    self._write(rest)
            finally:
                self.closed = False
                self._state.notify_all()

    def _take(self, line: bytes, at: float) -> None:
        row, then, seconds = self._holder.judge(self.direction, line, at)
        if then is None or not line.strip() or line[:15].lower() == b"content-length:":
            self._write(line)
        elif then in ("hold", "delay"):
            self._keep(line, row, seconds if then == "delay" else None)
        else:
            self._holder.report({"passed": _about(row), "dir": self.direction, "how": then})
            self._do(then, line, {})

    def _keep(self, line: bytes, row: Row, seconds: float | None) -> None:
        while self.closed and (len(self._held) >= MAX_HELD or self._size > MAX_BYTES):
            self._state.wait()
        if not self.closed:
            self._write(line)
            return
        item = _Held(self._holder.number(), line, row, time.monotonic())
        self._held[item.n] = item
        self._size += len(line)
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        whole = len(text) <= MAX_TEXT and text.encode() == line.rstrip(b"\r\n")
        about = {"n": item.n, "dir": self.direction, "text": text[:MAX_TEXT], "whole": whole, **_about(row)}
        if seconds is not None:
            about["delayed"] = seconds
        self._holder.report({"held": about})
        if seconds is not None:
            self.delay(item.n, seconds)

    # -- from whoever holds --------------------------------------------------------------------------

    def shut(self) -> None:
        """Keep back what fits from now on. Waits for a moment, until what was asked for before is done."""
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=self._work, args=(self._jobs,), daemon=True).start()
        done = threading.Event()
        self.later(lambda: self._shut(done))
        done.wait(SHUT_SECONDS)

    def _shut(self, done: threading.Event) -> None:
        with self._state:
            self.closed = True
        done.set()

    def later(self, job: Callable[[], object]) -> None:
        """Do something in the thread of this direction, after what was asked for before."""
        if self._jobs is not None:
            self._jobs.put(job)

    def holds(self, n: int) -> Row | None:
        """The row of a message that is held."""
        item = self._held.get(n)
        return None if item is None else item.row

    def delay(self, n: int, seconds: float) -> None:
        """Let a message wait for so long."""
        timer = threading.Timer(seconds, lambda: self.later(lambda: self.settle(n, "delay")))
        timer.daemon = True
        self._timers[n] = timer
        timer.start()

    def settle(self, n: int, how: str, line: bytes = b"") -> bool:
        """Do with a held message what was decided; False if it is not held any more."""
        with self._state:
            if timer := self._timers.pop(n, None):
                timer.cancel()
            done = self._settle(n, how, line)
            self._state.notify_all()
            return done

    def insert(self, line: bytes, how: str) -> None:
        """Put a line on the way that the sender did not write."""
        with self._state:
            self._inserted.append((line, how))
            if self._pipe is not None and not self._pipe.mid_line:
                self._write_inserted()

    # -- with the lock -----------------------------------------------------------------------------------

    def _settle(self, n: int, how: str, line: bytes = b"") -> bool:
        item = self._held.pop(n, None)
        if item is None:
            return False
        self._size -= len(item.line)
        self._holder.report({"gone": n, "how": how})
        waited = {"seconds": round(time.monotonic() - item.since, 3)}
        if how == "edit":
            changed = line.rstrip() != item.line.rstrip()
            self._holder.note(self.direction, "edit" if changed else "release", item.line, **waited)
            self._write(line if changed else item.line)
        else:
            self._do(how, item.line, waited)
        return True

    def _do(self, how: str, line: bytes, info: dict[str, Any]) -> None:
        self._holder.note(self.direction, how, line, **info)
        if how in ("drop", "answer"):
            return
        if how == "garble":
            line = self._garbled(line)
        self._write(line * 2 if how == "duplicate" else line)

    def _garbled(self, line: bytes) -> bytes:
        """The line with one byte changed."""
        body = bytearray(line.rstrip(b"\n"))
        if body:
            place = self._dice.randrange(len(body))
            body[place] = body[place] ^ 1 or 32
        return bytes(body).replace(b"\n", b" ") + b"\n"

    def _write(self, data: bytes) -> None:
        assert self._pipe is not None
        self._pipe.write(data, time.monotonic())

    def _write_inserted(self) -> None:
        inserted, self._inserted = self._inserted, []
        for line, how in inserted:
            self._holder.note(self.direction, how, line)
            self._write(line)

    def _work(self, jobs: "queue.SimpleQueue[Callable[[], object]]") -> None:
        while True:
            with suppress(OSError):  # the reader is gone; the pump sees it, too
                jobs.get()()


def _about(row: Row) -> dict[str, Any]:
    fields: dict[str, Any] = as_dict(msgspec.to_builtins(row))
    return {
        name: fields[name]
        for name in ("kind", "method", "update", "session", "id", "preview")
        if name in fields
    }


def _one_line(text: str) -> bytes:
    """A message as one line for the wire. In JSON, a line break stands only where a space can stand, too."""
    return " ".join(text.strip().splitlines()).encode("utf-8", "replace") + b"\n"

"""The gate that holds messages, on real pipes: what it does with pieces, long lines and readers that wait."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from acpella.inspector import holding
from acpella.inspector.holding import Holder, HoldRule
from acpella.transport.pipe import Pipe, PipeGate

WAIT = 60.0


class Flow:
    """One direction: what is fed in, and what comes out."""

    def __init__(self, holder: Holder) -> None:
        self.gate: PipeGate = holder.gates["out"]
        self.source, target = os.pipe()
        self.pipe = Pipe("out", target, lambda stream, data, at: None)
        self.gate.attach(self.pipe)
        self.reports: list[dict[str, Any]] = []
        self.reported = threading.Event()

    def report(self, what: dict[str, Any]) -> None:
        self.reports.append(what)
        self.reported.set()

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(self.source, size - len(data))
        return data


@pytest.fixture
def holder() -> Holder:
    return Holder()


@pytest.fixture
def flow(holder: Holder) -> Iterator[Flow]:
    made = Flow(holder)
    yield made
    os.close(made.source)
    made.pipe.close()


def until_open(gate: PipeGate) -> None:
    end = time.monotonic() + WAIT
    while gate.closed and time.monotonic() < end:
        time.sleep(0.001)
    assert not gate.closed


def test_a_line_whose_beginning_has_passed_is_not_held(holder: Holder, flow: Flow) -> None:
    flow.pipe.write(b'{"method":', 0.0)
    holder.start(HoldRule("method:a"), flow.report)
    holder.send("out", '{"method":"mine"}')  # waits for the end of that line
    flow.gate.feed(b'"a"}\n{"method":"a"}\n{"met', 0.0)
    expected = b'{"method":"a"}\n{"method":"mine"}\n'
    assert flow.read(len(expected)) == expected
    assert [report["held"]["method"] for report in flow.reports] == ["a"]
    holder.stop()
    rest = b'{"method":"a"}\n{"met'
    assert flow.read(len(rest)) == rest
    until_open(flow.gate)
    assert flow.pipe.mid_line


def test_a_client_that_counts_bytes_is_not_held(holder: Holder, flow: Flow) -> None:
    holder.start(HoldRule(""), flow.report)
    message = b'Content-Length: 14\r\n\r\n{"method":"a"}'
    flow.gate.feed(message[:30], 0.0)
    flow.gate.feed(message[30:], 0.0)
    flow.gate.finish()
    assert flow.read(len(message)) == message


def test_reading_stops_when_too_much_is_held(
    holder: Holder, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "MAX_HELD", 2)
    holder.start(HoldRule(""), flow.report)
    pump = threading.Thread(target=flow.gate.feed, args=(b"a\nb\nc\n", 0.0), daemon=True)
    pump.start()
    end = time.monotonic() + WAIT
    while len(flow.reports) < 2 and time.monotonic() < end:
        flow.reported.wait(WAIT)
    assert pump.is_alive()
    holder.act(1, "release")
    pump.join(WAIT)
    assert flow.read(2) == b"a\n" and len(flow.reports) == 4
    holder.stop()
    assert flow.read(4) == b"b\nc\n"


def test_bytes_that_are_not_text_pass_as_they_are_and_cannot_be_edited_by_mistake(
    holder: Holder, flow: Flow
) -> None:
    holder.start(HoldRule(""), flow.report)
    flow.gate.feed(b"\xff\xfe{\n", 0.0)
    assert flow.reports[0]["held"]["whole"] is False
    holder.act(1, "release")
    assert flow.read(4) == b"\xff\xfe{\n"


def test_two_streams_do_not_wait_for_each_other(holder: Holder, flow: Flow) -> None:
    """One side reads nothing; the other's messages can still be released."""
    source, target = os.pipe()
    other = holder.gates["in"]
    other.attach(Pipe("in", target, lambda stream, data, at: None))
    holder.start(HoldRule("dir:out"), flow.report)
    stuck = threading.Thread(target=other.feed, args=(b"x" * 1_000_000 + b"\n", 0.0), daemon=True)
    stuck.start()
    flow.gate.feed(b'{"method":"a"}\n', 0.0)
    holder.act(1, "release")
    assert flow.read(15) == b'{"method":"a"}\n'
    size = 0
    while size < 1_000_001:
        size += len(os.read(source, 65536))
    stuck.join(WAIT)
    os.close(source)
    os.close(target)

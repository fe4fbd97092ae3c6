"""What waits to be recorded: handed over whole, and left alone while a lot passes."""

import os
import threading

import pytest

from acpella.recording.backlog import BURST, LONGEST, QUIET, ROOM, Backlog, Ending
from acpella.recording.backlog import packed as packed_in_two
from acpella.recording.queue import Chunk, Lost, Note

Item = Chunk | Lost | Note | Ending


def packed(item: Item) -> bytes:
    return b"".join(packed_in_two(item))


ITEMS: list[Item] = [
    Chunk("out", b'{"id":1}\n', 1.0),
    Chunk("in", bytes(range(256)) * 300, 1.25),
    Lost("err", 70_000, 1.5),
    Note("in", "edited", b'{"a":"b"}\n', {"by": "alice", "for": 3}, 1.75),
    Chunk("err", b"", 2.0),
    Ending({"exit": {"code": 0}}, 2.25),
]
LITTLE = packed(Chunk("in", b"x", 100.0))
MUCH = packed(Chunk("in", b"x" * BURST, 100.0))


@pytest.mark.parametrize("piece", [1, 13, 4096, 1_000_000])
def test_items_come_out_as_they_went_in_however_the_pipe_cuts_them(piece: int) -> None:
    data = b"".join(map(packed, ITEMS))
    source, target = os.pipe()
    backlog = Backlog()
    reader = threading.Thread(target=backlog.fill, args=(source,))
    reader.start()
    for start in range(0, len(data), piece):
        os.write(target, data[start : start + piece])
    os.close(target)
    reader.join(30)
    assert [backlog.take() for _ in ITEMS] == ITEMS
    assert backlog.empty and backlog.take() is None
    os.close(source)


def test_an_item_that_is_cut_by_the_end_is_left_out() -> None:
    source, target = os.pipe()
    backlog = Backlog()
    os.write(target, packed(ITEMS[0]) + packed(ITEMS[3])[:-1])
    os.close(target)
    backlog.fill(source)
    assert [backlog.take(), backlog.take()] == [ITEMS[0], None]
    os.close(source)


def test_a_message_is_written_at_once() -> None:
    backlog = Backlog()
    assert backlog.pause(100.0) is None
    backlog.add(LITTLE, 100.0)
    assert backlog.pause(100.0) == 0


def test_a_burst_is_written_when_it_is_over() -> None:
    backlog = Backlog()
    backlog.add(MUCH, 100.0)
    assert backlog.pause(100.0) == pytest.approx(QUIET)
    backlog.add(MUCH, 100.5)
    assert backlog.pause(100.5 + QUIET / 2) == pytest.approx(QUIET / 2)
    assert backlog.pause(100.5 + 2 * QUIET) == 0


def test_what_waited_long_is_written_during_a_burst() -> None:
    backlog = Backlog()
    backlog.add(MUCH, 100.0 + LONGEST)
    assert backlog.pause(100.0 + LONGEST) == 0


def test_what_fills_the_memory_is_written_during_a_burst() -> None:
    backlog = Backlog()
    backlog.add(packed(Chunk("in", bytes(ROOM), 100.0)), 100.0)
    assert backlog.pause(100.0) == 0

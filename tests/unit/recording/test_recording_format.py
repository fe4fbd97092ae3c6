"""E10: recordings of every version are read, and what is damaged is named."""

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from acpella.recording import Begin, Damaged, NewerFormat, RecordedEvent, RecordedFrame, read, read_recording
from acpella.recording.format import new_header
from acpella.recording.queue import Chunk, Lost, Queue
from acpella.recording.writer import Filters, Writer, open_private

GOLDEN = Path(__file__).parent / "golden"


def written(path: Path, *chunks: tuple[Any, bytes], filters: Filters | None = None) -> list[dict[str, Any]]:
    filters = filters or Filters()
    header = new_header("tap", {"command": ["agent", "--token", "abc"]}, redacted=filters.name)
    writer = Writer(open_private(path), header, filters, began=0.0)
    for at, (direction, data) in enumerate(chunks):
        writer.feed(direction, data, float(at))
    writer.end(9.0, exit={"code": 0})
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_recording_of_version_1_is_read() -> None:
    items = list(read(GOLDEN / "version1.jsonl"))
    assert [type(item) for item in items] == [
        Begin,
        RecordedFrame,
        RecordedFrame,
        RecordedFrame,
        Begin,
        RecordedFrame,
    ]
    first, second = read_recording(GOLDEN / "version1.jsonl")
    assert [(f.time, f.direction) for f in first] == [(0.0001, "out"), (0.2, "in"), (0.3, "in")]
    assert first[1].message == "a banner" and len(second) == 1


def test_a_recording_of_version_2_is_read_with_what_it_does_not_know() -> None:
    begin, *frames, decision, later, end = list(read(GOLDEN / "version2.jsonl"))
    assert isinstance(begin, Begin) and begin.info["point"] == "tap" and begin.version == 2
    read_frames = [frame for frame in frames if isinstance(frame, RecordedFrame)]
    assert [frame.number for frame in read_frames] == [1, 2, 3, 4, 5, 6]
    assert [frame.direction for frame in read_frames] == ["out", "err", "in", "in", "in", "out"]
    assert read_frames[3].message == b"\xff\xfe\x00\x01"
    assert read_frames[4].raw is not None and "1.00" in read_frames[4].raw
    assert read_frames[5].info == {"cut": 1024}
    assert isinstance(decision, RecordedEvent) and decision.info["option"] == "allow_once"
    assert isinstance(later, RecordedEvent) and later.name == "an event of tomorrow"
    assert isinstance(end, RecordedEvent) and end.info["exit"] == {"code": 0}
    assert len(read_recording(GOLDEN / "version2.jsonl")[0]) == 5  # stderr is not part of the conversation


def test_a_recording_of_a_newer_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"acpella":3}\n', encoding="utf-8")
    with pytest.raises(NewerFormat, match="format 3; this acpella reads up to 2. Update it"):
        list(read(path))


def test_half_a_character_of_a_cut_emoji_does_not_make_a_message_noise(tmp_path: Path) -> None:
    """JavaScript writes such JSON for a text that was cut in the wrong place."""
    path = tmp_path / "talk.jsonl"
    line = rb'{"jsonrpc":"2.0","method":"_x/y","params":{"text":"cut \ud83d end"}}'
    _, entry, _ = written(path, ("in", line + b"\n"))
    assert entry["msg"]["params"]["text"] == "cut \ufffd end"
    assert entry["raw"] == line.decode()


def test_what_is_written_is_what_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    head, *lines, end = written(
        path,
        ("out", b'{"jsonrpc":"2.0","id":0,"method":"init'),
        ("in", b"banner\r\n"),
        ("out", b'ialize"}\n{"a": 1,\t"b": "\\u00e9"}\n'),
        ("err", b"half a line"),
        ("in", b"\xff\xfe binary\n\n"),
        ("in", b'{"a":1,"a":2}\n{"n":1.00}\n{"n":1E5}\n'),
        ("in", b"{cut"),
    )
    assert head["acpella"] == 2 and head["agent"]["command"] == ["agent", "--token", "<secret 1>"]
    assert [line["n"] for line in lines] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    found = [(line["dir"], line.get("msg", line.get("text", line.get("b64")))) for line in lines]
    assert found[:4] == [
        ("in", "banner"),
        ("out", {"jsonrpc": "2.0", "id": 0, "method": "initialize"}),
        ("out", {"a": 1, "b": "é"}),
        ("in", "//4gYmluYXJ5"),
    ]
    assert [line.get("raw") for line in lines[4:7]] == [
        '{"a":1,"a":2}',
        '{"n":1.00}',
        '{"n":1E5}',
    ]
    assert all("raw" not in line for line in lines[:4])
    assert found[7:] == [("in", "{cut"), ("err", "half a line")]
    assert (end["frames"], end["dropped"], end["exit"]) == (9, 0, {"code": 0})
    assert all(not isinstance(item, Damaged) for item in read(path))


def test_a_client_that_sends_content_length_headers_is_recorded(tmp_path: Path) -> None:
    body = b'{"jsonrpc":"2.0",\n"id":0,"method":"initialize"}'
    _, line, _ = written(
        tmp_path / "talk.jsonl", ("out", b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    )
    assert line["msg"] == {"jsonrpc": "2.0", "id": 0, "method": "initialize"}


def test_what_was_lost_is_counted_and_the_next_whole_line_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    filters = Filters()
    writer = Writer(open_private(path), new_header("tap", {}, redacted=filters.name), filters, began=0.0)
    writer.feed("in", b'{"n":1}\n{"n":', 1.0)
    writer.lose("in", 5, 2.0)
    writer.feed("in", b'7}\n{"n":8}\n', 3.0)
    writer.end(4.0)
    _, first, gap, last, end = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert first["msg"] == {"n": 1} and last["msg"] == {"n": 8}
    assert (gap["ev"], gap["dropped"], gap["dir"]) == ("gap", 5, "in")
    assert end["dropped"] == 5


def test_a_queue_that_is_full_counts_what_it_loses_and_goes_on() -> None:
    queue = Queue(room=10)
    queue.put("in", b"12345678\n")
    queue.put("in", b"a\nb\n")
    queue.put("out", b"x")
    first = queue.take()
    queue.put("in", b"c\n")
    queue.put("in", b"too long for it\n")
    queue.close()
    second = queue.take()
    assert first is not None and second is not None
    assert [(type(i), i.direction) for i in first] == [(Chunk, "in"), (Chunk, "out")]
    assert [i.frames if isinstance(i, Lost) else getattr(i, "data", None) for i in second] == [2, b"c\n", 1]
    assert queue.take() is None


def test_chunks_are_in_the_order_in_which_they_came() -> None:
    queue = Queue()
    queue.put("in", b"an answer\n", 2.0)
    queue.put("out", b"what it answers, put later because it was passed on first\n", 1.0)
    queue.close()
    assert [item.direction for item in queue.take() or ()] == ["out", "in"]


@pytest.mark.parametrize("keep", [10, 100, 257, -2])
def test_a_truncated_file_is_read_up_to_where_it_was_cut(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "cut.jsonl"
    data = (GOLDEN / "version2.jsonl").read_bytes()
    path.write_bytes(data[:keep])
    items = list(read(path))
    assert isinstance(items[-1], Damaged) and "the file ends inside it" in items[-1].reason
    assert items[-1].line == data[:keep].count(b"\n") + 1
    assert not any(isinstance(item, Damaged) for item in items[:-1])


def test_damaged_lines_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    good = (GOLDEN / "version2.jsonl").read_bytes().splitlines()
    bad = [b"\x00\xff garbage", b"[]", b'{"dir":"up","msg":{}}', b"[" * 100_000, b'{"dir":"in","b64":"*"}']
    path.write_bytes(b"\n".join([*good[:2], *bad, *good[2:]]))
    items = list(read(path))
    assert [item.line for item in items if isinstance(item, Damaged)] == [3, 4, 5, 6, 7]
    assert len([item for item in items if not isinstance(item, Damaged)]) == len(good)


def test_a_large_recording_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    line = (GOLDEN / "version2.jsonl").read_bytes().splitlines(keepends=True)[1]
    with path.open("wb") as file:
        for _ in range(8):
            file.write(line * (1024 * 1024 // len(line)))
    size = os.path.getsize(path)
    tracemalloc.start()
    count = sum(1 for item in read(path) if isinstance(item, RecordedFrame))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == size // len(line)
    assert peak < 2 * 1024 * 1024

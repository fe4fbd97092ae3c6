"""Rows, spans and counts of a conversation."""

import json
from pathlib import Path
from typing import Any

import pytest

from acpella.inspector import Row, Rows, Spans, Stats
from acpella.inspector.spans import turn_times
from acpella.recording import RecordedFrame, read


def write(path: Path, *entries: dict[str, Any]) -> Path:
    lines = [
        {"acpella": 2, "started": "2026-11-16T06:00:00.000Z", "agent": {"command": ["my-agent"]}},
        *entries,
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def request(t: float, way: str, id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"t": t, "dir": way, "msg": {"jsonrpc": "2.0", "id": id, "method": method, "params": params}}


def result(t: float, way: str, id: Any, **fields: Any) -> dict[str, Any]:
    return {"t": t, "dir": way, "msg": {"jsonrpc": "2.0", "id": id, "result": fields}}


def update(t: float, name: str, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": "s1", "update": {"sessionUpdate": name, **fields}}
    return {"t": t, "dir": "in", "msg": {"jsonrpc": "2.0", "method": "session/update", "params": params}}


def chunk(t: float, text: str) -> dict[str, Any]:
    return update(t, "agent_message_chunk", content={"type": "text", "text": text}, messageId="m")


TURN = [
    request(1.0, "out", 1, "session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "fix it"}]),
    chunk(3.5, "I will"),
    chunk(3.6, " look"),
    update(4.0, "tool_call", toolCallId="c1", title="Run tests", status="pending", kind="execute"),
    request(
        4.0, "in", 1, "session/request_permission", sessionId="s1", toolCall={"toolCallId": "c1"}, options=[]
    ),
    result(10.0, "out", 1, outcome={"outcome": "selected", "optionId": "yes"}),
    update(12.0, "tool_call_update", toolCallId="c1", status="failed"),
    chunk(15.0, "It failed"),
    result(15.5, "in", 1, stopReason="end_turn"),
]


def rows_of(path: Path) -> list[Row]:
    made = Rows()
    return [made.take(item) for item in read(path)]


def spans_of(path: Path) -> Spans:
    made, spans = Rows(), Spans()
    for item in read(path):
        row = made.take(item)
        if isinstance(item, RecordedFrame):
            spans.take(row, item.message)
    return spans


def test_a_damaged_line_stands_where_the_line_before_it_stood(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.jsonl", chunk(3.0, "one"))
    path.write_text(path.read_text() + '{"t": 3.1, "dir": "i\n' + json.dumps(chunk(3.2, "two")) + "\n")
    assert [(row.method, row.t) for row in rows_of(path)][1:] == [
        ("session/update", 3.0),
        ("damaged", 3.0),
        ("session/update", 3.2),
    ]


def test_a_response_knows_its_request_and_how_long_it_took(tmp_path: Path) -> None:
    rows = rows_of(write(tmp_path / "talk.jsonl", *TURN))
    prompt, answer = rows[1], rows[-1]
    assert (prompt.kind, prompt.method, prompt.preview) == ("req", "session/prompt", "fix it")
    assert (answer.kind, answer.method, answer.pair, answer.took) == ("res", "session/prompt", prompt.n, 14.5)
    assert answer.session == "s1"
    # both sides count their requests from 1: the question's answer is not the prompt's
    question, choice = rows[5], rows[6]
    assert (choice.pair, choice.method, choice.preview) == (
        question.n,
        "session/request_permission",
        "selected · yes",
    )


def test_pieces_of_one_message_have_one_fold(tmp_path: Path) -> None:
    rows = rows_of(write(tmp_path / "talk.jsonl", *TURN))
    assert rows[2].fold == rows[3].fold != ""
    assert rows[4].fold == ""


def test_what_is_not_a_message_is_shown(tmp_path: Path) -> None:
    path = write(
        tmp_path / "talk.jsonl",
        {"t": 0.1, "dir": "in", "text": "Debug: hi"},
        {"t": 0.2, "dir": "err", "text": "a warning"},
        {"t": 0.3, "dir": "in", "b64": "//79"},
        {"t": 0.4, "dir": "in", "msg": [1, 2]},
        {"ev": "end", "t": 9.7, "exit": {"code": 3}},
    )
    path.write_text(path.read_text() + '{"n": 7, "t": 1, "di')
    kinds = [(row.kind, row.preview) for row in rows_of(path)]
    assert kinds[1:5] == [
        ("text", "Debug: hi"),
        ("stderr", "a warning"),
        ("text", "3 bytes that are not text"),
        ("text", "[1,2]"),
    ]
    assert kinds[5] == ("event", 'exit {"code":3}')
    assert kinds[6][0] == "event" and "the file ends inside it" in kinds[6][1]


def test_times_go_on_with_the_next_connection(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.jsonl", chunk(2.0, "a"))
    second = {"acpella": 2, "started": "2026-11-16T06:01:00.000Z"}
    path.write_text(path.read_text() + json.dumps(second) + "\n" + json.dumps(chunk(1.0, "b")) + "\n")
    rows = rows_of(path)
    assert [(row.c, row.t) for row in rows] == [(1, 0.0), (1, 2.0), (2, 60.0), (2, 61.0)]


def test_a_turn_says_for_whom_it_waited(tmp_path: Path) -> None:
    (turn,) = turn_times(spans_of(write(tmp_path / "talk.jsonl", *TURN)).spans)
    assert turn.total == 14.5
    assert turn.person == 6.0  # 4.0 to 10.0
    assert turn.tools == 2.0  # until 12.0; what a person took is not the tool's
    assert turn.silence == 2.5 + 3.0  # before the first word, and after the tool
    assert turn.writing == pytest.approx(1.0)
    assert turn.stop_reason == "end_turn"


def test_spans_have_lanes_and_mark_what_failed(tmp_path: Path) -> None:
    spans = spans_of(write(tmp_path / "talk.jsonl", *TURN)).spans
    assert [(span.lane, span.start, span.end, span.bad) for span in spans if span.lane != "silence"] == [
        ("turn", 1.0, 15.5, False),
        ("tool", 4.0, 12.0, True),
        ("person", 4.0, 10.0, False),
    ]


def test_a_tool_call_that_is_never_closed_ends_with_its_turn(tmp_path: Path) -> None:
    entries = [entry for entry in TURN if "failed" not in json.dumps(entry)]
    spans = spans_of(write(tmp_path / "talk.jsonl", *entries)).spans
    assert [span.end for span in spans if span.lane == "tool"] == [15.5]


def test_a_turn_that_goes_on_has_no_total(tmp_path: Path) -> None:
    (turn,) = turn_times(spans_of(write(tmp_path / "talk.jsonl", *TURN[:4])).spans)
    assert turn.total is None


def test_counts_by_method(tmp_path: Path) -> None:
    stats = Stats()
    for row in rows_of(write(tmp_path / "talk.jsonl", *TURN, request(16.0, "out", 2, "session/list"))):
        stats.take(row)
    summary = stats.summary()
    methods = {method.method: method for method in summary.methods}
    assert methods["session/prompt"].p50 == methods["session/prompt"].slowest == 14.5
    assert methods["session/list"].unanswered == 1 and methods["session/list"].p50 is None
    assert summary.updates == {"agent_message_chunk": 3, "tool_call": 1, "tool_call_update": 1}
    assert (summary.frames, summary.sessions, summary.connections) == (10, 1, 1)

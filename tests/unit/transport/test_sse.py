"""Server-sent events from bytes (T-050 to T-052)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpella.transport._sse import Overlong, ServerSentEvent, SseParser

STREAM = (
    ":\n\n"
    'data: {"a":1}\n\n'
    'id: g-7\ndata: {"b":"é🦊"}\n\n'
    "\ufeffdata:{\ndata: }\n: aside\nretry: 3\n\n"
    "event: resync\ndata: {}\n\n"
    "id: g-8\n\n"
    "data\n\n"
).encode()
EVENTS = [
    ServerSentEvent(b'{"a":1}'),
    ServerSentEvent('{"b":"é🦊"}'.encode(), b"g-7"),
    ServerSentEvent(b"{ }"),
    ServerSentEvent(b"{}", b"", b"resync"),
    ServerSentEvent(b""),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_are_the_same_however_the_stream_is_cut(cuts: list[int], line_end: bytes) -> None:
    stream = STREAM.replace(b"\n", line_end)
    places = sorted({0, *(min(cut, len(stream)) for cut in cuts), len(stream)})
    parser = SseParser(max_event=1000)
    events: list[ServerSentEvent] = []
    for start, end in zip(places, places[1:], strict=False):
        events += parser.feed(stream[start:end])
    assert events == EVENTS
    assert parser.comments == 2


def test_a_last_event_without_its_blank_line_counts_if_it_is_whole() -> None:
    parser = SseParser(max_event=1000)
    assert parser.feed(b'data: {"a":1}\n') == []
    assert parser.finish() == [ServerSentEvent(b'{"a":1}')]
    parser = SseParser(max_event=1000)
    assert parser.feed(b'id: g-1\ndata: {"a":') == []
    assert parser.finish() == []


def test_an_event_without_end_is_refused() -> None:
    parser = SseParser(max_event=100)
    with pytest.raises(Overlong):
        for _ in range(20):
            parser.feed(b"data: xxxxxxxx")

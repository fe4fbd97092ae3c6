"""Which stream a message goes on, by the profile of its client."""

import pytest

from acpella.server.connection.cursor import EventId, read_cursor
from acpella.server.connection.outbox import OutOfWindow
from acpella.server.connection.profile import CLIENT_ID, HTTP, SESSION_HEADER, WEBSOCKET, Profile
from acpella.server.connection.streams import TooManyStreams
from unit.server.parts import Streaming, update

OTHER = b'{"jsonrpc":"2.0","id":1,"result":{}}'


def put(streaming: Streaming, *lines: bytes) -> list[bytes]:
    """Put messages on their streams; gives those that were left to the caller."""
    routed: list[bytes] = []
    streaming.streams.put(list(lines), routed.append)
    return routed


@pytest.mark.parametrize("profile", [WEBSOCKET, CLIENT_ID])
def test_one_stream_carries_everything(profile: Profile) -> None:
    streaming = Streaming(profile)
    assert put(streaming, update("a"), OTHER, update("b")) == [OTHER]
    assert streaming.on(None) == [update("a"), update("b")]
    streaming.streams.expect("a")
    assert list(streaming.streams.by_session) == [None]


def test_updates_go_on_the_streams_of_their_sessions_in_order() -> None:
    streaming = Streaming(HTTP)
    streaming.streams.expect("a")
    streaming.streams.expect("b")
    routed = put(streaming, update("a", "1"), update("a", "2"), update("b"), OTHER, update("a", "3"))
    assert routed == [OTHER]
    assert streaming.on("a") == [update("a", text) for text in "123"]
    assert streaming.on("b") == [update("b")]


def test_a_session_without_a_stream_shares_the_connections_own() -> None:
    streaming = Streaming(HTTP)
    put(streaming, update("a"))
    assert streaming.on(None) == [update("a")]


def test_only_so_many_sessions_have_a_stream_and_idle_ones_make_room() -> None:
    streaming = Streaming(HTTP, max_sessions=2)
    streaming.streams.expect("a")
    streaming.streams.expect("b")
    streaming.streams.expect("c")
    assert list(streaming.streams.by_session) == [None, "b", "c"]
    put(streaming, update("b"), update("c"))
    with pytest.raises(TooManyStreams):
        streaming.streams.expect("d")


def test_a_stream_of_a_session_that_somebody_made_up_is_dropped() -> None:
    streaming = Streaming(HTTP)
    streaming.streams.of_session("known")
    streaming.streams.know("known")
    streaming.streams.of_session("made-up")
    for session in ("known", "made-up", None):
        streaming.streams.drop_unopened(session)
    assert list(streaming.streams.by_session) == [None, "known"]


def test_of_very_many_sessions_the_oldest_are_forgotten() -> None:
    streaming = Streaming(HTTP, max_sessions=1)
    for number in range(6):
        streaming.streams.know(str(number))
    assert list(streaming.streams.known) == ["2", "3", "4", "5"]


def test_the_answer_to_a_load_comes_after_the_history() -> None:
    streaming = Streaming(HTTP)
    history = streaming.streams.of_session("a")
    reader = history.attach()
    put(streaming, update("a"))
    streaming.streams.put_answer("session/load", "a", OTHER)
    assert streaming.on(None) == []
    reader.take(1000)
    assert streaming.on(None) == [OTHER]


def test_answers_go_where_their_client_looks() -> None:
    streaming = Streaming(HTTP)
    streaming.streams.of_session("a")
    streaming.streams.put_answer("session/new", "a", b"new")
    streaming.streams.put_answer("session/prompt", "a", b"prompt")
    streaming.streams.put_answer("session/list", None, b"list")
    assert (streaming.on(None), streaming.on("a")) == ([b"new", b"list"], [b"prompt"])


def test_nothing_is_added_after_the_end() -> None:
    streaming = Streaming(HTTP)
    streaming.streams.close()
    streaming.streams.of_session("late").put([b"x"])
    put(streaming, update("a"))
    assert streaming.on(None) == [] and streaming.on("late") == []


# -- streams that end with an answer -----------------------------------------------------------------


def test_what_concerns_a_request_goes_on_the_stream_of_its_answer() -> None:
    streams = Streaming(SESSION_HEADER).streams
    first = streams.open_answer("a", b"1")
    second = streams.open_answer("b", b"2")
    assert streams.stream_for("a") is first.outbox
    assert streams.stream_for("b") is second.outbox
    assert streams.stream_for("c") is second.outbox, "no other stream is open"
    streams.main.attach()
    assert streams.stream_for("c") is streams.main


def test_what_was_on_a_broken_stream_waits_on_the_connections_own() -> None:
    streaming = Streaming(SESSION_HEADER)
    streams = streaming.streams
    stream = streams.open_answer("a", b"1")
    stream.outbox.put([b"one", b"two", b"three"])
    streams.end_answer(stream, complete=False)
    assert streams.answer(stream.number) is None
    assert streaming.on(None) == [b"one", b"two", b"three"]
    assert streams.after(stream.number, 2) == 2, "it has two of them"
    with pytest.raises(OutOfWindow):
        streams.after(stream.number, 4)
    with pytest.raises(OutOfWindow):
        streams.after(99, 0)


def test_a_client_that_missed_the_end_of_a_whole_stream_gets_it_in_order() -> None:
    streaming = Streaming(SESSION_HEADER)
    streams = streaming.streams
    stream = streams.open_answer("a", b"1")
    stream.outbox.put([b"one", b"two"])
    streams.end_answer(stream, complete=True)
    streams.main.put([b"later"])
    after = streams.after(stream.number, 1)
    _, messages = streams.main.attach(after=after).take(1000)
    assert messages == [b"two", b"later"]


# -- cursors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cursor", [EventId(0), EventId(17), EventId(3, answer_stream=2)])
def test_a_cursor_is_read_as_it_is_written(cursor: EventId) -> None:
    assert read_cursor(cursor.to_text("gen"), "gen") == cursor


@pytest.mark.parametrize(
    "text", ["", "17", "other-17", "gen-", "gen-x", "gen-1.x", "gen-.1", "gen-" + "9" * 19]
)
def test_a_cursor_of_elsewhere_is_out_of_the_window(text: str) -> None:
    with pytest.raises(OutOfWindow):
        read_cursor(text, "gen")


def test_who_reads_the_answer_to_one_request_is_cut_off_as_well() -> None:
    """A client that read nothing kept the stream of its answer."""

    aborted: list[str] = []
    streaming = Streaming(HTTP)
    answer = streaming.streams.open_answer("a", b"1")
    streaming.streams.main.attach(abort=lambda: aborted.append("main"))
    answer.outbox.attach(abort=lambda: aborted.append("answer"))
    streaming.streams.abort()
    assert aborted == ["main", "answer"]

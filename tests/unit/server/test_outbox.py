"""Numbered streams: what is put in comes out once and in order, also after a cut."""

import asyncio

import pytest

from acpella.server.connection.flow import MAX_OWN_ANSWERS, Flow
from acpella.server.connection.memory_outbox import MemoryOutbox
from acpella.server.connection.outbox import Outbox, OutboxReader, OutOfWindow, Taken


def flow(most: int = 1000) -> Flow:
    return Flow(most=most, changed=lambda: None)


def outbox(ledger: Flow | None = None, *, lossless: bool = False, window: int = 3) -> MemoryOutbox:
    return MemoryOutbox(ledger or flow(), high=10, window_frames=window, window_bytes=1000, lossless=lossless)


def put(box: Outbox, *texts: str) -> None:
    box.put([text.encode() for text in texts])


def taken(reader: OutboxReader, limit: int = 1 << 20) -> list[tuple[int, str]]:
    first, messages = reader.take(limit)
    return [(number, message.decode()) for number, message in enumerate(messages, first)]


def test_messages_are_numbered_from_one_and_taken_once() -> None:
    box = outbox()
    put(box, "a", "b")
    reader = box.attach()
    assert taken(reader) == [(1, "a"), (2, "b")]
    assert taken(reader) == []
    put(box, "c")
    assert taken(reader) == [(3, "c")]
    assert box.last == 3


def test_a_batch_has_about_as_many_bytes_as_wanted_and_at_least_one_message() -> None:
    box = outbox()
    put(box, "aaaa", "bbbb", "cccc")
    reader = box.attach()
    assert taken(reader, 1) == [(1, "aaaa")]
    assert taken(reader, 5) == [(2, "bbbb"), (3, "cccc")]


def test_a_reader_that_confirms_finds_all_that_it_did_not() -> None:
    box = outbox(lossless=True)
    put(box, *"abcdefg")
    first = box.attach()
    assert len(taken(first)) == 7
    box.ack(2)
    first.release()
    assert taken(box.attach(after=2)) == [(n + 3, text) for n, text in enumerate("cdefg")]
    with pytest.raises(OutOfWindow):
        box.attach(after=1, take_over=True)
    with pytest.raises(OutOfWindow):
        box.attach(after=8, take_over=True)


def test_for_others_the_last_messages_are_kept() -> None:
    box = outbox(window=3)
    put(box, *"abcde")
    reader = box.attach()
    taken(reader)
    reader.release()
    assert taken(box.attach(after=2)) == [(3, "c"), (4, "d"), (5, "e")]
    with pytest.raises(OutOfWindow):
        box.attach(after=1, take_over=True)


def test_there_is_one_reader_unless_another_takes_over() -> None:
    box = outbox(lossless=True)
    reader = box.attach()
    with pytest.raises(Taken):
        box.attach()
    second = box.attach(after=0, take_over=True)
    assert reader.over and reader.taken_over
    put(box, "a")
    assert taken(reader) == [] and taken(second) == [(1, "a")]
    reader.release()
    assert box.attached, "the first has nothing to let go of"


def test_a_reader_is_over_when_a_closed_outbox_is_empty() -> None:
    box = outbox()
    reader = box.attach()
    put(box, "a")
    box.close()
    put(box, "too late")
    assert not reader.over
    assert taken(reader) == [(1, "a")]
    assert reader.over and not reader.ended


def test_the_first_end_of_a_reader_counts() -> None:
    reader = outbox().attach()
    reader.end(why="the token has expired")
    reader.end(taken_over=True)
    assert (reader.why, reader.taken_over, reader.ended) == ("the token has expired", False, True)


def test_who_waits_for_everything_to_be_taken_is_called_in_time() -> None:
    box = outbox()
    called: list[str] = []
    put(box, "a")
    box.when_drained(lambda: called.append("nobody reads"))
    assert called == ["nobody reads"]
    reader = box.attach()
    box.when_drained(lambda: called.append("taken"))
    assert called == ["nobody reads"]
    taken(reader)
    assert called == ["nobody reads", "taken"]
    put(box, "b")
    box.when_drained(lambda: called.append("gone"))
    reader.release()
    assert called[-1] == "gone"


def test_what_nobody_can_read_is_not_kept() -> None:
    ledger = flow()
    box = outbox(ledger)
    put(box, "abc")
    box.discard()
    put(box, "def")
    assert (ledger.buffered, box.unread, box.window()[1]) == (0, 0, [])


@pytest.mark.anyio
async def test_a_reader_that_waits_hears_of_messages_and_of_the_end() -> None:
    box = outbox()
    reader = box.attach()
    assert not await reader.wait(0)
    waiting = asyncio.ensure_future(reader.wait(60))
    await asyncio.sleep(0)
    put(box, "a")
    assert await waiting
    assert await reader.wait(60), "something is there"
    taken(reader)
    waiting = asyncio.ensure_future(reader.wait(60))
    await asyncio.sleep(0)
    box.close()
    assert await waiting and reader.over


# -- flow --------------------------------------------------------------------------------------------


def test_a_reader_that_is_behind_holds_up_the_agent() -> None:
    ledger = flow()
    box = outbox(ledger)
    reader = box.attach()
    put(box, "x" * 9)
    assert not ledger.is_full
    put(box, "x")
    assert ledger.is_full
    taken(reader)
    assert not ledger.is_full and ledger.buffered == 0


def test_so_do_messages_that_are_not_confirmed() -> None:
    ledger = flow()
    box = outbox(ledger, lossless=True)
    reader = box.attach()
    put(box, "a", "b", "c")
    taken(reader)
    assert ledger.is_full
    box.ack(1)
    assert not ledger.is_full


def test_all_streams_together_have_a_limit_too() -> None:
    changes: list[bool] = []
    ledger = Flow(most=10, changed=lambda: changes.append(True))
    put(outbox(ledger), "x" * 6)
    assert not ledger.is_full
    box = outbox(ledger)
    put(box, "x" * 6)
    assert ledger.is_full
    taken(box.attach())
    assert not ledger.is_full and changes


def test_answers_of_the_server_itself_count_until_they_are_read() -> None:
    ledger = flow()
    half = MAX_OWN_ANSWERS // 2 + 1
    ledger.buffered = half
    assert ledger.count_own_answer(half)
    ledger.buffered = half
    assert ledger.count_own_answer(half), "the last was read"
    ledger.buffered = 2 * half
    assert not ledger.count_own_answer(half)

"""The log that pages read."""

import msgspec

from acpella.web.shared.log import SessionLog


def test_a_reader_goes_on_after_the_last_event_that_it_has() -> None:
    log = SessionLog()
    for number in range(1, 6):
        assert log.add_raw(b"update", b"update", b'{"value":%d}' % number) == number
    last, events = log.after(3, 1_000_000)
    assert last == 5
    assert [msgspec.json.decode(event)["n"] for event in events] == [4, 5]
    assert log.after(5, 1_000_000) == (5, [])


def test_events_come_in_batches() -> None:
    log = SessionLog()
    for _ in range(10):
        log.add("note", text="x" * 100)
    last, events = log.after(0, 250)
    assert last == len(events) == 2
    assert log.after(last, 10_000)[0] == 10


def test_the_oldest_leave_and_numbers_stay() -> None:
    log = SessionLog(most=10_000)
    for _ in range(200):
        log.add("note", text="x" * 100)
    assert log.last == 200
    assert log.first > 1
    last, events = log.after(0, 1_000_000)
    assert last == 200
    assert msgspec.json.decode(events[0])["n"] == log.first


def test_each_log_can_be_told_from_others() -> None:
    assert SessionLog().epoch != SessionLog().epoch

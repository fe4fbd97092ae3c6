"""The last frames, for the day something goes wrong."""

import json

import pytest

from acpella.rpc.recent_frames import KEPT_BYTES, KEPT_CHUNKS, SHOWN_FRAME, RecentFrames
from interaction.wire import in_headers, request

SECRET = "hunter2"


def test_frames_are_told_in_order_with_their_direction() -> None:
    log = RecentFrames()
    log.received(b'{"id":1}\n{"id":2}\r\n')
    log.sent(bytearray(b'{"id":3}\n\n'))
    assert log.frames() == ('<- {"id":1}', '<- {"id":2}', '-> {"id":3}')
    assert log.frames(1) == ('-> {"id":3}',)


def test_only_the_last_are_kept() -> None:
    log = RecentFrames()
    for n in range(1000):
        log.received(b"%d\n" % n)
    assert len(log.frames(10_000)) == KEPT_CHUNKS
    assert log.frames(1) == ("<- 999",)


def test_long_frames_are_shortened_and_cost_little() -> None:
    log = RecentFrames()
    for _ in range(100):
        log.received(request(1, "m", "x" * 1000))
        log.received(b"x" * 10_000_000)
    assert sum(len(chunk) for _, chunk, _ in log._chunks) <= KEPT_CHUNKS * KEPT_BYTES  # pyright: ignore[reportPrivateUsage]
    assert max(map(len, log.frames())) <= SHOWN_FRAME + 10


def test_secrets_are_left_out() -> None:
    log = RecentFrames()
    log.sent(request(1, "session/new", {"mcpServers": [{"env": [{"name": "A", "value": SECRET}]}]}))
    assert SECRET not in "".join(log.frames())
    assert "session/new" in log.frames()[0]


LONG = {"before": "x" * 3000, "env": {"A": SECRET, "B": SECRET * 20}, "after": "x" * 3000}


@pytest.mark.parametrize("headers", [False, True], ids=["lines", "headers"])
@pytest.mark.parametrize("size", [700, 1000, 4000, 5000, 100_000])
def test_secrets_are_left_out_however_a_frame_was_cut(size: int, headers: bool) -> None:
    """What is left of a frame may begin inside a map of secrets, and no longer say so (R-052)."""
    frame = request(1, "m", LONG)
    data = (in_headers(frame) if headers else frame) * 3
    for start in range(0, 4000, 251):
        log = RecentFrames()
        log.received(data[:start])
        for at in range(start, len(data), size):
            log.received(data[at : at + size])
            assert SECRET not in "".join(log.frames(1000))


def test_a_frame_is_not_cut_at_what_only_looks_like_a_new_line() -> None:
    """U+2028 and its like are letters to JSON."""
    log = RecentFrames()
    log.received(json.dumps({"env": {"A": f"x\u2028{SECRET}"}}, ensure_ascii=False).encode() + b"\n")
    (frame,) = log.frames()
    assert SECRET not in frame

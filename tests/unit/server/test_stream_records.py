"""What nodes write into the stream of a connection."""

import msgspec
import pytest

from acpella.server.cluster.records import MAX_AVERAGE, MIN_PACKED, Frames, encode

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"text":"%d"}}}'


@pytest.mark.parametrize(
    ("messages", "is_packed"),
    [
        pytest.param([UPDATE % n for n in range(100)], True, id="many small ones"),
        pytest.param([UPDATE % n for n in range(MIN_PACKED)], True, id="some"),
        pytest.param([UPDATE % n for n in range(MIN_PACKED - 1)], False, id="few"),
        pytest.param([b"x" * 2 * MAX_AVERAGE for _ in range(MIN_PACKED)], False, id="large ones"),
        pytest.param([], False, id="none"),
    ],
)
def test_messages_are_unpacked_as_they_were(messages: list[bytes], is_packed: bool) -> None:
    frames = Frames("s1", 7, messages, 1.5)
    body = frames.pack()
    assert Frames.unpack(body) == frames
    assert (len(body) < len(encode(frames))) == is_packed


def test_many_small_messages_take_a_tenth() -> None:
    frames = Frames("s1", 1, [UPDATE % n for n in range(500)])
    assert len(frames.pack()) < len(encode(frames)) / 10


@pytest.mark.parametrize("body", [b"", b"x", b"\x78\x01nonsense", encode({"a": 1})])
def test_what_is_no_entry_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Frames.unpack(body)

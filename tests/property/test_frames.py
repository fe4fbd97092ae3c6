"""However a stream of bytes is cut, the same messages come out and the same answers go out."""

import re
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from acpella.rpc import Limits, Peer
from acpella.rpc.framing import EXCERPT, Broken, Framer
from acpella.schema import methods
from interaction.wire import error, in_headers, notification, request, result, update

MAX_FRAME = 2 * EXCERPT
LIMITS = Limits(max_frame=MAX_FRAME)

MESSAGES = [
    update("a"),
    update("é😀"),
    update("x" * MAX_FRAME),
    request(1, "initialize", {"protocolVersion": 1}),
    request('"\\u00e9"', "_x/y", {"text": "\n"}),
    request(2, "_x/y", "x" * MAX_FRAME),
    request("true", "_x/y"),
    notification("session/update", {"sessionId": "s", "update": {"sessionUpdate": "dance"}}),
    notification("session/update", {"sessionId": "s"}),
    notification("$/cancel_request", {"requestId": 1}),
    result(0, None),
    result(1, "x" * MAX_FRAME),
    error(2, "x"),
]
GARBAGE = [
    b"garbage\n",
    b"{}\n",
    b"[]\n",
    b"\n",
    b"\r\n",
    b" ",
    b"\xff\xfe\n",
    b'{"id":3,"result":{oops}}\n',
    b"\xef\xbb\xbf",
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: x\r\n\r\n",
    b"Content-Length: 30\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Con",
    update("a").replace(b",", b",\n", 1),
    b'{"jsonrpc":"2.0","id":3,"result":',
]

# Two updates on one line and a blank one beside them pass for two lines when they are read at once.
TWO_ON_A_LINE = re.compile(rb"\}[ \t\r]*\{")

pieces = st.one_of(
    st.sampled_from(MESSAGES),
    st.sampled_from(MESSAGES).map(lambda line: line[:-1] + b"\r\n"),
    st.sampled_from(MESSAGES).map(in_headers),
    st.sampled_from(GARBAGE),
    st.binary(max_size=20),
)
streams = st.lists(pieces, max_size=12).map(b"".join)


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream, and the same stream in pieces."""
    data = draw(streams)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=20)))
    return data, [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def frames(chunks: list[bytes]) -> list[bytes | Broken]:
    framer = Framer(max_frame=MAX_FRAME)
    found: list[bytes | Broken] = []
    for block in [block for chunk in chunks for block in framer.feed(chunk)] + framer.finish():
        if isinstance(block, bytes) and framer.framing == "lines":
            found += [line for line in block.split(b"\n") if line.strip()]
        else:
            found.append(block)
    return found


@given(cut_streams())
@example((b"\xef\xbb\xbf{}\n", [b"\xef", b"\xbb\xbf{}\n"]))
@example((b"\n\xef\xbb\xbf{}\n", [b"\n", b"\xef\xbb\xbf{}\n"]))
@example((b"Content-Length: 2\r\n\r\n{}", [b"Con", b"tent-Length: 2\r\n\r", b"\n{", b"}"]))
def test_any_cut_gives_the_same_frames(cut: tuple[bytes, list[bytes]]) -> None:
    whole, parts = cut
    assert frames(parts) == frames([whole])


def conversation(vocabulary: Any, chunks: list[bytes]) -> tuple[list[Any], bytes]:
    """The events and the answers; whether updates were read the quick way or the slow one is left out."""
    peer = Peer(vocabulary, requests={"initialize", "_x/y"}, limits=LIMITS)
    for _ in range(4):
        peer.call("m", None)
    peer.take()
    events: list[Any] = [event for chunk in chunks for event in peer.receive(chunk)] + peer.finish()
    seen = [(e.method, e.params) if hasattr(e, "params") and not hasattr(e, "id") else e for e in events]
    stream = peer.stream_event
    seen = [(e.method, e.params) if stream and isinstance(e, stream) else e for e in seen]
    return [str(e) if "Failure" in type(e).__name__ else e for e in seen], bytes(peer.take())


@given(cut_streams())
@settings(max_examples=200)
@example(
    (update("a").replace(b",", b",\n", 1), [update("a")[:50].replace(b",", b",\n", 1), update("a")[50:]])
)
def test_any_cut_gives_the_same_events_and_answers(cut: tuple[bytes, list[bytes]]) -> None:
    whole, parts = cut
    assume(not TWO_ON_A_LINE.search(whole))
    for vocabulary in (methods.CLIENT, methods.AGENT):
        assert conversation(vocabulary, parts) == conversation(vocabulary, [whole])

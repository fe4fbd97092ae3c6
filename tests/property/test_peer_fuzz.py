"""Anything may arrive: nothing raises, what goes out is well formed, each request gets exactly one answer."""

import json
from collections import Counter
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from acpella.rpc import Failure, Limits, Peer, Reply, Request
from acpella.schema import methods
from interaction.wire import in_headers, read_header_frames, read_lines

Json = Any

SIDES = {"agent": methods.AGENT, "client": methods.CLIENT}
NAMES = sorted({name for side in SIDES.values() for name in (*side.requests, *side.notifications)})
EXTRAS = ["_x/y", "nope", "$/progress", "$/cancel_request", "", "é"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec=None), max_size=8),  # lone surrogates too
)
values: SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
ids = st.one_of(st.integers(), st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False))
texts = st.text(st.characters(codec=None), max_size=10)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "dance"]) | scalars}, optional={"text": texts}
)
updates = st.fixed_dictionaries(
    {"sessionUpdate": st.sampled_from(["agent_message_chunk", "plan", "tool_call", "dance"]) | scalars},
    optional={"content": blocks | values, "entries": values, "toolCallId": values, "title": values},
)
params = values | st.fixed_dictionaries(
    {},
    optional={
        "sessionId": texts | scalars,
        "update": updates | values,
        "prompt": st.lists(blocks, max_size=2) | values,
        "protocolVersion": st.integers() | scalars,
        "requestId": ids | values,
        "cwd": texts,
        "mcpServers": values,
        "path": texts,
        "content": values,
        "_meta": values,
    },
)
method_names = st.sampled_from(NAMES + EXTRAS)
messages = st.one_of(
    st.fixed_dictionaries({"method": method_names}, optional={"id": ids | values, "params": params}),
    st.fixed_dictionaries({"id": st.integers(0, 3)}, optional={"result": values, "error": values}),
    st.dictionaries(st.sampled_from(["id", "method", "params", "result", "error", "x"]), values),
    values,
)
raw_frames = st.one_of(
    messages.map(lambda value: json.dumps(value).encode()),
    messages.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.binary(max_size=40),
    st.tuples(messages.map(lambda value: json.dumps(value).encode()), st.integers(0, 200)).map(
        lambda t: t[0][: t[1]]
    ),
)


def play(side: str, data: bytes) -> tuple[Peer, list[Any]]:
    """Feed a peer that has calls waiting, and answer every request it reports."""
    peer = Peer(SIDES[side], limits=Limits(max_frame=5000))
    for _ in range(3):
        peer.call("m", None)
    peer.call(methods.INITIALIZE, methods.INITIALIZE.params(protocol_version=1))
    peer.take()
    events = peer.receive(data) + peer.finish()
    for number, event in enumerate(events):
        if isinstance(event, Request):
            if number % 2:
                peer.answer(event.id, None)
            else:
                peer.answer(event.id, {"you said": event.params})
    return peer, events


def answers_of(peer: Peer) -> list[dict[str, Any]]:
    """Read with a strict reader what goes out."""
    out = peer.take()
    headers = bytes(out[:8]) == b"Content-"
    answers = read_header_frames(out) if headers else read_lines(out)
    for answer in answers:
        assert answer["jsonrpc"] == "2.0"
        assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    return answers


def check(side: str, data: bytes) -> None:
    peer, events = play(side, data)
    answers_of(peer)
    ended = [event.id for event in events if isinstance(event, Reply | Failure)]
    assert len(ended) == len(set(ended)), "a call ended twice"
    assert not set(ended) & set(peer.forget_calls()), "a call ended and still waits"


@given(st.sampled_from(sorted(SIDES)), st.binary(max_size=200))
@example("agent", b'{"jsonrpc":"2.0","id":"\xff","method":"m"}\n')
@example("agent", b'[1e999]\n["\\ud83d"]\n')
@example("client", b'{"method":"session/update","id":null}')
@example("agent", b"Content-Length: 5\r\n\r\n{}")
def test_arbitrary_bytes_do_no_harm(side: str, data: bytes) -> None:
    check(side, data)


@given(st.sampled_from(sorted(SIDES)), st.lists(raw_frames, max_size=6), st.booleans())
def test_arbitrary_frames_do_no_harm(side: str, frames: list[bytes], headers: bool) -> None:
    check(side, b"".join(map(in_headers, frames)) if headers else b"\n".join(frames))


@given(st.sampled_from(sorted(SIDES)), st.lists(st.tuples(method_names, params), max_size=8), st.data())
def test_each_request_with_an_id_of_its_own_gets_exactly_one_answer(
    side: str, asked: list[tuple[str, Json]], data: st.DataObject
) -> None:
    """R-008"""
    size = len(asked)
    numbers = data.draw(st.lists(ids, min_size=size, max_size=size, unique_by=json.dumps))
    frames = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": value}).encode()
        for number, (method, value) in zip(numbers, asked, strict=True)
    ]
    peer, _ = play(side, b"\n".join(frames))
    answered = Counter(json.dumps(answer["id"]) for answer in answers_of(peer))
    assert answered == Counter(json.dumps(number) for number in numbers)

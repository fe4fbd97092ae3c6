"""What stands between two peers: frames pass unchanged, ids are kept apart, nobody waits for ever."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpella.errors import RpcError
from acpella.rpc.framing import Broken
from acpella.rpc.message import id_key, write_error, write_notification, write_request, write_result
from acpella.rpc.relay import UPDATE_SESSION, Direction, Frame, Relay, Side, read_frame

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"x":1}}}'


class Peers:
    """A relay and what its two peers were given."""

    def __init__(self, **options: Any) -> None:
        self.client = b""
        self.agent = b""
        self.relay = Relay(to_client=self._to_client, to_agent=self._to_agent, **options)

    def _to_client(self, data: bytes) -> None:
        self.client += data

    def _to_agent(self, data: bytes) -> None:
        self.agent += data

    def from_client(self, data: bytes) -> None:
        self.relay.receive("to_agent", data)

    def from_agent(self, data: bytes) -> None:
        self.relay.receive("to_client", data)


# -- looking at frames ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kind", "method", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{}}', "request", "a", b"1"),
        (b'{"params":{},"method":"a","id":"x","jsonrpc":"2.0"}', "request", "a", b'"x"'),
        (b'{"jsonrpc":"2.0","method":"a"}', "notification", "a", None),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', "response", "", b"1"),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}', "response", "", None),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', "noise", "a", None),
        (b'{"jsonrpc":"2.0","id":1}', "noise", "", b"1"),
        (b"Debug: hello", "noise", "", None),
        (b"[]", "noise", "", None),
        (b"\xff\xfe", "noise", "", None),
        (b"[" * 100_000, "noise", "", None),
    ],
)
def test_a_frame_tells_its_kind_method_and_id(
    data: bytes, kind: str, method: str, request_id: bytes | None
) -> None:
    frame = read_frame(data)
    assert (frame.kind, frame.method, frame.id) == (kind, method, request_id)
    assert frame.data is data


def test_a_frame_tells_the_session_that_its_parameters_name() -> None:
    assert read_frame(UPDATE).session == "s-1"
    assert read_frame(b'{"method":"a","params":{"sessionId":7}}').session is None
    assert read_frame(b'{"method":"a","params":[1]}').session is None
    assert read_frame(b'{"method":"a"}').session is None


def test_the_session_of_a_plain_update_is_found_without_reading_it() -> None:
    match = UPDATE_SESSION.match(UPDATE)
    assert match is not None and match[1] == b"s-1"
    assert UPDATE_SESSION.match(UPDATE.replace(b"s-1", b"s\\u0031")) is None
    assert UPDATE_SESSION.match(UPDATE.replace(b",", b" ,", 1)) is None


@pytest.mark.parametrize(
    ("one", "other"), [(b"1", b"1.0"), (b"-3", b"-3.0"), (b"10", b"1e1"), (b'"1"', b'"1"')]
)
def test_one_number_has_one_key_however_it_is_written(one: bytes, other: bytes) -> None:
    assert id_key(one) == id_key(other)


@pytest.mark.parametrize("odd", [b"null", b"1.5", b"1e999", b"-"])
def test_an_odd_id_is_its_own_key(odd: bytes) -> None:
    assert id_key(odd) == odd


def test_numbers_and_strings_are_different_ids() -> None:
    assert id_key(b"1") != id_key(b'"1"')


def test_written_messages_stay_on_one_line() -> None:
    raw = b'{\n "a": 1\n}'
    for line in (
        write_request(b"1", "a\nb", raw),
        write_notification("a", raw),
        write_result(b"1", raw),
        write_error(b"1", -1, "two\nlines", {"a": "b\nc"}),
    ):
        assert b"\n" not in line
        json.loads(line)


# -- passing -------------------------------------------------------------------------------------


def test_frames_pass_as_the_bytes_they_are() -> None:
    peers = Peers()
    odd = b'{ "method":"session/prompt", "params":{"sessionId":"s","n":1.50}, "id":7, "more":[1] }'
    peers.from_client(odd + b"\n")
    assert peers.agent == odd + b"\n"
    answer = b'{"result": {"x" : 1.0e2},"id":7,"jsonrpc":"2.0","more":true}'
    peers.from_agent(UPDATE + b"\n" + answer + b"\n")
    assert peers.client == UPDATE + b"\n" + answer + b"\n"
    assert not peers.relay.agent.pending


def test_noise_passes_and_is_told() -> None:
    heard: list[tuple[Direction, Broken | Frame]] = []

    def hear(direction: Direction, what: Broken | Frame) -> None:
        heard.append((direction, what))

    peers = Peers(on_noise=hear)
    peers.from_agent(b"Debug: hi\n")
    assert peers.client == b"Debug: hi\n"
    assert [(direction, what.data) for direction, what in heard if isinstance(what, Frame)] == [
        ("to_client", b"Debug: hi")
    ]


@given(st.lists(st.integers(1, 40), max_size=30))
def test_pieces_of_any_size_make_the_same_frames(cuts: list[int]) -> None:
    peers = Peers()
    data = UPDATE + b"\n\n" + write_request(b'"q"', "fs/read", {}) + b"\r\nnoise\n" + UPDATE + b"\n"
    rest = data
    for cut in cuts:
        peers.from_agent(rest[:cut])
        rest = rest[cut:]
    peers.from_agent(rest)
    assert peers.client.split(b"\n") == [*(line.strip() for line in data.split(b"\n") if line.strip()), b""]
    assert list(peers.relay.client.pending) == [b'"q"']


def test_a_last_line_without_an_end_passes_when_no_more_comes() -> None:
    peers = Peers()
    peers.from_client(b'{"method":"a"}')
    assert peers.agent == b""
    peers.relay.finish("to_agent")
    assert peers.agent == b'{"method":"a"}\n'


def test_a_client_that_frames_with_headers_is_answered_in_kind() -> None:
    peers = Peers()
    body = b'{"method":"a",\n"id":1}'
    peers.from_client(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert peers.agent == b'{"method":"a", "id":1}\n'
    peers.from_agent(UPDATE + b"\n" + UPDATE + b"\n")
    assert peers.client == (b"Content-Length: %d\r\n\r\n" % len(UPDATE) + UPDATE) * 2


# -- who waits -----------------------------------------------------------------------------------


def test_whoever_waits_for_a_peer_that_is_gone_hears_why() -> None:
    peers = Peers()
    peers.from_client(write_request(b"1", "session/prompt", {"sessionId": "s"}) + b"\n")
    peers.from_agent(write_request(b'"q"', "session/request_permission", {}) + b"\n")
    peers.client = peers.agent = b""
    peers.relay.lost("to_client", RpcError("the agent is gone", code=-32603))
    assert json.loads(peers.client)["error"] == {"code": -32603, "message": "the agent is gone"}
    assert json.loads(peers.client)["id"] == 1
    peers.relay.lost("to_agent", RpcError("the client is gone", code=-32603))
    assert json.loads(peers.agent)["id"] == "q"
    assert not peers.relay.agent.pending and not peers.relay.client.pending


def test_a_request_that_is_too_long_is_answered() -> None:
    peers = Peers(max_frame=100)
    peers.from_client(write_request(b"5", "a", {"text": "x" * 200}) + b"\n")
    assert peers.agent == b""
    assert json.loads(peers.client)["id"] == 5
    assert "at most 100 bytes" in json.loads(peers.client)["error"]["message"]


def test_a_response_that_is_too_long_ends_the_wait_for_it() -> None:
    peers = Peers(max_frame=200)
    peers.from_client(write_request(b"5", "a", {}) + b"\n")
    peers.from_agent(write_result(b"5", "x" * 300) + b"\n")
    assert json.loads(peers.client)["id"] == 5
    assert "error" in json.loads(peers.client)
    assert not peers.relay.agent.pending


DEEP = b"[" * 100_000  # not closed: Python 3.14 reads what is nested so deeply
TOO_DEEP = read_frame(b'{"id":1,"result":' + DEEP).reason


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b',"result":{"_meta":{"x":NaN}}}', "it is not JSON"),
        (b',"result":{"_meta":%b}}' % DEEP, TOO_DEEP),
        (b',"error":{"code":Infinity}}', "it is not JSON"),
        (b"}", "it is neither a request nor an answer"),
    ],
)
def test_an_answer_that_cannot_be_read_ends_the_wait_for_it(rest: bytes, reason: str) -> None:
    sent: list[bytes] = []
    agent = Side(sent.append)
    got: list[Frame] = []
    agent.forward(read_frame(write_request(b"5", "session/prompt", {})), got.append)
    sent.clear()
    assert agent.end_wait(read_frame(b'{"jsonrpc":"2.0","id":5' + rest))
    (answer,) = got
    assert json.loads(answer.data) == {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {"code": -32603, "message": f"the answer could not be read: {reason}"},
    }
    assert not agent.pending and sent == []


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b'{"jsonrpc":"2.0","id":"q","method":"fs/read","params":{"x":NaN}}', "it is not JSON"),
        (b'{"jsonrpc":"2.0","id":"q","method":"fs/read","params":%b}' % DEEP, TOO_DEEP),
        (b'{"jsonrpc":"2.0","id":"q","method":5}', "it is not a message"),
    ],
)
def test_a_request_that_cannot_be_read_is_answered(frame: bytes, reason: str) -> None:
    sent: list[bytes] = []
    assert Side(sent.append).end_wait(read_frame(frame))
    (answer,) = (json.loads(line) for line in sent)
    error = {"code": -32600, "message": f"the message could not be read: {reason}"}
    assert answer == {"jsonrpc": "2.0", "id": "q", "error": error}


@pytest.mark.parametrize(
    "frame",
    [
        b"Debug: hello",
        b"[1]",
        b'{"id":7,"level":"info","n":NaN}',
        b'{"id":null,"method":"a"}',
        b'{"method":"a","params":NaN}',
    ],
)
def test_noise_that_nobody_waits_for_gets_no_answer(frame: bytes) -> None:
    sent: list[bytes] = []
    assert not Side(sent.append).end_wait(read_frame(frame))
    assert sent == []


def test_a_response_to_nobody_passes_too() -> None:
    peers = Peers()
    peers.from_agent(write_result(b"9", {}) + b"\n")
    assert peers.client == write_result(b"9", {}) + b"\n"


# -- intercepting --------------------------------------------------------------------------------


def test_a_frame_can_be_held_back_and_passed_later() -> None:
    held: list[tuple[Direction, Frame]] = []

    def intercept(direction: Direction, frame: Frame) -> bool:
        if frame.method == "session/prompt":
            held.append((direction, frame))
            return False
        return True

    peers = Peers(intercept=intercept)
    prompt = write_request(b"1", "session/prompt", {})
    peers.from_client(prompt + b"\n" + write_notification("x", {}) + b"\n")
    assert peers.agent == write_notification("x", {}) + b"\n"
    assert not peers.relay.agent.pending
    peers.relay.pass_on(*held[0])
    assert peers.agent.endswith(prompt + b"\n")
    assert list(peers.relay.agent.pending) == [b"1"]


def test_a_frame_can_be_answered_instead_of_passed() -> None:
    def intercept(direction: Direction, frame: Frame) -> bool:
        if frame.kind == "request" and frame.id is not None:
            peers.relay.client.answer(frame.id, {"by": "relay"})
            return False
        return True

    peers = Peers(intercept=intercept)
    peers.from_client(write_request(b"1", "a", {}) + b"\n")
    assert (peers.agent, peers.client) == (b"", write_result(b"1", {"by": "relay"}) + b"\n")


def test_the_relay_can_ask_for_itself_without_taking_a_name_of_the_client() -> None:
    peers = Peers()
    replies: list[Frame] = []
    own = peers.relay.agent.call("session/list", {}, replies.append)
    peers.from_client(write_request(b"0", "a", {}) + b"\n")
    peers.from_agent(write_result(own, {"mine": True}) + b"\n" + write_result(b"0", {}) + b"\n")
    assert peers.client == write_result(b"0", {}) + b"\n"
    assert [bytes(reply.envelope.result) for reply in replies] == [b'{"mine":true}']


# -- several senders, one peer -------------------------------------------------------------------


def test_equal_ids_of_two_senders_are_kept_apart() -> None:
    sent: list[bytes] = []
    agent = Side(sent.append, own_ids=True)
    answers: dict[str, list[bytes]] = {"one": [], "two": []}
    request = read_frame(b'{"jsonrpc":"2.0","id":"same","method":"a","params":{"sessionId":"s"}}')
    for name, got in answers.items():
        agent.forward(request, lambda response, got=got: got.append(response.data), sender=name)
    assert [json.loads(line)["id"] for line in sent] == [0, 1]
    assert [json.loads(line)["params"] for line in sent] == [{"sessionId": "s"}] * 2
    assert [pending.session for pending in agent.pending.values()] == ["s", "s"]
    agent.settle(read_frame(write_result(b"1.0", {"for": "two"})))
    agent.settle(read_frame(write_error(b"0", -32000, "no")))
    assert answers == {
        "one": [b'{"jsonrpc":"2.0","id":"same","error":{"code":-32000,"message":"no"}}'],
        "two": [b'{"jsonrpc":"2.0","id":"same","result":{"for":"two"}}'],
    }


def test_a_cancellation_reaches_the_request_of_its_sender() -> None:
    sent: list[bytes] = []
    agent = Side(sent.append, own_ids=True)
    request = read_frame(write_request(b"7", "a", {}))
    for name in ("one", "two"):
        agent.forward(request, lambda response: None, sender=name)
    sent.clear()
    cancel = read_frame(write_notification("$/cancel_request", {"requestId": 7}))
    assert agent.cancel(cancel, sender="two")
    assert json.loads(sent[0])["params"] == {"requestId": 1}
    assert not agent.cancel(cancel, sender="three")
    assert not agent.cancel(read_frame(write_notification("$/cancel_request", {})), sender="two")
    assert len(sent) == 1


def test_what_a_sender_that_left_asked_for_is_forgotten() -> None:
    agent = Side(lambda data: None, own_ids=True)
    heard: list[str] = []
    request = read_frame(write_request(b"7", "a", {}))
    for name in ("one", "two"):
        agent.forward(request, lambda response, name=name: heard.append(name), sender=name)
    agent.forget("one")
    assert not agent.settle(read_frame(write_result(b"0", {})))
    agent.fail(RpcError("gone", code=-32603))
    assert heard == ["two"]


def test_what_a_peer_will_never_answer_can_be_taken_from_it() -> None:
    client = Side(lambda data: None)
    heard: list[Frame] = []
    client.forward(read_frame(write_request(b"7", "session/request_permission", {})), heard.append)
    assert [(key, pending.method) for key, pending in client.drain().items()] == [
        (b"7", "session/request_permission")
    ]
    assert not client.pending and not client.settle(read_frame(write_result(b"7", {}))) and not heard


def test_a_reply_may_ask_again_while_everything_fails() -> None:
    agent = Side(lambda data: None, own_ids=True)
    request = read_frame(write_request(b"7", "a", {}))
    replies: list[Frame] = []

    def again(response: Frame) -> None:
        replies.append(response)
        if len(replies) == 1:
            agent.forward(request, again)

    agent.forward(request, again)
    agent.fail(RpcError("gone", code=-32603))
    assert len(replies) == 1 and len(agent.pending) == 1


def test_an_answer_is_given_once() -> None:
    agent = Side(lambda data: None)
    got: list[Frame] = []
    agent.forward(read_frame(write_request(b"7", "a", {})), got.append)
    response = read_frame(write_result(b"7", {}))
    assert agent.settle(response) and not agent.settle(response)
    assert got == [response]


def test_a_request_that_goes_another_way_is_kept_as_well() -> None:
    sent: list[bytes] = []
    client = Side(sent.append)
    got: list[Frame] = []
    client.expect(read_frame(write_request(b"7", "fs/read", {})), got.append, session="s")
    assert sent == []
    assert [(pending.method, pending.session) for pending in client.pending.values()] == [("fs/read", "s")]
    assert client.settle(read_frame(write_result(b"7", {})))
    assert len(got) == 1


def test_a_response_can_be_redirected_while_it_is_awaited() -> None:
    agent = Side(lambda data: None)
    first: list[Frame] = []
    second: list[Frame] = []
    agent.forward(read_frame(write_request(b"7", "a", {})), first.append)
    assert agent.redirect(b"7.0", second.append)
    assert agent.settle(read_frame(write_result(b"7", {})))
    assert (len(first), len(second)) == (0, 1)
    assert not agent.redirect(b"7", second.append)

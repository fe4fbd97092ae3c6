"""Bytes in, events and bytes out: what comes in, and what it is answered (R-008 to R-017)."""

import json
from collections.abc import Container
from typing import Any

import msgspec
import pytest

from acpella.errors import InvalidParams, LocalProtocolError, RemoteProtocolError, RpcError
from acpella.rpc import CancelRequested, Failure, Limits, Noise, Notification, Peer, Reply, Request
from acpella.schema import InitializeRequest, InitializeResponse, Unknown, methods
from interaction.wire import (
    PLAIN,
    error,
    in_headers,
    message,
    notification,
    read_header_frames,
    request,
    result,
    sent,
    update,
)

LEGAL_IDS = ["1", '"1"', "0", "-5", "1.5", "1e3", "99999999999999999999", "9" * 5000, '"é"', '""', "null"]
ILLEGAL_IDS = ["true", "{}", "[]", '{"a":1}', "[1]"]

INITIALIZE = {"protocolVersion": 1}


def agent(**options: Any) -> Peer:
    return Peer(methods.AGENT, **options)


def client(**options: Any) -> Peer:
    return Peer(methods.CLIENT, **options)


def plain(**options: Any) -> Peer:
    return Peer(PLAIN, **options)


def refusal(peer: Peer) -> tuple[Any, int]:
    """The id and code of the one error that the peer answered with."""
    (answer,) = sent(peer)
    return answer["id"], answer["error"]["code"]


# -- requests ---------------------------------------------------------------------------


def test_a_request_becomes_an_event_with_typed_params() -> None:
    (event,) = agent().receive(request(1, "initialize", INITIALIZE))
    assert event == Request(b"1", "initialize", InitializeRequest(protocol_version=1))


@pytest.mark.parametrize("id", LEGAL_IDS)
@pytest.mark.parametrize("outcome", ["answer", "refuse", "unknown method", "bad params"])
def test_an_id_of_any_legal_kind_is_echoed_exactly(id: str, outcome: str) -> None:
    """R-008, R-010"""
    peer = agent(requests={"initialize"})
    method = "nope" if outcome == "unknown method" else "initialize"
    params = {} if outcome == "bad params" else INITIALIZE
    for event in peer.receive(request(id, method, params)):
        assert isinstance(event, Request)
        if outcome == "answer":
            peer.answer(event.id, {})
        else:
            peer.refuse(event.id, RpcError("no"))
    assert peer.take().startswith(b'{"jsonrpc":"2.0","id":%b,' % id.encode())


def test_an_escaped_id_is_echoed_as_the_same_string() -> None:
    peer = plain(requests=())
    peer.receive(rb'{"id":"\u00e9\ud83d","method":"m"}' + b"\n")
    assert refusal(peer) == ("é\ufffd", -32601)


@pytest.mark.parametrize("id", ILLEGAL_IDS)
def test_an_illegal_id_is_an_invalid_request(id: str) -> None:
    """R-010"""
    peer = plain()
    (event,) = peer.receive(request(id, "m"))
    assert isinstance(event, Noise)
    assert refusal(peer) == (None, -32600)


def test_an_id_that_is_not_utf_8_is_not_echoed() -> None:
    peer = plain()
    peer.receive(b'{"jsonrpc":"2.0","id":"\xff","method":"m"}\n')
    assert refusal(peer)[0] is None


def test_a_request_nobody_handles_is_answered_with_method_not_found() -> None:
    """R-011, R-027"""
    peer = agent(requests={"initialize"})
    assert peer.receive(request(3, "session/new") + request(4, "_vendor/thing")) == []
    assert [(a["id"], a["error"]["code"]) for a in sent(peer)] == [(3, -32601), (4, -32601)]


@pytest.mark.parametrize("params", [{}, [], "x", 5, {"protocolVersion": "one"}, {"protocolVersion": -1}])
def test_params_that_break_the_schema_are_refused(params: object) -> None:
    peer = agent()
    assert peer.receive(request(3, "initialize", params)) == []
    assert refusal(peer) == (3, -32602)


def test_params_of_an_extension_are_plain_json() -> None:
    """R-026"""
    peer = agent()
    events = peer.receive(request(1, "_x/y", {"a": [1, None]}) + message(id=2, method="_x/y"))
    assert [event.params for event in events if isinstance(event, Request)] == [{"a": [1, None]}, None]


@pytest.mark.parametrize("params", [b"1" * 5000, b"1e999", b'"\xff"', b"[" * 900 + b"]" * 900, b'"\\ud83d"'])
@pytest.mark.parametrize("method", [b"initialize", b"_x/y"])
def test_params_that_are_hard_to_read_still_get_one_answer(method: bytes, params: bytes) -> None:
    peer = agent()
    frame = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":{"protocolVersion":1,"x":%b}}\n' % (
        method,
        params,
    )
    for event in peer.receive(frame):
        assert isinstance(event, Request)
        peer.answer(event.id, None)
    (answer,) = sent(peer)
    assert answer["id"] == 1


def test_duplicate_keys_count_once_and_the_last_wins() -> None:
    (event,) = plain().receive(b'{"id":1,"method":"a","id":2,"method":"b","params":1,"params":2}\n')
    assert event == Request(b"2", "b", 2)


@pytest.mark.parametrize("version", [b"", b'"jsonrpc":"1.0",', b'"jsonrpc":2,', b'"jsonrpc":null,'])
def test_the_version_is_not_insisted_on(version: bytes) -> None:
    (event,) = plain().receive(b'{%b"id":1,"method":"m"}\n' % version)
    assert event == Request(b"1", "m", None)


# -- what is no message -------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        b"hello",
        b"{",
        b'{"id":01,"method":"m"}',
        b'{"method":"m","params":NaN}',
        b'{"id":1,"level":"info","n":NaN}',
        b"{'id':1}",
        b"\xff\xfe\x00",
        b"\x00",
    ],
)
def test_what_is_not_json_gets_one_parse_error(frame: bytes) -> None:
    """R-012"""
    peer = plain()
    first, second = peer.receive(frame + b"\n" + request(2, "m"))
    assert isinstance(first, Noise)
    assert second == Request(b"2", "m", {})
    assert refusal(peer) == (None, -32700)


@pytest.mark.parametrize("answer_noise", [True, False])
@pytest.mark.parametrize(
    "frame",
    [
        b'{"id":1,"method":"m"',
        b'{"id":1,"method":"m",}',
        b'{"id":1,"method":"m","params":NaN}',
        b'{"id":1,"method":"m","params":Infinity}',
        b'{"id":1,"method":"m","params":-Infinity}',
        b'{"method":"m","params":{"x":NaN},"id":1}',
        b'{"id":1,"method":"\xff"}',
        b'{"id":1,"method":"m"}{"id":2,"method":"m"}',
        rb'{"id":1,"method":"\ud83"}',
    ],
)
def test_a_request_that_is_not_json_is_answered_under_the_id_that_it_shows(
    frame: bytes, answer_noise: bool
) -> None:
    """A client dropped it, and the agent waited for ever; an agent answered it with a null id."""
    peer = plain(answer_noise=answer_noise)
    first, second = peer.receive(frame + b"\n" + request(2, "m"))
    assert isinstance(first, Noise)
    assert second == Request(b"2", "m", {})
    assert refusal(peer) == (1, -32700)


@pytest.mark.parametrize(
    "frame",
    [b"1", b'"x"', b"null", b"true", b"[]", b"[1]", b"[" + request(1, "m").strip() + b"]", b"{}", b'{"a":1}']
    + [b"[1e999]", b"[" + b"9" * 5000 + b"]", rb'["\ud83d"]', b'{"params":{}}'],
)
def test_json_that_is_no_message_gets_one_invalid_request(frame: bytes) -> None:
    """R-012, R-013: a batch is not part of ACP, its entries are not processed."""
    peer = plain()
    first, second = peer.receive(frame + b"\n" + request(2, "m"))
    assert isinstance(first, Noise)
    assert second == Request(b"2", "m", {})
    assert refusal(peer) == (None, -32600)


@pytest.mark.parametrize("method", ["5", "{}", "[]", "true"])
@pytest.mark.parametrize("id", LEGAL_IDS)
def test_a_method_that_is_no_string_is_an_invalid_request(method: str, id: str) -> None:
    peer = plain()
    peer.receive(f'{{"jsonrpc":"2.0","id":{id},"method":{method}}}\n'.encode())
    assert peer.take().startswith(b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32600,' % id.encode())


@pytest.mark.parametrize("where", ["alone", "params", "id", "result"])
def test_deep_nesting_gets_one_answer_and_harms_nobody(where: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    frames = {
        "alone": deep,
        "params": b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % deep,
        "id": b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % deep,
        "result": b'{"jsonrpc":"2.0","id":0,"result":%b}' % deep,
    }
    peer = plain()
    peer.call("m", None)
    peer.take()
    *_, event = peer.receive(frames[where] + b"\n" + request(2, "m"))
    assert event == Request(b"2", "m", {})
    answers = sent(peer)
    if where == "result":
        assert answers == []
    else:
        (answer,) = answers
        assert answer["error"]["code"] in (-32600, -32602)
        assert answer["id"] == (1 if where == "params" else None)


def test_noise_is_shown_shortened() -> None:
    (event,) = plain().receive(b"x" * 10_000 + b"\n")
    assert isinstance(event, Noise)
    assert len(event.excerpt) < 300 and event.excerpt.startswith("xxx")


@pytest.mark.parametrize(
    "frame",
    [b"Welcome!", b"{}", b"[]", b'{"level":"info","method":5}', request("true", "m").strip(), b"\xff"],
)
def test_banners_are_not_answered_when_noise_is_not(frame: bytes) -> None:
    peer = plain(answer_noise=False)
    (event,) = peer.receive(frame + b"\n")
    assert isinstance(event, Noise)
    assert sent(peer) == []


def test_a_deep_request_is_answered_also_where_noise_is_not() -> None:
    """A client dropped it, and the agent waited for ever."""
    peer = plain(answer_noise=False)
    deep = b"[" * 100_000 + b"]" * 100_000
    peer.receive(b'{"jsonrpc":"2.0","id":"d","method":"m","params":%b}\n' % deep)
    (answer,) = sent(peer)
    assert answer["id"] == "d"
    assert answer["error"]["code"] in (-32600, -32602)  # Python 3.14 reads it, and then finds no params in it


def test_blank_lines_are_nothing() -> None:
    peer = client()
    assert peer.receive(b"\n\r\n  \n\t\r\n") == []
    assert peer.finish() == []
    assert sent(peer) == []


def test_the_error_answer_of_a_peer_is_told_and_not_answered() -> None:
    peer = plain()
    (event,) = peer.receive(error("null", {"code": -32700, "message": "Parse error"}))
    assert isinstance(event, Noise) and "Parse error" in event.excerpt
    assert sent(peer) == []


# -- over-long frames -----------------------------------------------------------------------

LIMITS = Limits(max_frame=4096)


def test_an_over_long_request_is_refused_on_its_id() -> None:
    peer = plain(limits=LIMITS)
    first, second = peer.receive(request('"big"', "m", "x" * 5000) + request(2, "m"))
    assert isinstance(first, Noise)
    assert second == Request(b"2", "m", {})
    assert refusal(peer) == ("big", -32600)


def test_an_over_long_frame_without_an_id_is_refused_on_none() -> None:
    peer = plain(limits=LIMITS)
    peer.receive(b"x" * 5000 + b"\n")
    assert refusal(peer) == (None, -32600)


@pytest.mark.parametrize("order", ["id first", "id last"])
def test_an_over_long_response_still_ends_its_call(order: str) -> None:
    peer = plain(limits=LIMITS)
    peer.call("m", None)
    peer.take()
    long = "x" * 5000
    members: dict[str, Any] = {"id": 0, "result": long} if order == "id first" else {"result": long, "id": 0}
    (event,) = peer.receive(message(**members))
    assert isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)
    assert "4096" in str(event.error)
    assert sent(peer) == []


# -- notifications ----------------------------------------------------------------------------


def test_a_notification_is_never_answered() -> None:
    """R-009, R-011, R-015, R-028: unknown ones are ignored."""
    peer = agent(notifications={"session/cancel"})
    frames = [notification("nope"), notification("_x/nope"), notification("$/progress"), notification("exit")]
    assert peer.receive(b"".join(frames)) == []
    assert sent(peer) == []


@pytest.mark.parametrize("params", [b"5", b"{}", b"null", b'"\xff"', b"1e999", b'{"sessionId":7}'])
def test_a_malformed_notification_is_noise_and_gets_no_answer(params: bytes) -> None:
    """R-009, R-034: the session goes on."""
    peer = agent()
    first, second = peer.receive(
        b'{"method":"session/cancel","params":%b}\n' % params
        + notification("session/cancel", {"sessionId": "s"})
    )
    assert isinstance(first, Noise) and "session/cancel" in first.reason
    assert isinstance(second, Notification) and second.params.session_id == "s"
    assert sent(peer) == []


def test_a_notification_of_an_extension_is_plain_json() -> None:
    (event,) = client().receive(notification("_x/y", {"a": 1}))
    assert event == Notification("_x/y", {"a": 1})


# -- $/cancel_request ---------------------------------------------------------------------------


@pytest.mark.parametrize("id", LEGAL_IDS)
def test_a_cancel_request_names_the_id_as_the_request_did(id: str) -> None:
    peer = plain()
    cancel = b'{"method":"$/cancel_request","params":{"requestId":%b}}\n' % id.encode()
    asked, cancelled = peer.receive(request(id, "m") + cancel)
    assert isinstance(asked, Request)
    assert cancelled == CancelRequested(asked.id)


@pytest.mark.parametrize(
    "params", ["{}", "[]", "5", '{"requestId":[]}', '{"requestId":true}', '{"requestid":1}']
)
def test_a_malformed_cancel_request_is_ignored(params: str) -> None:
    """R-221"""
    peer = plain()
    assert peer.receive(b'{"method":"$/cancel_request","params":%b}\n' % params.encode()) == []
    assert peer.receive(b'{"method":"$/cancel_request"}\n') == []
    assert sent(peer) == []


def test_an_abandoned_call_tells_the_peer_and_ignores_a_late_answer() -> None:
    peer = plain()
    call = peer.call("m", {})
    peer.abandon(call)
    asked, cancel = sent(peer)
    assert cancel == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": asked["id"]}}
    peer.abandon(call)
    assert sent(peer) == []
    assert peer.receive(result(0, {})) == []


# -- responses ------------------------------------------------------------------------------------


def test_a_call_is_written_and_its_answer_typed() -> None:
    peer = client()
    call = peer.call(methods.INITIALIZE, InitializeRequest(protocol_version=1))
    (asked,) = sent(peer)
    assert (asked["jsonrpc"], asked["id"], asked["method"]) == ("2.0", 0, "initialize")
    assert asked["params"]["protocolVersion"] == 1
    (event,) = peer.receive(result(0, {"protocolVersion": 1}))
    assert isinstance(event, Reply) and event.id == call
    assert isinstance(event.result, InitializeResponse)


def test_answers_may_come_in_any_order() -> None:
    peer = plain()
    calls = [peer.call("m", i) for i in range(100)]
    events = peer.receive(b"".join(result(i, {"n": i}) for i in reversed(range(100))))
    assert events == [Reply(calls[i], {"n": i}) for i in reversed(range(100))]


@pytest.mark.parametrize(
    "frame",
    [result(7, {}), result('"0"', {}), result("0.0", {}), result("null", 5), error(7, {}), result("[0]", 1)],
)
def test_an_answer_to_no_call_is_dropped(frame: bytes) -> None:
    """R-014: never answered; the string is not the number."""
    peer = plain()
    peer.call("m", None)
    peer.take()
    assert peer.receive(frame) == []
    assert sent(peer) == []
    assert len(peer.receive(result(0, {}))) == 1


@pytest.mark.parametrize(
    "frame", [b'{"result":{}}', b'{"error":{"code":1,"message":"x"}}', b'{"jsonrpc":"2.0","id":9}']
)
def test_what_looks_like_an_answer_is_never_answered(frame: bytes) -> None:
    """R-014"""
    peer = plain()
    peer.receive(frame + b"\n")
    assert sent(peer) == []


def test_a_second_answer_is_dropped() -> None:
    peer = plain()
    peer.call("m", None)
    assert len(peer.receive(result(0, 1) + result(0, 2) + error(0, {}))) == 1


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ({"code": -32000, "message": "log in"}, -32000, "log in"),
        ({"code": 400, "message": "no", "data": None}, 400, "no"),
        ({"code": -32603}, -32603, "Internal error"),
        ({"code": 10**30, "message": "big"}, 10**30, "big"),
        ({"code": 1, "message": "x", "data": {"a": [1]}}, 1, "x"),
        ("x", -32603, "x"),
        (5, -32603, "5"),
        ([], -32603, "[]"),
        ({}, -32603, "{}"),
        ({"code": "oops", "message": "m"}, -32603, "oops"),
        ({"code": 1.5, "message": "m"}, -32603, "1.5"),
        ({"code": 1, "message": None}, -32603, "null"),
        (True, -32603, "true"),
    ],
)
def test_an_error_of_any_shape_ends_its_call(body: object, code: int, text: str) -> None:
    """R-050; FIELD-NOTES 6"""
    peer = plain()
    peer.call("m", None)
    (event,) = peer.receive(error(0, body))
    assert isinstance(event, Failure) and isinstance(event.error, RpcError)
    assert event.error.code == code
    assert text in event.error.message


@pytest.mark.parametrize("data", [b"9" * 5000, b"1e999", b'"\xff"', b'"\\ud83d"', b"[" * 950 + b"]" * 950])
def test_error_data_that_is_hard_to_read_ends_the_call_too(data: bytes) -> None:
    peer = plain()
    peer.call("m", None)
    (event,) = peer.receive(b'{"id":0,"error":{"code":1,"message":"m","data":%b}}\n' % data)
    assert isinstance(event, Failure)


@pytest.mark.parametrize(
    "frame", [b'{"id":0}', b'{"id":0,"error":null}', b'{"id":0,"params":{}}', b'{"id":0,"method":null}']
)
def test_an_answer_without_result_and_error_fails_the_call(frame: bytes) -> None:
    peer = plain()
    peer.call("m", None)
    (event,) = peer.receive(frame + b"\n")
    assert isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)
    assert "m has neither" in str(event.error)


def test_with_both_result_and_error_the_error_counts_unless_it_is_null() -> None:
    peer = plain()
    peer.call("m", None)
    peer.call("m", None)
    both = b'{"id":0,"result":1,"error":{"code":5,"message":"x"}}\n{"id":1,"result":1,"error":null}\n'
    failure, reply = peer.receive(both)
    assert isinstance(failure, Failure) and failure.error.code == 5  # type: ignore[union-attr]
    assert reply == Reply(b"1", 1)


def test_a_null_result_is_the_empty_one() -> None:
    """R-017; FIELD-NOTES 12"""
    peer = client()
    peer.call(methods.CLOSE_SESSION, methods.CLOSE_SESSION.params(session_id="s"))
    peer.call(methods.LIST_SESSIONS, methods.LIST_SESSIONS.params())
    peer.call("_x/y", None)
    closed, listed, extension = peer.receive(b"".join(result(i, None) for i in range(3)))
    assert isinstance(closed, Reply) and isinstance(closed.result, methods.CLOSE_SESSION.result)
    assert isinstance(listed, Reply) and listed.result.sessions == []
    assert extension == Reply(b"2", None)


@pytest.mark.parametrize("value", [b"5", b"{}", b'"\xff"', b'{"protocolVersion":"x"}', b"1e999", b"9" * 5000])
def test_a_result_that_breaks_the_schema_fails_the_call(value: bytes) -> None:
    peer = client()
    peer.call(methods.INITIALIZE, InitializeRequest(protocol_version=1))
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":0,"result":%b}\n' % value)
    assert isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)
    assert "initialize" in str(event.error)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","id":0,"result":{oops}}',
        b'{"jsonrpc":"2.0","id":0,"result":NaN}',
        b'{"id":0,"error":{"code":Infinity}}',
        b'{"jsonrpc":"2.0","id":0,"result":"\x00"}',
        b'{"jsonrpc":"2.0","id":0,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","result":[1,],"id":0}',
        b'{"jsonrpc":"2.0","id":0,"result":{"a":1}',
    ],
)
def test_an_unreadable_answer_still_ends_its_call(frame: bytes) -> None:
    peer = plain()
    peer.call("m", None)
    peer.take()
    events = peer.receive(frame + b"\n") + peer.finish()
    (event,) = events
    assert isinstance(event, Failure) and isinstance(event.error, RemoteProtocolError)
    assert sent(peer) == []


def test_a_lone_surrogate_in_an_answer_reads_as_a_replacement_character() -> None:
    peer = plain()
    peer.call("m", None)
    assert peer.receive(rb'{"id":0,"result":"cut \ud83d"}' + b"\n") == [Reply(b"0", "cut \ufffd")]


# -- the stream -----------------------------------------------------------------------------------


def texts(events: list[Any]) -> list[str]:
    return [event.params.update.content.text for event in events]


def test_updates_are_typed_and_keep_their_order() -> None:
    events = client().receive(b"".join(update(str(i)) for i in range(1000)))
    assert texts(events) == [str(i) for i in range(1000)]
    assert {event.method for event in events} == {"session/update"}  # type: ignore[union-attr]


def test_the_quick_way_and_the_slow_way_read_the_same() -> None:
    """A message of another kind in a chunk makes the peer read every line by itself."""
    lines = b"".join(update(str(i)) for i in range(10))
    quick = client().receive(lines)
    *slow, _ = client().receive(lines + notification("_x/y"))
    assert [e.params for e in quick] == [e.params for e in slow]  # type: ignore[union-attr]


def test_other_messages_in_the_middle_of_a_stream_keep_their_place() -> None:
    peer = client()
    peer.call("m", None)
    chunk = (
        update("a") + request(5, "_x/y") + update("b") + result(0, {}) + update("c") + notification("_x/z")
    )
    events = peer.receive(chunk)
    kinds = [getattr(event, "method", type(event).__name__) for event in events]
    assert kinds == ["session/update", "_x/y", "session/update", "Reply", "session/update", "_x/z"]


def test_an_update_of_an_unknown_kind_is_kept() -> None:
    """R-033"""
    strange = notification(
        "session/update", {"sessionId": "s", "update": {"sessionUpdate": "dance", "x": [1]}}
    )
    _, event, _ = client().receive(update("a") + strange + update("b"))
    assert isinstance(event, Notification) and isinstance(event.params.update, Unknown)
    assert event.params.update.tag == "dance"
    assert event.params.update.value == {"sessionUpdate": "dance", "x": [1]}


@pytest.mark.parametrize(
    "broken",
    [
        {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}},
        {
            "sessionId": "s",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 5}},
        },
        {"sessionId": 5, "update": {}},
        {},
        [],
    ],
)
def test_a_malformed_update_is_dropped_and_the_session_goes_on(broken: object) -> None:
    """R-034, R-035"""
    peer = client()
    first, noise, last = peer.receive(update("a") + notification("session/update", broken) + update("b"))
    assert isinstance(noise, Noise) and "session/update" in noise.reason
    assert texts([first, last]) == ["a", "b"]
    assert sent(peer) == []


@pytest.mark.parametrize("id", ["1", '"x"', "null"])
@pytest.mark.parametrize("others", [b"", notification("_x/y")], ids=["quick", "slow"])
def test_an_update_with_an_id_is_a_request_and_is_answered(id: str, others: bytes) -> None:
    """R-008: it asks for an answer, whatever its method."""
    peer = client(requests=())
    frame = b'{"id":%b,' % id.encode() + update("a")[1:]
    assert len(peer.receive(frame + others)) == bool(others)
    assert refusal(peer) == (json.loads(id), -32601)


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize(
    "wrong",
    [
        update("a").strip() + update("b"),
        update("a").strip() + b" " + update("b"),
        update("a").strip() + b"\r" + update("b"),
        update("a").replace(b'"params"', b'\n"params"'),
    ],
    ids=["joined", "joined with a space", "joined with CR", "newline inside"],
)
def test_lines_that_are_not_one_message_each_are_noise_however_they_were_cut(wrong: bytes, cut: bool) -> None:
    """R-002: what one read happened to hold must not decide."""
    peer = client()
    chunks = [wrong[:5], wrong[5:], update("c")] if cut else [wrong + update("c")]
    *noise, last = [event for chunk in chunks for event in peer.receive(chunk)]
    assert noise and all(isinstance(event, Noise) for event in noise)
    assert texts([last]) == ["c"]


def test_a_header_frame_may_hold_newlines() -> None:
    peer = client()
    spread = json.dumps(json.loads(update("a")), indent=2).encode()
    assert texts(peer.receive(in_headers(spread) + in_headers(update("b")))) == ["a", "b"]


@pytest.mark.parametrize("body", [update("a") + update("b"), update("a").strip() + update("b")])
def test_a_header_frame_holds_one_message(body: bytes) -> None:
    peer = client()
    (event,) = peer.receive(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert isinstance(event, Noise)


@pytest.mark.parametrize("value", [b"9" * 5000, b"1e999", b'"\\ud83d"'])
def test_an_update_that_is_hard_to_read_does_not_stop_the_stream(value: bytes) -> None:
    hard = update("a").replace(b'"sessionId"', b'"_meta": {"x":%b}, "sessionId"' % value)
    events = client().receive(hard + update("b"))
    assert texts(events[-1:]) == ["b"]


# -- what goes out ------------------------------------------------------------------------------------


def test_nothing_to_say_is_the_empty_object() -> None:
    """R-017"""
    peer = plain()
    peer.answer(b"1", None)
    assert sent(peer) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.parametrize("value", [0, False, "", [], {}])
def test_other_empty_results_go_out_as_they_are(value: object) -> None:
    peer = plain()
    peer.answer(b"1", value)
    assert sent(peer)[0]["result"] == value


class Unspeakable:
    """Cannot be written as JSON, in the most unpleasant way."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error


def raising(value: object) -> object:
    assert isinstance(value, Unspeakable)
    raise value.error("no JSON for you")


STUBBORN = type(PLAIN)(encoder=msgspec.json.Encoder(enc_hook=raising))


def endless() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


UNWRITABLE = [object(), {(1, 2): 3}, 10**5000, endless(), {"ok": 1, "bad": {object(): 1}}]


@pytest.mark.parametrize("headers", [False, True], ids=["lines", "headers"])
@pytest.mark.parametrize(
    "value",
    [
        *UNWRITABLE,
        *map(Unspeakable, [TypeError, ValueError, KeyError, OverflowError, RecursionError, RuntimeError]),
    ],
    ids=lambda value: value.error.__name__ if isinstance(value, Unspeakable) else type(value).__name__,
)
def test_a_result_that_is_no_json_becomes_an_internal_error(value: object, headers: bool) -> None:
    vocabulary = STUBBORN if isinstance(value, Unspeakable) else PLAIN
    peer = Peer(vocabulary, framing="headers" if headers else "lines")
    peer.answer(b"1", {"before": "x" * 100, "value": value})
    (answer,) = (read_header_frames if headers else lambda out: [json.loads(out)])(peer.take())
    assert answer == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error"}}


@pytest.mark.parametrize("value", UNWRITABLE, ids=lambda value: type(value).__name__)
def test_error_data_that_is_no_json_is_left_out(value: object) -> None:
    peer = plain()
    peer.refuse(b"1", InvalidParams("no", data=value))
    assert sent(peer) == [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}]


@pytest.mark.parametrize("wrong", [{"message": object()}, {"code": object()}])
def test_an_error_made_of_the_wrong_things_still_answers(wrong: dict[str, Any]) -> None:
    peer = plain()
    peer.refuse(b"1", RpcError(**wrong))
    (answer,) = sent(peer)
    assert answer["id"] == 1
    assert isinstance(answer["error"]["code"], int) and isinstance(answer["error"]["message"], str)


@pytest.mark.parametrize("headers", [False, True], ids=["lines", "headers"])
def test_half_an_emoji_goes_out_as_a_replacement_character(headers: bool) -> None:
    peer = plain(framing="headers" if headers else "lines")
    peer.answer(b"1", {"\ud83d": ["cut \ud83d", "whole 😀"]})
    peer.notify("m", "\ude00")
    peer.refuse(b"2", RpcError("\ud83d", data={"x": "\ud83d"}))
    peer.call("m", InitializeRequest(protocol_version=1, meta={"a": "\ud83d"}))
    out = peer.take()
    answer, note, refused, call = (read_header_frames if headers else read_all)(out)
    assert answer["result"] == {"\ufffd": ["cut \ufffd", "whole 😀"]}
    assert note["params"] == "\ufffd"
    assert refused["error"] == {"code": -32603, "message": "\ufffd", "data": {"x": "\ufffd"}}
    assert call["params"]["_meta"] == {"a": "\ufffd"}


def read_all(out: bytes | bytearray) -> list[Any]:
    return [json.loads(line) for line in bytes(out).splitlines()]


def test_an_unknown_member_with_half_an_emoji_beside_it_goes_out() -> None:
    strange = notification("session/update", {"sessionId": "s", "update": {"sessionUpdate": "dance", "x": 1}})
    (event,) = client().receive(strange)
    peer = agent()
    peer.notify("_x/y", {"cut": "\ud83d", "kept": event.params.update})  # type: ignore[union-attr]
    assert sent(peer)[0]["params"] == {"cut": "\ufffd", "kept": {"sessionUpdate": "dance", "x": 1}}


def test_a_failed_call_or_notification_leaves_nothing_behind() -> None:
    peer = plain()
    for send in (peer.call, peer.notify):
        with pytest.raises((TypeError, ValueError)):
            send("m", {"x": object()})
    assert sent(peer) == []
    assert peer.forget_calls() == []


def test_raw_json_inside_a_value_is_still_one_line() -> None:
    peer = Peer(PLAIN)
    peer.notify("told", {"update": msgspec.Raw(b'{\n"tag": "new\\n"\n}')})
    sent = peer.take()
    assert sent.count(b"\n") == 1
    assert json.loads(sent)["params"] == {"update": {"tag": "new\n"}}


def test_raw_json_with_newlines_is_still_one_line() -> None:
    """R-002: a proxy may pass on JSON that came in a header frame."""
    peer = plain()
    peer.answer(b"1", msgspec.Raw(b'{\n  "a": "b\\n"\r\n}'))
    assert sent(peer) == [{"jsonrpc": "2.0", "id": 1, "result": {"a": "b\n"}}]


def test_too_many_calls_at_once_are_refused_here() -> None:
    peer = plain(limits=Limits(max_calls=2))
    peer.call("m", None)
    peer.call("m", None)
    with pytest.raises(LocalProtocolError, match="2 calls"):
        peer.call("m", None)
    peer.receive(result(0, {}))
    peer.call("m", None)


def test_forgotten_calls_are_told_once() -> None:
    peer = plain()
    calls = [peer.call("m", None), peer.call("m", None)]
    assert peer.forget_calls() == calls
    assert peer.forget_calls() == []
    assert peer.receive(result(0, {})) == []


# -- framing in kind ----------------------------------------------------------------------------------


def test_a_peer_that_sends_headers_is_answered_with_headers() -> None:
    peer = plain(requests={"m"})
    (event,) = peer.receive(in_headers(request(1, "m", {"é": 1})) + in_headers(request(2, "nope")))
    assert isinstance(event, Request)
    peer.answer(event.id, "é")
    peer.notify("n", {})
    refused, answered, told = read_header_frames(peer.take())
    assert (refused["id"], answered["result"], told["method"]) == (2, "é", "n")


def test_garbage_between_header_frames_is_answered_once() -> None:
    peer = plain()
    data = in_headers(request(1, "m")) + b"garbage\r\n\r\n" + in_headers(request(2, "m"))
    first, noise, second = peer.receive(data)
    assert (first, second) == (Request(b"1", "m", {}), Request(b"2", "m", {}))
    assert isinstance(noise, Noise)
    (answer,) = read_header_frames(peer.take())
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_an_unterminated_last_line_counts() -> None:
    """R-016"""
    peer = plain()
    assert peer.receive(request(1, "m").strip()) == []
    assert peer.finish() == [Request(b"1", "m", {})]


class Only(Container[str]):
    """Decides at run time which methods are handled."""

    def __init__(self, start: str) -> None:
        self.start = start

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(self.start)


def test_the_handled_methods_may_be_any_container() -> None:
    peer = plain(requests=Only("_mine/"))
    (event,) = peer.receive(request(1, "_mine/a") + request(2, "_other/b"))
    assert event == Request(b"1", "_mine/a", {})
    assert refusal(peer) == (2, -32601)


def test_method_names_of_strangers_are_not_remembered() -> None:
    """A proxy that passes on notifications of any name must not grow."""
    peer = plain()
    for i in range(1000):
        peer.notify(f"_x/{i}", None)
    assert len(peer._prefixes) < 100  # pyright: ignore[reportPrivateUsage]

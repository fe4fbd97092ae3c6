"""A client's messages on their way to the agent, and the agent's bytes on their way to streams."""

import json
from typing import Any

import pytest

from acpella.rpc.message import write_error, write_request, write_result
from acpella.rpc.relay import Frame
from acpella.server import Scope, ServerSettings
from acpella.server.connection.agent_output import AgentOutput
from acpella.server.connection.client_input import ClientInput
from acpella.server.connection.liveness import Liveness
from acpella.server.connection.messages import Message
from acpella.server.connection.pending import PendingTables
from acpella.server.connection.profile import HTTP, Profile
from unit.server.parts import Streaming, audit, lines, notification, request, response, services, update

ALL: frozenset[Scope] = frozenset({"prompt", "approve", "read"})


class Joined:
    """Both directions, as a connection joins them; without an agent, a socket or a clock of its own."""

    def __init__(self, profile: Profile = HTTP, *, scopes: frozenset[Scope] = ALL, **settings: Any) -> None:
        self.services = services(ServerSettings(requests_per_second=0, **settings))
        self.streaming = Streaming(profile)
        self.to_agent: list[bytes] = []
        self.replies: list[Any] = []
        self.turns_ended = 0
        self.refused: list[int] = []
        self.pending = PendingTables(self.to_agent.append, may_approve="approve" in scopes)
        self.liveness = Liveness(profile, self.services.settings, now=0)
        self.output = AgentOutput(
            self.services,
            self.streaming.streams,
            self.pending,
            audit=audit(),
            label="c",
            principal="ada",
            on_greeting=self.liveness.greeting_answered,
            on_turn_end=self._on_turn_end,
        )
        self.input = ClientInput(
            self.services,
            self.streaming.streams,
            self.pending,
            audit=audit(),
            liveness=self.liveness,
            principal="ada",
            scopes=scopes,
            has_turn=lambda session_id: False,
            on_refusal=self.refused.append,
        )

    def _on_turn_end(self) -> None:
        self.turns_ended += 1

    def take(self, message: Message) -> None:
        self.input.take(message, self._reply, now=0)

    def _reply(self, reply: Frame) -> None:
        self.replies.append(json.loads(reply.data))

    def refusals(self, reason: str) -> float:
        return self.services.metrics.value("acpella_refused_total", f'reason="{reason}"')


def test_a_request_reaches_the_agent_and_its_answer_the_client() -> None:
    joined = Joined()
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    joined.take(prompt)
    assert joined.to_agent == [prompt.data]
    joined.output.feed(lines(write_result(b"1", {"stopReason": "end_turn"})))
    assert joined.replies == [{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}]
    assert joined.turns_ended == 1


def test_bytes_may_come_in_any_pieces() -> None:
    joined = Joined()
    data = lines(update("s", "a\rb"), b"", b"Debug: hello", update("s"))
    for at in range(len(data)):
        joined.output.feed(data[at : at + 1])
    assert joined.streaming.on(None) == [update("s", "a\rb"), update("s")]
    assert joined.services.metrics.value("acpella_noise_total") == 1


def test_a_made_session_gets_a_stream_before_its_answer_is_given() -> None:
    joined = Joined()
    joined.take(request(1, "session/new", {"cwd": "/"}))
    joined.output.feed(lines(write_result(b"1", {"sessionId": "s"}), update("s")))
    assert list(joined.streaming.streams.known) == ["s"]
    assert joined.streaming.on("s") == [update("s")]


def test_what_the_agent_offers_is_learnt() -> None:
    joined = Joined()
    joined.take(request(0, "initialize", {"protocolVersion": 1}))
    assert not joined.output.can_load
    joined.output.feed(lines(write_result(b"0", {"agentCapabilities": {"loadSession": True}})))
    assert joined.output.can_load


def test_mcp_servers_that_are_refused_are_not_offered() -> None:
    joined = Joined(mcp_urls="no")
    joined.take(request(0, "initialize", {"protocolVersion": 1}))
    offers = {"agentCapabilities": {"mcpCapabilities": {"http": True, "other": 1.50}}}
    joined.output.feed(lines(write_result(b"0", offers)))
    assert joined.replies[0]["result"]["agentCapabilities"]["mcpCapabilities"] == {
        "http": False,
        "other": 1.5,
    }


def test_an_answer_that_is_too_long_ends_the_wait_for_it() -> None:
    joined = Joined(max_message=200)
    joined.take(request(1, "session/prompt", {"sessionId": "s"}))
    joined.output.feed(lines(write_result(b"1", "x" * 500)))
    text = "the answer could not be read: a message may have at most 200 bytes"
    assert joined.replies[0]["error"]["message"] == text
    assert joined.turns_ended == 1


def test_an_answer_that_nobody_asked_for_is_the_clients_to_judge() -> None:
    joined = Joined()
    stray = write_error(b"null", -32700, "what was that?")
    joined.output.feed(lines(stray, write_result(b"99", {})))
    assert joined.streaming.on(None) == [stray, write_result(b"99", {})]


def test_questions_go_on_streams_and_answers_to_the_agent() -> None:
    joined = Joined()
    question = write_request(b'"q"', "fs/read_text_file", {"sessionId": "s", "path": "/x"})
    joined.output.feed(lines(question))
    assert joined.streaming.on(None) == [question]
    answer = response('"q"', {"content": "hello"})
    joined.take(answer)
    joined.take(answer)
    joined.take(response('"other"'))
    assert joined.to_agent == [answer.data], "once, and only what was asked"
    assert joined.refusals("answer") == 2


def test_a_request_that_is_refused_is_answered_and_counted() -> None:
    joined = Joined(scopes=frozenset({"read"}))
    joined.take(request(1, "session/prompt", {"sessionId": "s"}))
    joined.take(notification("session/cancel", {"sessionId": "s"}))
    assert joined.to_agent == []
    assert [reply["error"]["code"] for reply in joined.replies] == [-32003]
    assert joined.refused[0] > 0 and joined.refused[1] == 0
    assert joined.refusals("policy") == 2


def test_while_the_client_is_behind_requests_wait_in_order() -> None:
    joined = Joined(max_delayed=2)
    joined.input.stalled = True
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    cancel = notification("session/cancel", {"sessionId": "s"})
    joined.take(prompt)
    joined.take(cancel)
    assert joined.to_agent == []
    joined.take(request(2, "session/list"))
    assert [reply["error"]["code"] for reply in joined.replies] == [-32001], "too much waits"
    joined.input.stalled = False
    joined.input.release(now=0)
    assert joined.to_agent == [prompt.data, cancel.data]


def test_what_waits_when_the_agent_ends_is_answered() -> None:
    joined = Joined()
    joined.input.stalled = True
    joined.take(request(1, "session/prompt", {"sessionId": "s"}))
    joined.input.end("the connection ended")
    assert [reply["error"]["message"] for reply in joined.replies] == ["the connection ended"]


def test_what_is_confirmed_is_not_kept() -> None:
    joined = Joined()
    outbox = joined.streaming.streams.main
    outbox.be_lossless()
    outbox.put([b"a", b"b"])
    outbox.attach().take(100)
    for cursor in ("other-2", "nonsense", 7):
        ack = notification("$/acpella/ack", {"lastEventId": cursor})
        joined.input.acknowledge(ack, joined._reply, now=0)
    assert joined.streaming.on(None) == [b"a", b"b"]
    ack = request(5, "$/acpella/ack", {"lastEventId": "gen-1"})
    joined.input.acknowledge(ack, joined._reply, now=0)
    assert joined.streaming.on(None) == [b"b"]
    assert joined.replies == [{"jsonrpc": "2.0", "id": 5, "result": {}}], "who gives an id waits"


def test_a_question_that_is_too_long_is_answered_to_the_agent() -> None:
    """It was dropped, so the agent waited for ever."""
    joined = Joined(max_message=1000)
    text = "x" * 5000
    joined.output.feed(
        lines(write_request(b'"w"', "fs/write_text_file", {"sessionId": "s", "content": text}))
    )
    answer = json.loads(joined.to_agent[0])
    message = "the message could not be read: a message may have at most 1000 bytes"
    assert (answer["id"], answer["error"]) == ("w", {"code": -32600, "message": message})
    assert not joined.pending.questions


@pytest.mark.parametrize("value", [b"NaN", b"[" * 100_000])
def test_an_answer_that_cannot_be_read_ends_the_wait_for_it(value: bytes) -> None:
    """It was skipped as if it were no message, and the client waited for ever."""
    joined = Joined()
    joined.take(request(1, "session/prompt", {"sessionId": "s"}))
    joined.output.feed(lines(b'{"jsonrpc":"2.0","id":1,"result":{"_meta":%b}}' % value))
    assert joined.replies[0]["id"] == 1
    assert "the answer could not be read" in joined.replies[0]["error"]["message"]
    assert joined.turns_ended == 1


@pytest.mark.parametrize("value", [b"NaN", b"[" * 100_000])
def test_a_question_that_cannot_be_read_is_answered_to_the_agent(value: bytes) -> None:
    """It was dropped, so the agent waited for ever."""
    joined = Joined()
    joined.output.feed(lines(b'{"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":%b}' % value))
    answer = json.loads(joined.to_agent[0])
    assert (answer["id"], answer["error"]["code"]) == (5, -32600)
    assert not joined.pending.questions and joined.streaming.on(None) == []


def test_the_cancellation_of_a_delayed_request_waits_behind_it() -> None:
    """It overtook the request: the agent did not know it yet, and ran it afterwards."""
    joined = Joined()
    joined.input.stalled = True
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    joined.take(prompt)
    joined.take(request(1.0, "session/list"))
    assert joined.replies[0]["error"]["message"] == "a request with this id is running"
    cancel = notification("$/cancel_request", {"requestId": 1})
    joined.take(cancel)
    other = notification("$/cancel_request", {"requestId": 7})
    joined.take(other)
    assert joined.to_agent == [other.data]
    joined.input.stalled = False
    joined.input.release(now=0)
    assert joined.to_agent[1:] == [prompt.data, cancel.data]

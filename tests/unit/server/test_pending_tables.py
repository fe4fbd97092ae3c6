"""Who waits for whom between a client and its agent."""

import json

import pytest

from acpella.rpc.message import write_error, write_request, write_result
from acpella.rpc.relay import Frame, read_frame
from acpella.server.connection import pending as module
from acpella.server.connection.pending import PendingTables
from unit.server.parts import request, response


class Between:
    """The tables, what its agent was sent, and what its client's requests were answered."""

    def __init__(self, *, may_approve: bool = True) -> None:
        self.to_agent: list[bytes] = []
        self.replies: list[Frame] = []
        self.pending = PendingTables(self.to_agent.append, may_approve=may_approve)

    def ask(self, request_id: str, method: str) -> str:
        question = read_frame(write_request(request_id.encode(), method, {"sessionId": "s"}))
        return self.pending.add_question(question, "s")


def test_requests_pass_as_they_are_and_are_answered_once() -> None:
    between = Between()
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    between.pending.forward(prompt, between.replies.append)
    assert between.to_agent == [prompt.data]
    assert between.pending.turns == 1
    assert between.pending.has_turn("s") and not between.pending.has_turn("other")
    assert between.pending.prompted == {"s"}
    answer = read_frame(write_result(b"1.0", {}))
    pending = between.pending.answered(answer)
    assert pending is not None and (pending.method, pending.id) == ("session/prompt", b"1")
    assert between.pending.answered(answer) is None
    assert between.pending.turns == 0


def test_when_the_agent_is_gone_every_request_is_answered() -> None:
    between = Between()
    for number in (1, 2):
        between.pending.forward(request(number, "a"), between.replies.append)
    assert between.ask("7", "fs/read_text_file") == "open"
    between.pending.end("it is gone")
    assert [json.loads(reply.data)["id"] for reply in between.replies] == [1, 2]
    assert json.loads(between.replies[0].data)["error"] == {"code": -32603, "message": "it is gone"}
    assert not between.pending.requests and not between.pending.questions


def test_a_question_is_answered_once() -> None:
    between = Between()
    assert between.ask('"q"', "session/request_permission") == "open"
    assert between.to_agent == [], "the client hears it on a stream"
    question = between.pending.question_of(response('"q"').frame)
    assert question is not None and question.session == "s"
    assert between.pending.question_of(response('"q"').frame) is None


def test_a_client_that_may_not_approve_is_not_asked() -> None:
    between = Between(may_approve=False)
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    question = write_request(b"5", "session/request_permission", {"options": options})
    assert between.pending.add_question(read_frame(question), "s") == "rejected"
    assert json.loads(between.to_agent[0]) == {
        "jsonrpc": "2.0",
        "id": 5,
        "result": {"outcome": {"outcome": "selected", "optionId": "no"}},
    }
    assert between.ask("6", "fs/read_text_file") == "open"


def test_an_agent_that_only_asks_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_QUESTIONS", 2)
    between = Between()
    assert [between.ask(str(n), "a") for n in range(3)] == ["open", "open", "too many"]
    assert json.loads(between.to_agent[0])["id"] == 2
    assert json.loads(between.to_agent[0])["error"]["code"] == -32001


def test_questions_that_nobody_will_answer_are_cancelled_in_their_own_words() -> None:
    between = Between()
    for number, method in enumerate(
        ("session/request_permission", "elicitation/create", "fs/read_text_file")
    ):
        between.ask(str(number), method)
    assert [question.method for question in between.pending.cancel_questions()] == [
        "session/request_permission",
        "elicitation/create",
        "fs/read_text_file",
    ]
    assert between.to_agent == [
        write_result(b"0", {"outcome": {"outcome": "cancelled"}}),
        write_result(b"1", {"action": "cancel"}),
        write_error(b"2", -32603, "the client is gone"),
    ]
    assert between.pending.cancel_questions() == []


def test_an_answer_can_go_elsewhere() -> None:
    between = Between()
    elsewhere: list[Frame] = []
    between.pending.forward(request(1, "a"), between.replies.append)
    assert between.pending.redirect(b"1", elsewhere.append)
    between.pending.end("gone")
    assert (len(between.replies), len(elsewhere)) == (0, 1)


def test_a_turn_is_cancelled_with_a_notification() -> None:
    between = Between()
    between.pending.cancel_turn("s")
    assert json.loads(between.to_agent[0]) == {
        "jsonrpc": "2.0",
        "method": "session/cancel",
        "params": {"sessionId": "s"},
    }

"""What of a client's messages passes: messages in, verdicts out."""

from pathlib import Path

import pytest

from acpella.rpc.relay import Side
from acpella.server import Scope, ServerSettings
from acpella.server.connection.admission import Admission, DelayedMessages, Drop, MessageNumbers, Refuse
from acpella.server.connection.messages import NotAMessage, read_message
from unit.server.parts import Clock, notification, request, response, services

ALL: frozenset[Scope] = frozenset({"prompt", "approve", "read"})


class Judged:
    """An admission, and the requests that are under way."""

    def __init__(
        self,
        *,
        scopes: frozenset[Scope] = ALL,
        clock: Clock | None = None,
        turns: frozenset[str] = frozenset(),
        settings: ServerSettings | None = None,
    ) -> None:
        shared = services(settings, clock=clock)
        self.agent = Side(lambda data: None)
        self.admission = Admission(
            principal="ada",
            scopes=scopes,
            policy=shared.policy,
            rate=shared.rate,
            settings=shared.settings,
            requests=self.agent.pending,
            has_turn=turns.__contains__,
        )

    def begin(self, request_id: int, method: str, session: str | None = None) -> None:
        params = {} if session is None else {"sessionId": session}
        self.agent.forward(request(request_id, method, params).frame, lambda response: None)


def error_of(verdict: object) -> tuple[int, str]:
    assert isinstance(verdict, Refuse), verdict
    return verdict.error.code, verdict.error.message


def test_what_nothing_speaks_against_passes() -> None:
    judged = Judged()
    assert judged.admission.judge_request(request(1, "session/new", {"cwd": "/"})) == "pass"
    assert judged.admission.judge_notification(notification("session/cancel", {"sessionId": "s"})) == "pass"
    assert judged.admission.judge_response(response(1)) == "pass"


@pytest.mark.parametrize("request_id", ["1", "1.0"])
def test_an_id_cannot_be_used_twice_at_once(request_id: str) -> None:
    judged = Judged()
    judged.begin(1, "session/new")
    verdict = judged.admission.judge_request(request(request_id, "session/list"))
    assert error_of(verdict) == (-32600, "a request with this id is running")


def test_only_so_many_requests_wait() -> None:
    judged = Judged(settings=ServerSettings(requests_per_second=0, max_pending=2))
    judged.begin(1, "a")
    assert judged.admission.judge_request(request(2, "a")) == "pass"
    judged.begin(2, "a")
    assert error_of(judged.admission.judge_request(request(3, "a")))[0] == -32001


def test_only_so_many_prompts_of_a_session_wait_those_that_are_delayed_included() -> None:
    judged = Judged(settings=ServerSettings(requests_per_second=0, max_prompts=2))
    judged.begin(1, "session/prompt", "s")
    prompt = request(2, "session/prompt", {"sessionId": "s"})
    assert judged.admission.judge_request(prompt) == "pass"
    assert error_of(judged.admission.judge_request(prompt, prompts_delayed=1))[0] == -32001
    other = request(2, "session/prompt", {"sessionId": "other"})
    assert judged.admission.judge_request(other) == "pass"


def test_the_rate_is_counted_by_a_given_clock_and_leaves_room_to_cancel() -> None:
    clock = Clock()
    settings = ServerSettings(requests_per_second=1, request_burst=2)
    admission = Judged(clock=clock, settings=settings).admission
    assert [admission.judge_request(request(n, "a")) for n in range(2)] == ["pass", "pass"]
    refused = admission.judge_request(request(3, "a"))
    assert isinstance(refused, Refuse) and refused.metric == "rate"
    assert admission.judge_notification(notification("_note")) == Drop("rate", "there are too many")
    cancel = notification("session/cancel", {"sessionId": "s"})
    assert [admission.judge_notification(cancel) for _ in range(3)] == [
        "pass",
        "pass",
        Drop("rate", "there are too many"),
    ]
    clock.now += 1
    assert admission.judge_request(request(4, "a")) == "pass"
    assert isinstance(admission.judge_request(request(5, "a")), Refuse)


def test_scopes_decide_what_may_be_asked() -> None:
    reader = Judged(scopes=frozenset({"read"}), turns=frozenset({"busy"})).admission
    verdict = reader.judge_request(request(1, "session/prompt", {"sessionId": "s"}))
    assert isinstance(verdict, Refuse) and verdict.by_policy
    assert error_of(verdict) == (-32003, "this needs a token with the scope 'prompt'")
    assert reader.judge_request(request(1, "session/load", {"sessionId": "s"})) == "pass"
    assert error_of(reader.judge_request(request(1, "session/load", {"sessionId": "busy"})))[0] == -32003


def test_who_may_not_approve_cannot_answer_everything_at_once() -> None:
    report = response("null")
    assert Judged().admission.judge_response(report) == "pass"
    verdict = Judged(scopes=frozenset({"read", "prompt"})).admission.judge_response(report)
    assert isinstance(verdict, Drop) and verdict.metric == "answer"


def test_sessions_stay_below_the_roots(tmp_path: Path) -> None:
    settings = ServerSettings(requests_per_second=0, roots=(str(tmp_path),))
    admission = Judged(settings=settings).admission
    assert admission.judge_request(request(1, "session/new", {"cwd": str(tmp_path)})) == "pass"
    code, text = error_of(admission.judge_request(request(1, "session/new", {"cwd": "/"})))
    assert code == -32602 and "'/'" in text


# -- delayed messages ------------------------------------------------------------------------------


def test_requests_wait_while_the_client_is_behind_and_nothing_overtakes_them() -> None:
    delayed = DelayedMessages[str](most=2)
    prompt = request(1, "session/prompt", {"sessionId": "s"})
    cancel = notification("session/cancel", {"sessionId": "s"})
    other = notification("session/cancel", {"sessionId": "other"})
    assert not delayed.must_wait(prompt, stalled=False)
    assert delayed.must_wait(prompt, stalled=True)
    assert not delayed.must_wait(cancel, stalled=True), "it may help"
    delayed.add(prompt, "p")
    assert delayed.prompts("s") == 1 and delayed.prompts("other") == 0
    assert delayed.must_wait(cancel, stalled=True), "it is for the prompt before it"
    assert delayed.must_wait(cancel, stalled=False)
    assert not delayed.must_wait(other, stalled=True)
    delayed.add(cancel, "c")
    assert delayed.is_full
    assert [delayed.next(), delayed.next()] == [(prompt, "p"), (cancel, "c")]
    assert not delayed


# -- messages that are sent again --------------------------------------------------------------------


def test_a_number_is_taken_once_also_when_it_is_long_ago() -> None:
    numbers = MessageNumbers(most=3)
    assert [numbers.take(n) for n in (1, 2, 2, 1, 4, 3)] == [True, True, False, False, True, True]
    assert numbers.take(5)
    assert not numbers.take(1), "forgotten, but before all that is known"
    assert not numbers.take(3)
    assert numbers.take(9) and not numbers.take(9)


def test_a_request_that_is_not_json_is_refused_under_its_id() -> None:
    """Its client waited for an answer that came without an id."""
    with pytest.raises(NotAMessage) as refused:
        read_message(b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"x":NaN}}')
    assert b'"id":7' in refused.value.to_wire()
    with pytest.raises(NotAMessage) as refused:
        read_message(b"hello")
    assert b'"id":null' in refused.value.to_wire()

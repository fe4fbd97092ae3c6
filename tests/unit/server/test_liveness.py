"""When a connection is over: values and a time in, a decision out."""

from acpella.server import ServerSettings
from acpella.server.connection.liveness import (
    GONE_SECONDS,
    LAST_WORDS,
    UNUSED,
    Circumstances,
    Liveness,
    LivenessEnd,
)
from acpella.server.connection.profile import HTTP, WEBSOCKET, Profile

SETTINGS = ServerSettings(idle_seconds=600, detach_seconds=300, stall_seconds=30, initialize_seconds=20)
THERE = Circumstances(
    readers=1, closed=False, resumable=True, buffered=0, behind=0, pending=0, questions=0, draining=False
)
AWAY = THERE._replace(readers=0)


def alive(profile: Profile = HTTP, *, used: bool = True) -> Liveness:
    liveness = Liveness(profile, SETTINGS, now=0)
    liveness.seen(0, used=used)
    return liveness


def nothing_runs() -> bool:
    return False


def a_turn_runs() -> bool:
    return True


def test_a_client_that_is_there_stays() -> None:
    assert alive().check(599, THERE, nothing_runs) is None


def test_a_client_that_asks_for_nothing_for_long_is_let_go() -> None:
    liveness = alive()
    assert liveness.check(601, THERE, nothing_runs) == LivenessEnd(
        "nothing was asked of it for too long", code=1008
    )
    assert liveness.check(601, THERE._replace(pending=1), nothing_runs) is None, "it waits for an answer"
    liveness.seen(600)
    assert liveness.check(601, THERE, nothing_runs) is None


def test_a_client_has_time_to_come_back() -> None:
    liveness = alive()
    assert liveness.check(300, AWAY, nothing_runs) is None
    assert liveness.check(301, AWAY, a_turn_runs) == LivenessEnd("its client did not come back")


def test_a_connection_that_was_only_initialized_is_kept_for_less() -> None:
    liveness = alive(used=False)
    assert liveness.check(UNUSED, AWAY, nothing_runs) is None
    assert liveness.check(UNUSED + 1, AWAY, nothing_runs) == LivenessEnd("its client did not come back")


def test_a_socket_whose_client_cannot_come_back_ends_with_its_turns() -> None:
    gone = AWAY._replace(resumable=False)
    liveness = alive(WEBSOCKET)
    assert liveness.is_gone_for_good(gone)
    assert liveness.check(1, gone, a_turn_runs) is None
    assert liveness.check(1, gone, nothing_runs) == LivenessEnd("its client is gone")


def test_who_confirms_or_reads_a_window_can_come_back() -> None:
    assert not alive(WEBSOCKET).is_gone_for_good(AWAY)
    assert not alive(HTTP).is_gone_for_good(AWAY._replace(resumable=False))
    assert not alive(WEBSOCKET).is_gone_for_good(THERE._replace(resumable=False))


def test_questions_are_cancelled_when_nobody_will_answer_them() -> None:
    gone = AWAY._replace(resumable=False, questions=1)
    liveness = alive(WEBSOCKET)
    assert liveness.check(GONE_SECONDS, gone, a_turn_runs) is None
    assert liveness.check(GONE_SECONDS + 0.1, gone, a_turn_runs) == "cancel questions"
    asked = AWAY._replace(questions=1)
    assert alive().check(10, asked, a_turn_runs) is None, "its client may come back and answer"
    assert alive().check(10, asked._replace(draining=True), a_turn_runs) == "cancel questions"


def test_an_agent_that_does_not_answer_initialize_is_given_up() -> None:
    liveness = alive()
    liveness.greeted(100)
    assert liveness.check(120, THERE._replace(pending=1), nothing_runs) is None
    assert liveness.check(121, THERE._replace(pending=1), nothing_runs) == LivenessEnd(
        "the agent did not answer initialize in time", code=1011
    )
    liveness.greeting_answered()
    assert liveness.check(121, THERE._replace(pending=1), nothing_runs) is None


def test_a_client_that_reads_nothing_is_dropped() -> None:
    liveness = alive()
    liveness.stalled(10)
    assert liveness.check(40, THERE, nothing_runs) is None
    dropped = LivenessEnd("the client reads nothing", code=1008, abort=True)
    assert liveness.check(41, THERE, nothing_runs) == dropped
    liveness.progressed(41)
    assert liveness.check(71, THERE, nothing_runs) is None
    assert liveness.check(72, THERE, nothing_runs) == dropped
    liveness.flows()
    liveness.progressed(72)
    assert liveness.check(200, THERE, nothing_runs) is None, "progress means nothing when nobody waits"


def test_a_client_that_reads_nothing_and_can_come_back_is_hung_up_on() -> None:
    liveness = alive()
    liveness.stalled(10)
    behind = THERE._replace(behind=1)
    assert liveness.check(40, behind, nothing_runs) is None
    assert liveness.check(41, behind, nothing_runs) == "hang up"
    assert isinstance(liveness.check(41, behind._replace(resumable=False), nothing_runs), LivenessEnd)


def test_a_client_that_is_away_and_can_come_back_does_not_stall() -> None:
    liveness = alive(WEBSOCKET)
    liveness.stalled(10)
    assert liveness.check(100, AWAY, nothing_runs) is None
    assert isinstance(liveness.check(100, AWAY._replace(resumable=False), a_turn_runs), LivenessEnd)


def test_the_last_words_of_an_agent_can_be_read() -> None:
    closed = AWAY._replace(closed=True, buffered=10)
    liveness = alive()
    assert liveness.check(LAST_WORDS, closed, nothing_runs) is None
    assert liveness.check(LAST_WORDS + 1, closed, nothing_runs) == "forget"
    assert liveness.check(1, closed._replace(buffered=0), nothing_runs) == "forget"
    assert liveness.check(99, closed._replace(readers=1), nothing_runs) is None, "it is being read"

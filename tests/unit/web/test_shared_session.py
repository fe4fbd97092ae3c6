"""A session that several people have open."""

import msgspec
import pytest

from acpella.errors import RpcError
from acpella.rpc.relay import read_frame
from acpella.web.shared.session import SharedSession

ASKED = (
    b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","options":[]}}'
)


def session() -> SharedSession:
    return SharedSession("s", owner="mira", cwd="/project", changed=lambda one: None)


def test_a_question_is_answered_once_and_the_second_hears_by_whom() -> None:
    shared = session()
    shared.ask(read_frame(ASKED))
    assert shared.state == "waiting"
    question = shared.take_question(1)
    shared.note_answer(question, by="jonas", result={"outcome": {"outcome": "cancelled"}})
    assert shared.state == "idle"
    with pytest.raises(RpcError, match="answered by jonas"):
        shared.take_question(1)
    _, events = shared.log.after(0, 10_000)
    assert [msgspec.json.decode(event)["k"] for event in events] == ["ask", "answered"]


def test_only_the_owner_and_guests_have_a_role() -> None:
    shared = session()
    shared.guests["priya"] = "observer"
    assert [shared.role_of(name) for name in ("mira", "priya", "jonas")] == ["controller", "observer", None]

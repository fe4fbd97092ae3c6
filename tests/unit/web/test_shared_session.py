"""A session that several people have open."""

import msgspec
import pytest

from acpella.errors import RpcError
from acpella.rpc.relay import read_frame
from acpella.web.shared.session import SharedSession
from acpella.web.shared.viewer import Viewer

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


class SilentChannel:
    def received(self, data: bytes) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: Exception) -> None: ...


@pytest.mark.anyio
async def test_a_guest_who_may_only_watch_now_is_shown_as_such() -> None:
    shared = session()
    shared.let_in({"priya": "controller"})
    shared.join(Viewer(SilentChannel(), "priya", frozenset({"prompt", "approve"})), "controller", 0)
    assert [(one["role"], one["approves"]) for one in shared.people()] == [("controller", True)]
    shared.let_in({"priya": "observer"})
    assert [(one["role"], one["approves"]) for one in shared.people()] == [("observer", False)]

"""What a new home of a connection does about sessions that do not open."""

from types import SimpleNamespace
from typing import Any

import pytest

from acpella.rpc.relay import read_frame
from acpella.server.cluster.member import Member
from acpella.server.cluster.takeover import _reopen_sessions  # pyright: ignore[reportPrivateUsage] - values in, values out
from acpella.sessions import StoreUnavailable

pytestmark = pytest.mark.anyio

AWAY = b'{"code":-32603,"message":"the store is away","data":{"reason":"unavailable"}}'
GONE = b'{"code":-32002,"message":"there is no such session","data":{"sessionId":"s1"}}'
ODD = b'{"code":-32603,"message":"x","data":[1]}'


class Orphans:
    """Connections without a home, the first of them of a version that we do not know."""

    async def orphans(self) -> list[str]:
        return ["c:newer", "c:ours"]

    async def principal_of(self, stream: str) -> str:
        return stream


async def test_a_connection_of_a_newer_node_does_not_hold_up_the_others() -> None:
    """What it noted cannot be read here; all behind it waited for ever."""
    taken: list[str] = []

    async def take_over(connection_id: str, principal: str) -> None:
        taken.append(connection_id)
        if connection_id == "newer":
            raise KeyError("a profile of tomorrow")

    member: Any = SimpleNamespace(
        cluster=Orphans(), _table=SimpleNamespace(has=lambda connection_id: False), take_over=take_over
    )
    await Member._take_orphans(member)  # pyright: ignore[reportPrivateUsage] - values in, values out
    assert taken == ["newer", "ours"]


class Answering:
    """The requests of a connection, to an agent that refuses them."""

    def __init__(self, error: bytes) -> None:
        self._error = error

    def forward(self, message: Any, answered: Any) -> None:
        answered(read_frame(b'{"jsonrpc":"2.0","id":"acpella-resume-0","error":%s}' % self._error))


def home(error: bytes) -> Any:
    connection = SimpleNamespace(pending=Answering(error), label="c1")
    facts = SimpleNamespace(sessions={"s1": b'{"cwd":"/"}'})
    return SimpleNamespace(facts=facts, connection=connection, is_lost=False)


async def test_a_session_is_not_given_up_while_the_store_is_away() -> None:
    here = home(AWAY)
    with pytest.raises(StoreUnavailable):
        await _reopen_sessions(here)
    assert "s1" in here.facts.sessions


@pytest.mark.parametrize("error", [GONE, ODD])
async def test_a_session_that_does_not_open_is_for_its_client_to_load(error: bytes) -> None:
    here = home(error)
    await _reopen_sessions(here)
    assert here.facts.sessions == {}

"""The store of an agent cannot be reached: its editor learns what to do, and not where the store is."""

from typing import Any

import pytest

from acpella.sessions import MemoryStore, StoreUnavailable
from agent.editor import agent_of, editing

pytestmark = pytest.mark.anyio

WHERE = "the PostgreSQL database acpella on db.example:5432 cannot be reached"


class StoreThatGoes(MemoryStore):
    """A store that is away when the test says so."""

    away = False

    def _reach(self) -> None:
        if self.away:
            raise StoreUnavailable(WHERE)

    async def create(self, *arguments: Any, **options: Any) -> Any:
        self._reach()
        return await super().create(*arguments, **options)

    async def append(self, *arguments: Any, **options: Any) -> Any:
        self._reach()
        return await super().append(*arguments, **options)


@pytest.mark.parametrize("hosted", [{}, {"log_first": True}], ids=["stdio", "hosted"])
async def test_a_turn_that_cannot_be_kept_is_interrupted(
    hosted: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    store = StoreThatGoes()

    async def reply(turn: Any) -> Any:
        store.away = turn.text == "go away"
        yield turn.text

    async with editing(agent_of(reply, store=store), hosted=hosted) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "before") == "end_turn"
        error = await editor.prompt_fails(session, "go away")
        assert error.code == -32603 and error.data == {"reason": "interrupted"}
        assert "db.example" not in str(error) and WHERE in caplog.text
        store.away = False
        assert await editor.prompt(session, "after") == "end_turn"


async def test_other_requests_can_be_tried_again() -> None:
    store = StoreThatGoes()

    async def reply(turn: Any) -> Any:
        yield turn.text

    async with editing(agent_of(reply, store=store)) as editor:
        store.away = True
        error = await editor.fails("session/new", {"cwd": editor.cwd, "mcpServers": []})
        assert error.data == {"reason": "unavailable"} and "db.example" not in str(error)
        store.away = False
        assert await editor.prompt(await editor.new(), "now") == "end_turn"

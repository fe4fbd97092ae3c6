"""When a session counts as loaded, although its agent goes on telling what was said in it."""

import asyncio

import pytest

from acpella.client import replay

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("before", [0, 5])
async def test_a_replay_that_begins_late_is_waited_for_if_nothing_came_before_the_answer(
    monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr(replay, "QUIET", 0.001)
    monkeypatch.setattr(replay, "LATE_QUIET", 0.01)
    monkeypatch.setattr(replay, "SILENT_QUIET", 3600)
    monkeypatch.setattr(replay, "REPLAY_WITHIN", 3600)
    count = before
    polls = 0
    polled_often = asyncio.Event()

    def updates() -> int:
        nonlocal polls
        polls += 1
        if polls > 20:
            polled_often.set()
        return count

    async with asyncio.timeout(20):
        waiting = asyncio.create_task(replay.until_quiet(updates))
        if before:
            await waiting  # it has told all
            return
        await polled_often.wait()  # each time after another QUIET
        assert not waiting.done()
        count += 1
        await waiting

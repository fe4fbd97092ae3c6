"""The registry of sessions in memory."""

import asyncio
import logging
from typing import Any

import pytest

from acpella.sessions import LiveSessions

pytestmark = pytest.mark.anyio


class Registry:
    """A registry of strings with a clock that stands still."""

    def __init__(self, *, max_sessions: int = 3, idle_seconds: float | None = 10) -> None:
        self.now = 0.0
        self.unloaded: list[str] = []
        self.busy: set[str] = set()
        self.asked = 0
        self.live = LiveSessions(
            self.unload,
            self.is_busy,
            max_sessions=max_sessions,
            idle_seconds=idle_seconds,
            clock=lambda: self.now,
        )

    async def unload(self, session: str) -> None:
        self.unloaded.append(session)

    def is_busy(self, session: str) -> bool:
        self.asked += 1
        return session in self.busy

    async def add(self, *names: str) -> None:
        for name in names:
            await self.live.add(name, name.upper())


async def test_what_is_added_can_be_found_and_removed() -> None:
    registry = Registry()
    await registry.add("a")
    assert registry.live.get("a") == "A" and "a" in registry.live and len(registry.live) == 1
    assert registry.live.remove("a") == "A"
    assert registry.live.remove("a") is None and registry.live.get("a") is None
    assert registry.unloaded == []


async def test_an_id_is_live_once() -> None:
    registry = Registry()
    await registry.add("a")
    with pytest.raises(ValueError, match="'a' is live already"):
        await registry.add("a")


async def test_beyond_the_bound_the_least_recently_used_goes() -> None:
    registry = Registry()
    await registry.add("a", "b", "c")
    registry.live.get("a")
    await registry.add("d")
    assert registry.unloaded == ["B"]
    assert list(registry.live) == ["c", "a", "d"]


async def test_a_busy_session_stays() -> None:
    registry = Registry()
    await registry.add("a", "b", "c")
    registry.busy = {"A"}
    await registry.add("d", "e")
    assert registry.unloaded == ["B", "C"]
    assert set(registry.live) == {"a", "d", "e"}


async def test_if_all_are_busy_there_are_more_until_they_rest() -> None:
    registry = Registry()
    registry.busy = {"A", "B", "C", "D", "E"}
    await registry.add("a", "b", "c", "d", "e")
    assert len(registry.live) == 5 and registry.unloaded == []
    registry.busy = set()
    await registry.add("f")
    await registry.add("g")
    assert len(registry.live) == 3


async def test_the_ten_thousandth_is_added_as_fast_as_the_first() -> None:
    registry = Registry(max_sessions=100)
    registry.busy = {str(n) for n in range(10_000)}  # the worst case: none can go
    for n in range(10_000):
        registry.asked = 0
        await registry.add(str(n))
        assert registry.asked <= 8
    assert len(registry.live) == 10_000


async def test_what_is_idle_for_too_long_goes() -> None:
    registry = Registry()
    await registry.add("a", "b", "c")
    registry.now = 5
    registry.live.get("a")
    registry.busy = {"B"}
    assert await registry.live.reap(9.9) == 0
    registry.now = 10
    assert await registry.live.reap(10) == 1
    assert registry.unloaded == ["C"]
    assert set(registry.live) == {"a", "b"}
    registry.busy = set()
    assert await registry.live.reap(15) == 1  # being busy counted as use
    assert await registry.live.reap(20) == 1
    assert registry.unloaded == ["C", "A", "B"] and len(registry.live) == 0


async def test_reaping_looks_at_nothing_that_is_not_due() -> None:
    registry = Registry(max_sessions=1000)
    await registry.add(*(str(n) for n in range(1000)))
    registry.asked = 0
    await registry.live.reap(5)
    assert registry.asked == 0


async def test_the_reaper_runs_until_it_is_cancelled() -> None:
    gone = asyncio.Event()

    async def unload(session: str) -> None:
        gone.set()

    live = LiveSessions(unload, lambda session: False, idle_seconds=0.02)
    reaper = asyncio.ensure_future(live.run_reaper())
    async with asyncio.timeout(60):
        for name in "ab":
            await live.add(name, name)
            await gone.wait()
            gone.clear()
    assert len(live) == 0
    reaper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reaper


async def test_without_a_limit_nothing_is_reaped() -> None:
    registry = Registry(idle_seconds=None)
    await registry.add("a")
    assert await registry.live.reap(1e9) == 0
    await registry.live.run_reaper()


async def test_a_session_that_is_being_unloaded_can_be_waited_for() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def unload(session: str) -> None:
        entered.set()
        await leave.wait()

    live = LiveSessions(unload, lambda session: False, max_sessions=1)
    await live.add("a", "a")
    add = asyncio.ensure_future(live.add("b", "b"))
    async with asyncio.timeout(60):
        await entered.wait()
        assert live.get("a") is None
        settle = asyncio.ensure_future(live.settle("a"))
        await asyncio.sleep(0)
        assert not settle.done()
        leave.set()
        await settle
        await add
        await live.settle("a")


async def test_a_failing_unload_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def unload(session: str) -> None:
        raise RuntimeError("no")

    live = LiveSessions(unload, lambda session: False, max_sessions=1)
    with caplog.at_level(logging.ERROR):
        await live.add("a", "a")
        await live.add("b", "b")
    assert list(live) == ["b"] and "unloading session a failed" in caplog.text


@pytest.mark.parametrize("options", [{"max_sessions": 0}, {"idle_seconds": 0}])
async def test_bounds_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        LiveSessions(lambda session: asyncio.sleep(0), lambda session: False, **options)


async def test_looking_at_all_sessions_is_no_use_of_them() -> None:
    """Each connection that ended looked at all of them, so that none was ever idle for long enough."""
    now = 0.0
    unloaded: list[str] = []

    async def unload(session: str) -> None:
        unloaded.append(session)

    live = LiveSessions(unload, lambda session: False, idle_seconds=60, clock=lambda: now)
    await live.add("a", "A")
    now = 59.0
    assert live.values() == ["A"]
    now = 61.0
    await live.reap()
    assert unloaded == ["A"]

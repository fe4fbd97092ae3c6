"""When the agent that a user's pages share is let go."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acpella import Agent
from acpella.server.agent_factories import InProcessFactory
from acpella.web.shared import agents as module
from acpella.web.shared.about import About
from acpella.web.shared.agents import SharedAgents
from acpella.web.shared.records import SessionRecords
from acpella.web.shared.viewer import Viewer


class Timers:
    """A loop whose time a test sets."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[Any] = []

    def call_later(self, seconds: float, call: Any, *values: Any) -> Any:
        timer = SimpleNamespace(at=self.now + seconds, run=lambda: call(*values))
        timer.cancel = lambda: self._timers.remove(timer)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for timer in [one for one in self._timers if one.at <= self.now]:
            self._timers.remove(timer)
            timer.run()


class Page:
    def received(self, data: bytes) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: Exception) -> None: ...


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    timers = Timers()
    monkeypatch.setattr(module.asyncio, "get_running_loop", lambda: timers)
    return timers


def shared(directory: Path) -> tuple[SharedAgents, Any]:
    """The agents of a server, and how often mira's was let go."""
    agents = SharedAgents(InProcessFactory(Agent("echo")), About(cwd=str(directory)), SessionRecords())
    host: Any = agents.host_of("mira")
    host.rested = 0

    def rest() -> None:
        host.rested += 1

    host.rest = rest
    return agents, host


def page(agents: SharedAgents) -> Viewer:
    viewer = Viewer(Page(), "mira", frozenset())
    agents.viewers.add(viewer)
    return viewer


def test_an_agent_is_let_go_half_an_hour_after_the_last_page(tmp_path: Path, timers: Timers) -> None:
    """A page that came and went in between did not begin the time anew."""
    agents, host = shared(tmp_path)
    agents.leave(page(agents))
    timers.advance(1700)
    agents.leave(page(agents))
    timers.advance(200)
    assert host.rested == 0
    timers.advance(1600)
    assert host.rested == 1


def test_an_agent_with_a_long_turn_is_let_go_after_it(tmp_path: Path, timers: Timers) -> None:
    """It was kept for ever when its turn lasted longer than the half hour."""
    agents, host = shared(tmp_path)
    session = host.session("s")
    session.turn_since = "now"
    agents.leave(page(agents))
    timers.advance(1900)
    assert host.rested == 0
    session.turn_since = None
    timers.advance(1900)
    assert host.rested == 1

"""The pytest plugin: fixtures that start agents and clients. pytest finds it by itself.

Nothing but the options is set up before a test asks for a fixture.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from .model import FakeModel
    from .reaching import Transport
    from .starting import AgentStarter, ClientStarter, ReplayStarter

__all__ = [
    "acp_agent",
    "acp_client",
    "acp_model",
    "acp_replay",
    "acp_snapshot",
    "acp_transport",
    "pytest_addoption",
]

_TRANSPORTS = ("stdio", "memory", "websocket", "http")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and settings."""
    group = parser.getgroup("acp", "agents and clients of the Agent Client Protocol")
    group.addoption(
        "--acp-agent", metavar="AGENT", help="the agent under test: a command, agent.py, module:name or a URL"
    )
    group.addoption("--acp-transport", choices=_TRANSPORTS, help="how agents are reached; default: stdio")
    group.addoption("--acp-update", action="store_true", help="keep conversations of now as snapshots")
    parser.addini("acp_agent", "the agent under test: a command, agent.py, module:name or a URL", default="")
    parser.addini(
        "acp_transport", "how agents are reached: stdio, memory, websocket or http", default="stdio"
    )


@pytest.fixture
def acp_transport(request: pytest.FixtureRequest) -> "Transport":
    """How agents are reached. `@pytest.mark.parametrize("acp_transport", TRANSPORTS)` tries every way."""
    chosen = request.config.getoption("--acp-transport") or request.config.getini("acp_transport")
    if chosen not in _TRANSPORTS:
        raise pytest.UsageError(f"acp_transport is one of {', '.join(_TRANSPORTS)}, not {chosen!r}")
    return chosen


@pytest.fixture
def acp_agent(
    request: pytest.FixtureRequest, acp_transport: "Transport", tmp_path_factory: pytest.TempPathFactory
) -> "AgentStarter":
    """Starts the agent under test: `with acp_agent() as agent:` or `async with`."""
    from .starting import AgentStarter

    def folder() -> Path:
        return tmp_path_factory.mktemp("acp", numbered=True)

    return AgentStarter(_target_of(request.config), acp_transport, folder)


@pytest.fixture
def acp_client(request: pytest.FixtureRequest, acp_transport: "Transport") -> "ClientStarter":
    """Talks to the agent under test in plain messages: `async with acp_client() as client:`."""
    from .starting import ClientStarter

    return ClientStarter(_target_of(request.config), acp_transport)


@pytest.fixture
def acp_replay(request: pytest.FixtureRequest, acp_agent: "AgentStarter") -> "ReplayStarter":
    """Starts the agent of a recording: `with acp_replay("talk.jsonl") as agent:` or `async with`."""
    from .starting import ReplayStarter

    def find(path: str) -> Path:
        places = [request.path.parent / path, request.config.rootpath / path, Path(path)]
        for place in places:
            if place.is_file():
                return place
        raise FileNotFoundError(f"there is no recording {path} beside the test or in {places[1].parent}")

    return ReplayStarter(acp_agent, find)


@pytest.fixture
def acp_model() -> "Iterator[FakeModel]":
    """A fake model that does what the prompt says; `acp_model.url` is where it listens."""
    from .model import FakeModel

    with FakeModel() as model:
        yield model


@pytest.fixture
def acp_snapshot(request: pytest.FixtureRequest, acp_agent: "AgentStarter") -> Callable[..., None]:
    """`acp_snapshot()` after a conversation compares it with the one that was kept beside the test.

    `pytest --acp-update` keeps the conversation of now. A name tells several snapshots of one test apart.
    """

    def check(name: str = "") -> None:
        from .snapshots import check_snapshot, write_snapshot

        __tracebackhide__ = True
        words = re.sub(r"[^\w.-]+", "-", cast(str, request.node.name)).strip("-")
        file = f"{words}-{name}.jsonl" if name else f"{words}.jsonl"
        path = request.path.parent / "acp_snapshots" / request.path.stem / file
        conversations = acp_agent.conversations()
        if not conversations:
            raise pytest.UsageError("acp_snapshot() comes after the block in which acp_agent() talked")
        places = {str(request.config.rootpath): "<root>"}
        if "tmp_path" in request.fixturenames:
            places[str(request.getfixturevalue("tmp_path"))] = "<tmp_path>"
        if request.config.getoption("--acp-update"):
            write_snapshot(path, conversations, places)
        else:
            check_snapshot(path, conversations, places)

    return check


def _target_of(config: pytest.Config) -> Any:
    def choose(target: Any, over: str) -> Any:
        if target is None:
            target = config.getoption("--acp-agent") or config.getini("acp_agent")
            if not target:
                raise pytest.UsageError(
                    "no agent to test: say pytest --acp-agent COMMAND, write acp_agent = COMMAND into the "
                    "settings of pytest, or name one in the test: acp_agent(COMMAND)"
                )
        if not isinstance(target, str):
            return target
        from acpella._references import is_reference

        from .program import load_agent

        place, _, name = target.rpartition(":")
        if target.endswith(".py") and (config.rootpath / target).is_file():
            return config.rootpath / target
        if is_reference(target):
            if place.endswith(".py") and (config.rootpath / place).is_file():
                target = f"{config.rootpath / place}:{name}"
            return (
                [sys.executable, "-m", "acpella.testing.program", target]
                if over == "stdio"
                else load_agent(target)
            )
        return target

    return choose

"""A recording of an agent says the same to our client as the agent did: text, tool calls, stop reasons."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from acpella.client import ConnectedAgent, Permissions, Workspace
from acpella.testing import FakeModel, recipe
from acpella.testing.starting import AgentStarter, ReplayStarter, StartedAgent

pytestmark = pytest.mark.anyio

CANCEL = "the prompt after which the client has heard enough: "
Outcome = tuple[str, str | None, list[Any]]


async def outcomes(started: StartedAgent, project: Path, prompts: Sequence[str]) -> list[Outcome]:
    """What our client makes of each turn."""
    async with asyncio.timeout(60), started as agent:
        return await _talk(agent, project, prompts)


async def _talk(agent: ConnectedAgent, project: Path, prompts: Sequence[str]) -> list[Outcome]:
    session = await agent.new_session(project)
    found: list[Outcome] = []
    for prompt in prompts:
        async with session.prompt(prompt.removeprefix(CANCEL)) as turn:
            async for _ in turn:
                if prompt.startswith(CANCEL) and turn.text:
                    break
        result = turn.result
        calls = [(call.title, call.kind, call.status) for call in result.tool_calls.values()]
        # how much of a cancelled turn was heard is chance
        found.append(("" if prompt.startswith(CANCEL) else result.text, result.stop_reason, calls))
    return found


OPTIONS: Any = {"files": Workspace(write=True), "permissions": Permissions("allow-all")}


async def test_an_official_agent(
    official_agent: list[str], acp_agent: AgentStarter, acp_replay: ReplayStarter, tmp_path: Path
) -> None:
    (tmp_path / "file.txt").write_text("what it says", encoding="utf-8")
    prompts = ["one two three", f"read {tmp_path / 'file.txt'}", "ask to go", f"{CANCEL}wait"]
    then = await outcomes(acp_agent(official_agent, **OPTIONS), tmp_path, prompts)
    assert [stop for _, stop, _ in then] == ["end_turn", "end_turn", "end_turn", "cancelled"]
    now = await outcomes(acp_replay(str(acp_agent.recordings[0]), **OPTIONS), tmp_path, prompts)
    assert now == then


async def test_the_built_in_agent(
    acp_agent: AgentStarter, acp_replay: ReplayStarter, acp_model: FakeModel, tmp_path: Path
) -> None:
    prepared = recipe("acpella").prepare(acp_model, tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    (project / "kiwi.txt").write_text("green inside\n", encoding="utf-8")
    prompts = [
        "hello",
        "!think where?\n!read kiwi.txt\n!say found",
        "!write made.txt one\n!edit made.txt one => two",
        "!run cat made.txt",
        "!plan look; do",
        f"{CANCEL}!slow",
        "still there?",
    ]
    started = acp_agent(prepared.command, env=prepared.env, cwd=project, **OPTIONS)
    then = await outcomes(started, project, prompts)
    assert then[1][0] == "found" and "two" in then[3][0]
    assert [stop for _, stop, _ in then] == ["end_turn"] * 5 + ["cancelled", "end_turn"]
    assert [kind for _, _, calls in then for _, kind, _ in calls][:4] == ["read", "edit", "edit", "execute"]
    now = await outcomes(acp_replay(str(acp_agent.recordings[0]), **OPTIONS), project, prompts)
    assert now == then

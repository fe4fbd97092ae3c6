"""Recipes: how known agents are started on the fake model. `interop/test_real_agents.py` starts them."""

import asyncio
from pathlib import Path

import pytest

from acpella.client import connect
from acpella.errors import TransportError
from acpella.testing import FakeModel, recipe, recipe_names

pytestmark = pytest.mark.anyio


def test_a_recipe_is_known_by_its_program_too() -> None:
    assert recipe("codex-acp") is recipe("codex")
    assert set(recipe_names()) >= {"acpella", "claude", "codex", "gemini", "kimi", "opencode"}


def test_an_unknown_recipe_names_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no recipe 'nonsense'; there are acpella, claude"):
        recipe("nonsense")


def test_an_agent_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="opencode is not installed.*npm install -g opencode-ai"):
        recipe("opencode").prepare("http://127.0.0.1:1", tmp_path / "home", path=str(tmp_path))
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", recipe_names())
def test_settings_stay_inside_the_home_that_was_given(name: str, tmp_path: Path) -> None:
    """No agent under test sees or changes the settings of whoever runs it."""
    found = recipe(name)
    if found.program() is None:
        program = tmp_path / "bin" / found.command[0]
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o700)
    path = str(tmp_path / "bin") if found.program() is None else None
    prepared = found.prepare("http://127.0.0.1:9", tmp_path / "home", path=path)
    assert prepared.env["HOME"] == str(tmp_path / "home")
    written = [file.read_text(encoding="utf-8") for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert any("http://127.0.0.1:9" in text for text in [*written, *prepared.env.values()])


async def test_the_built_in_agent_runs_on_the_fake_model(tmp_path: Path) -> None:
    (tmp_path / "kiwi.txt").write_text("green inside\n", encoding="utf-8")
    async with asyncio.timeout(60), FakeModel() as model:
        prepared = recipe("acpella").prepare(model, tmp_path / "home")
        async with connect(prepared.command, env=prepared.env, cwd=tmp_path) as agent:
            session = await agent.new_session(tmp_path)
            result = await session.prompt(f"!think where\n!read {tmp_path / 'kiwi.txt'}")
    assert result.text == "The tool said: green inside"
    assert [call.kind for call in result.tool_calls.values()] == ["read"]

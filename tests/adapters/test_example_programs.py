"""The examples that need packages of others, run as a user runs them, with a model on this machine."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acpella
from acpella.testing.model import FakeModel, ModelAnswer, ModelPrompt, ToolUse

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"

PATIENCE = 240
"""Seconds: DSPy alone imports for ten on a busy machine."""


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as model:
        yield model


def environment(model: FakeModel, home: Path) -> dict[str, str]:
    homes = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    urls = {
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_BASE": f"{model.url}/v1",
        "ANTHROPIC_BASE_URL": model.url,
    }
    return {**homes, **keys, **urls, "HOME": str(home), "HF_HUB_OFFLINE": "1"}


@pytest.mark.parametrize("package", ["openai", "anthropic"])
async def test_a_plain_loop_answers_and_remembers(package: str, model: FakeModel, tmp_path: Path) -> None:
    pytest.importorskip(package)
    program = [sys.executable, str(EXAMPLES / f"plain_{package}.py")]
    async with asyncio.timeout(PATIENCE):
        async with acpella.connect(program, env=environment(model, tmp_path)) as agent:
            session = await agent.new_session(cwd=tmp_path)
            assert (await session.prompt("one")).text == "You said: one"
            assert (await session.prompt("two")).text == "You said: two"
    messages = json.dumps(model.requests[-1].body["messages"])
    assert [text in messages for text in ("one", "You said: one", "two")] == [True] * 3


async def test_the_dspy_program_answers_and_remembers(tmp_path: Path) -> None:
    pytest.importorskip("dspy")

    def answer(prompt: ModelPrompt) -> ModelAnswer:
        return ModelAnswer("[[ ## answer ## ]]\nIt is four.\n\n[[ ## completed ## ]]")

    with FakeModel(answer) as model:
        program = [sys.executable, str(EXAMPLES / "dspy_agent.py")]
        async with asyncio.timeout(PATIENCE):
            async with acpella.connect(program, env=environment(model, tmp_path)) as agent:
                session = await agent.new_session(cwd=tmp_path)
                assert (await session.prompt("two and two?")).text.strip() == "It is four."
                assert (await session.prompt("sure?")).text.strip() == "It is four."
        messages = json.dumps(model.requests[-1].body["messages"])
        assert "two and two?" in messages and "sure?" in messages


async def test_the_smolagents_adapter_is_found_and_shows_what_the_agent_does(tmp_path: Path) -> None:
    pytest.importorskip("smolagents")
    pytest.importorskip("openai")

    def answer(prompt: ModelPrompt) -> ModelAnswer:
        if "Observation" not in prompt.said and not prompt.results:
            return ModelAnswer(use=ToolUse("c1", "read_note", {"path": "a.txt"}))
        return ModelAnswer(use=ToolUse("c2", "final_answer", {"answer": "a note, it is"}))

    with FakeModel(answer) as model:
        (tmp_path / "my.py").write_text(
            "from smolagents import OpenAIServerModel, ToolCallingAgent, tool\n"
            "@tool\n"
            "def read_note(path: str) -> str:\n"
            '    """Read a note.\n\n    Args:\n        path: where it is\n    """\n'
            "    print('a print that harms nothing')\n"
            "    return 'the note in ' + path\n"
            f"model = OpenAIServerModel('fake', api_base='{model.url}/v1', api_key='none')\n"
            "agent = ToolCallingAgent([read_note], model, max_steps=4, name='reader')\n",
            encoding="utf-8",
        )
        # as pip installs a package that brings an adapter
        about = tmp_path / "site" / "acpella_smolagents-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acpella-smolagents\nVersion: 1.0\n")
        point = "[acpella.adapters]\nsmolagents = smolagents_adapter:SmolagentsAdapter\n"
        (about / "entry_points.txt").write_text(point)
        path = os.pathsep.join([str(about.parent), str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
        env = {**environment(model, tmp_path), "PYTHONPATH": path}
        async with asyncio.timeout(PATIENCE):
            async with acpella.connect(f"{tmp_path / 'my.py'}:agent", env=env) as agent:
                session = await agent.new_session(cwd=tmp_path)
                result = await session.prompt("what is in a.txt?")
                assert result.text == "a note, it is"
                (call,) = result.tool_calls.values()
                assert (call.title, call.status) == ("Read a.txt", "completed")
                await session.prompt("and again?")
        messages = json.dumps(model.requests[-1].body["messages"])
        assert "what is in a.txt?" in messages and "a note, it is" in messages

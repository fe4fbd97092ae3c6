"""The program on each framework's page, run as it stands there with a scripted model."""

import sys
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.adapters import load_target
from adapters import frameworks
from adapters.script import Call, Script
from agent.editor import editing

pytestmark = pytest.mark.anyio

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks"

PAGE_OF = {
    "pydantic_ai": "pydantic-ai.md",
    "langchain": "langchain.md",
    "openai_agents": "openai-agents.md",
    "google_adk": "google-adk.md",
    "strands": "strands.md",
}
"""Claude's own program cannot be replaced in the page's; its options are used by the other tests."""

NEEDS = {"pydantic_ai": "anthropic", "langchain": "langchain_anthropic", "strands": "anthropic"}
"""Packages of the providers that the pages name."""


@pytest.mark.parametrize("name", frameworks.every(PAGE_OF))
async def test_the_program_of_the_page_answers_and_asks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(NEEDS.get(name, "json"))
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(key, "none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = (PAGES / PAGE_OF[name]).read_text(encoding="utf-8")
    program = text.partition('```python title="my.py"\n')[2].partition("\n```")[0]
    path = tmp_path / f"page_of_{name}.py"
    path.write_text(program, encoding="utf-8")
    framework = frameworks.load(name)
    script = Script([Call("c1", "add_note", {"text": "milk"})], [Call("c2", "read_notes")], ["You need milk"])
    model = framework.model(script, "scripted")
    target: Any = load_target(str(path))
    if isinstance(target, acpella.Agent):  # the page adapts it itself
        module = sys.modules[path.stem]
        target = module.clerk
        agent = acpella.adapt(target, approve=["add_note"], models={"scripted": model}, store="memory")
    else:
        agent = acpella.adapt(target, models={"scripted": model}, store="memory")
    async with editing(agent, patience=120) as editor:
        assert editor.hello["agentInfo"]["name"] == "clerk"
        assert await editor.prompt(await editor.new(), "Note: milk. What do I need?") == "end_turn"
        assert len(editor.calls("session/request_permission")) == 1
        assert script.seen[-1].results["c2"] == "milk"
        assert editor.said() == "You need milk"

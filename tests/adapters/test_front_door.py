"""What `adapt`, `run` and the command line take, and what they say about what they cannot use."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import acpella
from acpella.adapters import Adapter, Conversation, load_target
from acpella.adapters.detect import find_adapter
from acpella.errors import InvalidRequest
from adapters.frameworks.pydantic_ai_agents import agent as pydantic_agent
from adapters.script import Script
from agent.editor import editing

pytestmark = pytest.mark.anyio

HELLO = """
import acpella
agent = acpella.Agent("mine")

@agent.on_prompt
async def reply(turn):
    yield "hi"
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a file with a name of its own, as modules are imported once."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})

    def write(text: str) -> str:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


# -- objects ---------------------------------------------------------------------------------


async def test_a_generator_an_agent_and_a_factory_are_adapted() -> None:
    async def reply(turn: Any) -> AsyncIterator[str]:
        yield "from a generator"

    made: list[str] = []

    async def make(session: Any) -> Any:
        made.append(session.id)
        return pydantic_agent(Script(["from a factory"]))

    own = acpella.Agent("mine")
    assert acpella.adapt(own) is own
    for target, text in ((reply, "from a generator"), (make, "from a factory")):
        async with editing(acpella.adapt(target, store="memory")) as editor:
            session = await editor.new()
            await editor.prompt(session)
            assert editor.said() == text
    assert made == [session]


async def test_an_adapted_agent_takes_commands_hooks_and_forgets() -> None:
    script = Script()
    app: Any = acpella.adapt(pydantic_agent(script), store="memory", name="clerk")
    opened: list[str] = []
    app.on_session(lambda session: opened.append(session.id))

    @app.command("clear", "Forget the conversation")
    async def clear(turn: acpella.Turn) -> str:
        await app.forget(turn.session)
        return "forgotten"

    async with editing(app) as editor:
        session = await editor.new()
        assert opened == [session]
        await editor.prompt(session, "one")
        await editor.prompt(session, "/clear")
        await editor.prompt(session, "two")
        assert script.seen[-1].user == ["two"]
        assert editor.hello["agentInfo"]["name"] == "clerk"


def test_an_unknown_object_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match="no adapter for types.SimpleNamespace") as caught:
        acpella.adapt(SimpleNamespace())
    assert "pydantic-ai" in str(caught.value) and "async def reply(turn)" in str(caught.value)


def test_an_unknown_option_is_refused_with_those_there_are() -> None:
    with pytest.raises(TypeError, match=r"no option modles; there are: .*deps.*models"):
        acpella.adapt(pydantic_agent(Script()), modles=["a"])


def test_a_framework_that_is_too_old_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: "2.3.1")
    with pytest.raises(ImportError, match=r"2\.3\.1 is too old .* pip install -U 'pydantic-ai-slim>="):
        acpella.adapt(pydantic_agent(Script()))


async def test_another_package_brings_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Parrot:
        name = "parrot"

    class Echo(Conversation):
        async def reply(self, at: Any) -> None:
            at.memory["format"] += at.text == "newer"
            await at.say(at.text.upper())

    class ParrotAdapter(Adapter):
        name = "parrots"
        package = "parrots"
        classes = (f"{Parrot.__module__}.{Parrot.__qualname__}",)

        def open(self, target: Any, session: Any, options: Any) -> Conversation:
            return Echo()

    point = SimpleNamespace(name=Parrot.__module__.split(".")[0], load=lambda: ParrotAdapter)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    assert isinstance(find_adapter(Parrot()), ParrotAdapter)
    async with editing(acpella.adapt(Parrot(), store="memory")) as editor:
        session = await editor.new()
        await editor.prompt(session, "hello")
        assert editor.said() == "HELLO"
        await editor.prompt(session, "newer")
        with pytest.raises(InvalidRequest, match="a newer acpella remembered this session"):
            await editor.prompt(session, "hello")


def test_finding_an_adapter_imports_no_framework() -> None:
    code = (
        "import sys, acpella, acpella.adapters.detect as d; d.frameworks(); d.find_adapter(object());"
        "print({'pydantic_ai', 'langgraph', 'agents', 'strands', 'google.adk', 'claude_agent_sdk', 'mcp'}"
        " & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


# -- files -----------------------------------------------------------------------------------


def test_a_file_alone_means_its_one_agent(write: Any) -> None:
    assert load_target(write(HELLO)).name == "mine"


def test_of_several_agents_the_one_called_agent_is_taken(write: Any) -> None:
    assert load_target(write(HELLO + "\nother = acpella.Agent('other')\n")).name == "mine"


def test_several_agents_are_listed_and_not_guessed(write: Any) -> None:
    path = write("import acpella\none = acpella.Agent('one')\ntwo = acpella.Agent('two')\n")
    with pytest.raises(ValueError, match="several agents: one, two; say which: .*mine.py:one"):
        load_target(path)
    assert load_target(f"{path}:two").name == "two"


def test_a_file_without_an_agent_says_what_would_be_one(write: Any) -> None:
    with pytest.raises(ValueError, match=r"has no agent.*name it: .*mine.py:make.*pydantic-ai"):
        load_target(write("def make():\n    return None\n"))


def test_a_wrong_name_lists_the_right_ones(write: Any) -> None:
    with pytest.raises(ValueError, match="has no 'agnet'; it has: agent"):
        load_target(write(HELLO) + ":agnet")


def test_a_missing_framework_is_said_with_the_command_that_installs_it(write: Any) -> None:
    sys.modules["deepagents"] = None  # type: ignore[assignment]
    path = write("import deepagents\nagent = deepagents.create_deep_agent()\n")
    with pytest.raises(ImportError, match="cannot be imported: .*deepagents.* -m pip install deepagents"):
        load_target(path)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match="there is no file"):
        load_target(str(tmp_path / "none.py") + ":agent")
    with pytest.raises(ImportError, match="there is no module 'nonesuch'"):
        load_target("nonesuch:agent")


# -- the command line --------------------------------------------------------------------------


def acpella_command(*words: str, home: Path) -> "subprocess.CompletedProcess[str]":
    import os

    homes = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    return subprocess.run(
        [sys.executable, "-m", "acpella", *words],
        env={**os.environ, **homes},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_agents_add_remembers_it_and_prints_the_lines_for_editors(write: Any, tmp_path: Path) -> None:
    path = write(HELLO)
    added = acpella_command("agents", "add", "mine", "mine.py:agent", home=tmp_path)
    assert added.returncode == 0, added.stderr
    assert "Zed" in added.stderr and "JetBrains" in added.stderr
    decoder = json.JSONDecoder()
    zed, end = decoder.raw_decode(added.stdout)
    jetbrains, _ = decoder.raw_decode(added.stdout[end:].lstrip())
    entry = zed["agent_servers"]["mine"]
    assert entry["command"] == sys.executable
    assert entry["args"] == ["-m", "acpella", "agent", f"{path}:agent"]
    assert jetbrains["agent_servers"]["mine"]["args"] == entry["args"]
    ran = acpella_command("run", "-a", "mine", "-o", "simple", "hello", home=tmp_path)
    assert "hi" in ran.stdout, ran.stderr


def test_run_takes_an_agent_of_a_module(write: Any, tmp_path: Path) -> None:
    write(HELLO)
    ran = acpella_command("run", "-a", "mine:agent", "-o", "simple", "hello", home=tmp_path)
    assert "hi" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("agent", "none.py:agent"), "there is no file none.py"),
        (("agent", "mine.py:nothing"), "has no 'nothing'; it has: agent"),
        (("serve", "mine.py:nothing"), "has no 'nothing'; it has: agent"),
        (("run", "-a", "none.py:agent", "hi"), "no file none.py"),
        (("agents", "add", "x", "none.py:agent"), "there is no file none.py"),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    write: Any, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    write(HELLO)
    ran = acpella_command(*words, home=tmp_path)
    assert ran.returncode != 0
    assert message in ran.stderr and "Traceback" not in ran.stderr

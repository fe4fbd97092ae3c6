"""The pytest plugin, as an author of agents or clients meets it: a folder with tests, and `pytest`."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

AGENT = """
    import acpella

    agent = acpella.Agent("parrot")

    @agent.on_prompt
    async def reply(turn):
        if turn.text == "write":
            await turn.files.write("made.txt", "text")
        await turn.say(f"parrot says {turn.text}")

    if __name__ == "__main__":
        agent.run()
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest on a file with tests, beside an agent."""
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENT), encoding="utf-8")

    def run(
        tests: str, *words: str, settings: str = "acp_agent = agent.py"
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pytest.ini").write_text(
            f"[pytest]\n{settings}\nfilterwarnings = error\n", encoding="utf-8"
        )
        (tmp_path / "test_mine.py").write_text(textwrap.dedent(tests), encoding="utf-8")
        home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **home},
        )

    return run


def test_the_agent_of_the_settings_over_every_transport(run: Run) -> None:
    ran = run(
        """
        import pytest
        from acpella.testing import TRANSPORTS

        @pytest.mark.parametrize("acp_transport", TRANSPORTS)
        def test_blocking(acp_agent):
            with acp_agent() as agent:
                assert agent.new_session(".").prompt("hi").text == "parrot says hi"

        @pytest.mark.anyio
        @pytest.mark.parametrize("anyio_backend", ["asyncio"])
        @pytest.mark.parametrize("acp_transport", TRANSPORTS)
        async def test_async(acp_agent, acp_client):
            async with acp_agent() as agent:
                assert (await (await agent.new_session(".")).prompt("hi")).text == "parrot says hi"
            async with acp_client() as client:
                assert (await client.initialize())["agentInfo"]["name"] == "parrot"
                assert (await client.call("nonsense"))["error"]["code"] == -32601
        """,
        settings="acp_agent = agent.py:agent",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "8 passed" in ran.stdout


def test_agents_by_option_and_by_call(run: Run, tmp_path: Path) -> None:
    ran = run(
        """
        import sys
        from acpella.testing import ScriptedAgent, say

        def test_option(acp_agent):
            with acp_agent() as agent:
                assert agent.info.name == "parrot"

        def test_call(acp_agent, acp_model):
            with acp_agent(ScriptedAgent().on("", say("scripted"))) as agent:
                assert agent.new_session(".").prompt("hi").text == "scripted"
            assert acp_model.url.startswith("http://127.0.0.1:")
        """,
        "--acp-agent",
        f"{sys.executable} agent.py",
        settings="",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_snapshots_are_kept_and_compared(run: Run, tmp_path: Path) -> None:
    tests = """
        def test_talk(acp_agent, acp_snapshot, tmp_path):
            with acp_agent() as agent:
                agent.new_session(tmp_path).prompt("WORD").wait()
            acp_snapshot()
        """
    ran = run(tests.replace("WORD", "hi"))
    assert ran.returncode == 1 and "there is no snapshot" in ran.stdout
    assert run(tests.replace("WORD", "hi"), "--acp-update").returncode == 0
    kept = tmp_path / "acp_snapshots" / "test_mine" / "test_talk.jsonl"
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["acpella"] == 2
    assert str(tmp_path) not in kept.read_text(encoding="utf-8")
    assert run(tests.replace("WORD", "hi")).returncode == 0
    assert run(tests.replace("WORD", "hi"), "--acp-transport", "websocket").returncode == 0
    ran = run(tests.replace("WORD", "ho"))
    assert ran.returncode == 1
    assert "-parrot says hi" in ran.stdout and "+parrot says ho" in ran.stdout
    assert "run pytest --acp-update" in ran.stdout
    kept.write_text("nonsense\n", encoding="utf-8")
    assert "the snapshot cannot be read" in run(tests.replace("WORD", "hi")).stdout


def test_a_recording_is_replayed(run: Run, tmp_path: Path) -> None:
    tests = """
        import pytest

        def test_make(acp_agent):
            with acp_agent(record="talk.jsonl") as agent:
                agent.new_session(".").prompt("hi").wait()

        @pytest.mark.parametrize("over", ["memory", "stdio", "http"])
        def test_replay(acp_replay, over):
            with acp_replay("talk.jsonl", over=over) as agent:
                assert agent.info.name == "parrot"
                assert agent.new_session(".").prompt("hi").text == "parrot says hi"

        def test_otherwise(acp_replay):
            with acp_replay("talk.jsonl") as agent:
                session = agent.new_session(".")
                assert session.prompt("hi").text == "parrot says hi"
                with pytest.raises(Exception, match="the recording has `session/prompt` once"):
                    session.prompt("something else").wait()

        def test_missing(acp_replay):
            with acp_replay("nonsense.jsonl"):
                pass
        """
    ran = run(tests)
    assert "2 failed, 4 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "there is no recording nonsense.jsonl" in ran.stdout
    assert "the client did what was not recorded" in ran.stdout


def test_mistakes_say_what_to_do(run: Run) -> None:
    ran = run(
        """
        def test_none(acp_agent):
            with acp_agent(): pass

        def test_early(acp_snapshot):
            acp_snapshot()

        def test_memory(acp_agent):
            with acp_agent("agent.py", over="memory"): pass

        def test_dead(acp_agent):
            with acp_agent(["python3", "-c", "import sys; sys.exit('no key')"]): pass
        """,
        settings="",
    )
    assert "4 failed" in ran.stdout
    assert "no agent to test: say pytest --acp-agent COMMAND" in ran.stdout
    assert "acp_snapshot() comes after the block" in ran.stdout
    assert "a command is another process" in ran.stdout
    assert "no key" in ran.stdout


def test_a_suite_that_does_not_use_it_pays_nothing(run: Run) -> None:
    ran = run(
        """
        import sys

        def test_nothing_is_loaded():
            loaded = [name for name in sys.modules if name.split(".")[0] in ("acpella", "msgspec")]
            assert sorted(loaded) == ["acpella", "acpella.testing", "acpella.testing.plugin"]
        """
    )
    assert ran.returncode == 0, ran.stdout

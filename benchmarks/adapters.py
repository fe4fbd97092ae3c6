"""What an adapter costs: `python benchmarks/adapters.py`, in an environment with some of the frameworks.

For each framework it compares the rate of its own stream with the rate at which an editor gets the same words
through the adapter, in one process and in turns. The editor only counts, as it would be another program.
For pydantic-ai it compares the CPU time of a start with that of the framework's import. One JSON line a case.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

# instead of this folder, where `adapters` is this file
sys.path[0] = str(Path(__file__).parents[1] / "tests")

from adapters import frameworks  # noqa: E402 - after the path
from adapters.script import Script  # noqa: E402
from interaction.wire import request  # noqa: E402

PIECES = 2_000
PROMPT = "!say " + "word " * PIECES
"""What a fake model in a process of its own does as it is told; the scripted ones do not read it."""
ROUNDS = 6

PROGRAM = """
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel


async def stream(messages, info):
    yield "word "


agent = Agent(FunctionModel(stream_function=stream), name="bench")
"""


class Endless(Script):
    """Says the same words to every prompt."""

    def next(self, seen: Any) -> Any:
        return ["word "] * PIECES


# -- the frameworks' own streams -----------------------------------------------------------------------


async def pydantic_ai(agent: Any) -> int:
    count = 0
    async with agent.run_stream_events("go") as events:
        async for _ in events:
            count += 1
    return count


async def langchain(agent: Any) -> int:
    count = 0
    given = {"messages": [{"role": "user", "content": PROMPT}]}
    async for _ in agent.astream(given, stream_mode=["messages", "updates"]):
        count += 1
    return count


async def openai_agents(agent: Any) -> int:
    from agents import Runner

    count = 0
    async for _ in Runner.run_streamed(agent, PROMPT).stream_events():
        count += 1
    return count


async def google_adk(agent: Any) -> int:
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    runner = InMemoryRunner(agent, app_name="bench")
    session = await runner.session_service.create_session(app_name="bench", user_id="me")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    count = 0
    async for _ in runner.run_async(
        user_id="me", session_id=session.id, new_message=message, run_config=config
    ):
        count += 1
    return count


async def strands(agent: Any) -> int:
    agent.callback_handler = lambda **event: None  # instead of printing every word
    return len([event async for event in agent.stream_async("go") if "data" in event])


async def claude_agent(agent: Any) -> int:
    import dataclasses

    from claude_agent_sdk import ClaudeSDKClient

    options = dataclasses.replace(agent, include_partial_messages=True)
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        return len([message async for message in client.receive_response()])


REMOTE = ("langchain", "openai_agents")

MODEL_URL = ""
"""Where the model is; empty for the frameworks' own fake models, which cost next to nothing."""


def agent_of(name: str) -> tuple[Any, dict[str, Any]]:
    """A framework's agent, and what its adapter is to be told."""
    if MODEL_URL:
        return {"openai_agents": remote_openai, "langchain": remote_langchain}[name](MODEL_URL), {}
    if name == "claude_agent":  # a program as in real life: without one the SDK has next to nothing to do
        from claude_agent_sdk import ClaudeAgentOptions

        program = Path(__file__).parent / "peers" / "claude_program.py"
        return ClaudeAgentOptions(cli_path=program, env={"BENCH_PIECES": str(PIECES)}), {}
    module = frameworks.load(name)
    agent = module.agent(Endless())
    return agent, module.options(agent)


def remote_openai(url: str) -> Any:
    from agents import Agent, OpenAIResponsesModel, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
    return Agent("bench", model=OpenAIResponsesModel("bench", client))


def remote_langchain(url: str) -> Any:
    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic

    return create_agent(ChatAnthropic(model_name="bench", base_url=url, api_key="none"))  # pyright: ignore[reportArgumentType, reportCallIssue] - its own types lack what it takes


class Counting:
    """An editor that counts lines, and notices when the prompt has been answered."""

    def __init__(self) -> None:
        self.lines = 0
        self.session: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.answered = asyncio.Event()

    def received(self, data: bytes) -> None:
        self.lines += data.count(b"\n")
        if not self.session.done() and b'"sessionId":"' in data:
            self.session.set_result(data.partition(b'"sessionId":"')[2].partition(b'"')[0].decode())
        if b'"stopReason"' in data:
            self.answered.set()

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    def ended(self, reason: object) -> None: ...


async def own(name: str) -> float:
    """Seconds of CPU for a turn in the framework's own program."""
    agent, _ = agent_of(name)
    began = time.process_time()
    count = await globals()[name](agent)
    seconds = time.process_time() - began
    assert count >= PIECES, f"only {count} events"
    return seconds


async def adapted(name: str) -> float:
    """The same through the adapter, in a session that is open."""
    import acpella
    from acpella.transport import memory_pair

    agent, options = agent_of(name)
    made = acpella.adapt(agent, store="memory", **options)
    here, there = memory_pair()
    editor = Counting()
    await here.open(editor, write_high=2**20)
    serving = asyncio.create_task(made.serve_on(there))
    here.write(request(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
    here.write(request(1, "session/new", {"cwd": tempfile.gettempdir(), "mcpServers": []}))
    prompt = [{"type": "text", "text": PROMPT}]
    session = await editor.session
    began = time.process_time()
    here.write(request(2, "session/prompt", {"sessionId": session, "prompt": prompt}))
    await editor.answered.wait()
    seconds = time.process_time() - began
    await here.close()
    await serving
    await made.close()
    assert editor.lines >= PIECES, f"only {editor.lines} lines"
    return seconds


def remote_case(name: str) -> dict[str, Any]:
    """The same with a model server, as people have one: then the framework reads an answer over HTTP, too."""
    global MODEL_URL
    command = [sys.executable, "-m", "acpella.testing.model"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        MODEL_URL = server.stdout.readline().strip()
        try:
            return {**stream_case(name), "case": f"stream {name} over HTTP"}
        finally:
            MODEL_URL = ""
            server.terminate()


def stream_case(name: str) -> dict[str, Any]:
    def rate(way: Callable[[str], Coroutine[Any, Any, float]]) -> float:
        return PIECES / asyncio.run(way(name))

    rates = [(rate(own), rate(adapted)) for _ in range(ROUNDS + 1)][1:]  # the first round imports
    alone, through = (max(column) for column in zip(*rates, strict=True))
    return {
        "case": f"stream {name}",
        "own": round(alone),
        "adapted": round(through),
        "ratio": round(through / alone, 2),
    }


# -- starting ------------------------------------------------------------------------------------------


def cpu_of(*words: str) -> float:
    """Seconds of CPU of a command, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_case(place: str) -> dict[str, Any]:
    program = Path(place, "my.py")
    program.write_text(PROGRAM, encoding="utf-8")
    os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = place
    # compiled once, all of it: a source tree would be compiled at every start where nothing may be written
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(place, "compiled"))
    alone, served = [9.0], [9.0]
    for _ in range(ROUNDS + 1):
        alone.append(cpu_of(sys.executable, str(program)))
        served.append(cpu_of(sys.executable, "-m", "acpella", "agent", f"{program}:agent"))
    added = min(served) - min(alone)
    return {
        "case": "start",
        "import": round(min(alone), 3),
        "agent": round(min(served), 3),
        "added": round(added, 3),
        "ratio": round(added / min(alone), 2),
    }


def main() -> None:
    chosen = sys.argv[1:] or [*frameworks.installed(), "start"]
    for name in chosen:
        if name == "start":
            with tempfile.TemporaryDirectory() as place:
                print(json.dumps(start_case(place)), flush=True)
        else:
            print(json.dumps(stream_case(name)), flush=True)
            if name in REMOTE:
                print(json.dumps(remote_case(name)), flush=True)


if __name__ == "__main__":
    main()

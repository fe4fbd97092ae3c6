"""E10: `acpella replay` is an agent that any client can start, and a client for any agent."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella.client import Permissions, Workspace
from acpella.errors import RpcError
from acpella.recording import read_recording
from acpella.testing import ScriptedAgent, crash, stderr
from acpella.testing import say as scripted_say

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PATIENCE = 60


def example(name: str) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / name)]


def replay(path: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "acpella", "replay", str(path), *options]


async def talk(command: list[str], project: Path, prompts: Sequence[str], **options: Any) -> list[Any]:
    """What our client makes of each turn."""
    connected = acpella.connect(
        command, files=Workspace(write=True), permissions=Permissions("allow-all"), **options
    )
    async with asyncio.timeout(PATIENCE), connected as agent:
        session = await agent.new_session(project)
        results: list[Any] = []
        for prompt in prompts:
            result = await session.prompt(prompt)
            calls = [(call.title, call.status) for call in result.tool_calls.values()]
            results.append((result.text, result.stop_reason, calls))
        return results


def written(path: Path, *lines: tuple[str, dict[str, Any]]) -> Path:
    entries = [{"dir": direction, "msg": {"jsonrpc": "2.0", **message}} for direction, message in lines]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


HELLO = [
    ("out", {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
    ("in", {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {}}}),
    ("out", {"id": 1, "method": "session/new", "params": {"cwd": "/recorded/here", "mcpServers": []}}),
    ("in", {"id": 1, "result": {"sessionId": "s-then"}}),
]


def prompt(number: int, text: str) -> tuple[str, dict[str, Any]]:
    params = {"sessionId": "s-then", "prompt": [{"type": "text", "text": text}]}
    return "out", {"id": number, "method": "session/prompt", "params": params}


def say(text: str) -> tuple[str, dict[str, Any]]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return "in", {"method": "session/update", "params": {"sessionId": "s-then", "update": update}}


def stop(number: int, reason: str = "end_turn") -> tuple[str, dict[str, Any]]:
    return "in", {"id": number, "result": {"stopReason": reason}}


def ask(number: int) -> tuple[str, dict[str, Any]]:
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": "s-then", "toolCall": {"toolCallId": "c1", "title": "Do it"}, "options": options}
    return "in", {"id": number, "method": "session/request_permission", "params": params}


def choose(number: int, option: str) -> tuple[str, dict[str, Any]]:
    return "out", {"id": number, "result": {"outcome": {"outcome": "selected", "optionId": option}}}


async def test_a_recorded_agent_says_the_same_again(tmp_path: Path) -> None:
    """Files are read and written, permission is asked for: all through the client of now."""
    first, second = tmp_path / "first", tmp_path / "second"
    for project in (first, second):
        project.mkdir()
        (project / "note.txt").write_text("quiet words", encoding="utf-8")
    prompts = ["count words in note.txt", "shout note.txt"]
    path = tmp_path / "talk.jsonl"
    then = await talk(example("tools.py"), first, prompts, record=path)
    now = await talk(replay(path), second, prompts)
    assert now == then and "2 words" in now[0][0]
    assert (second / "note.txt").read_text(encoding="utf-8") == "QUIET WORDS"


async def test_directories_and_sessions_are_those_of_now(tmp_path: Path) -> None:
    path = written(
        tmp_path / "talk.jsonl",
        *HELLO,
        prompt(2, "read"),
        (
            "in",
            {
                "id": 7,
                "method": "fs/read_text_file",
                "params": {"sessionId": "s-then", "path": "/recorded/here/a"},
            },
        ),
        ("out", {"id": 7, "result": {"content": "then"}}),
        say("I read /recorded/here/a, not /recorded/hereafter"),
        stop(2),
    )
    (tmp_path / "a").write_text("now", encoding="utf-8")
    ((text, _, _),) = await talk(replay(path), tmp_path, ["read"])
    assert text == f"I read {tmp_path}/a, not /recorded/hereafter"


async def test_prompts_are_found_by_what_they_say(tmp_path: Path) -> None:
    turns = [prompt(2, "one"), say("first"), stop(2), prompt(3, "two"), say("second"), stop(3)]
    path = written(tmp_path / "talk.jsonl", *HELLO, *turns)
    said = [text for text, _, _ in await talk(replay(path), tmp_path, ["two", "one"])]
    assert said == ["second", "first"]
    said = [text for text, _, _ in await talk(replay(path, "--match", "order"), tmp_path, ["two", "one"])]
    assert said == ["first", "second"]


def test_what_was_not_recorded_is_told_with_the_nearest_and_ends_with_1(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "one"), say("first"), stop(2))
    lines = [
        HELLO[0][1],
        HELLO[2][1],
        prompt(2, "another")[1],
        {"id": 9, "method": "session/fly", "params": {}},
    ]
    data = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    ran = subprocess.run(
        replay(path, "--match", "exact"), input=data, capture_output=True, text=True, timeout=PATIENCE
    )
    answers = {m["id"]: m for m in map(json.loads, ran.stdout.splitlines()) if "id" in m}
    assert "error" not in answers[1]
    told = answers[2]["error"]["message"]
    assert 'the nearest is line 5 (recorded ≠ now):\n  prompt[0].text: "one" ≠ "another"' in told
    assert "the recording has no `session/fly`" in answers[9]["error"]["message"]
    assert ran.returncode == 1 and "prompt[0].text" in ran.stderr


@pytest.mark.parametrize("named", [False, True], ids=["as-it-was", "anonymized"])
def test_an_exact_match_below_the_home_directory(named: bool, tmp_path: Path) -> None:
    def opening(cwd: object) -> tuple[str, dict[str, Any]]:
        return "out", {"id": 1, "method": "session/new", "params": {"cwd": str(cwd), "mcpServers": []}}

    project = tmp_path / "project"
    path = written(
        tmp_path / "talk.jsonl",
        *HELLO[:2],
        opening("<home>/project" if named else project),
        ("in", {"id": 1, "result": {"sessionId": "s"}}),
    )
    lines = [HELLO[0][1], opening(project)[1]]
    ran = subprocess.run(
        replay(path, "--match", "exact"),
        input="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines),
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stderr
    assert '"sessionId"' in ran.stdout.splitlines()[-1]


async def test_one_more_prompt_than_was_recorded_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "one"), say("first"), stop(2))
    with pytest.raises(RpcError, match="`session/prompt` once, and this is one more"):
        await talk(replay(path), tmp_path, ["one", "one"])


async def test_another_answer_takes_the_branch_that_was_recorded(tmp_path: Path) -> None:
    path = written(
        tmp_path / "talk.jsonl",
        *HELLO,
        *[prompt(2, "do"), ask(70), choose(70, "no"), say("not done"), stop(2)],
        *[prompt(3, "do"), ask(71), choose(71, "yes"), say("done"), stop(3)],
    )
    assert [text for text, _, _ in await talk(replay(path), tmp_path, ["do"])] == ["done"]


async def test_another_answer_without_a_branch_shows_both(tmp_path: Path) -> None:
    path = written(
        tmp_path / "talk.jsonl", *HELLO, prompt(2, "do"), ask(70), choose(70, "no"), say("no"), stop(2)
    )
    with pytest.raises(RpcError, match="no then, yes now"):
        await talk(replay(path), tmp_path, ["do"])


@pytest.mark.parametrize("was_cancelled", [True, False])
async def test_a_cancel_ends_the_turn(tmp_path: Path, was_cancelled: bool) -> None:
    cancel = [("out", {"method": "session/cancel", "params": {"sessionId": "s-then"}})]
    end = [*cancel, stop(2, "cancelled")] if was_cancelled else [ask(70), choose(70, "no"), stop(2)]
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "long"), say("a"), *end)
    async with asyncio.timeout(PATIENCE), acpella.connect(replay(path), permissions="ask") as agent:
        turn = (await agent.new_session(tmp_path)).prompt("long")
        async for _ in turn:
            await turn.cancel()
        assert turn.stop_reason == "cancelled"


async def test_a_recording_that_breaks_off_answers_with_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "one"), say("half"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"dir": "in", "ms')
    with pytest.raises(RpcError, match="the recording ends before the answer to `session/prompt`"):
        await talk(replay(path), tmp_path, ["one"])


async def test_at_its_own_speed_it_takes_its_time(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    entries = [*HELLO, prompt(2, "one"), say("slow"), stop(2)]
    times = [0, 0, 0, 0, 1.0, 3.0, 3.0]
    path.write_text(
        "".join(
            json.dumps({"t": t, "dir": d, "msg": {"jsonrpc": "2.0", **m}}) + "\n"
            for t, (d, m) in zip(times, entries, strict=True)
        ),
        encoding="utf-8",
    )
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE), acpella.connect(replay(path, "--speed", "4")) as agent:
        session = await agent.new_session(tmp_path)
        start = loop.time()
        await session.prompt("one")
        assert loop.time() - start >= 0.5  # two seconds then


def test_a_recorded_client_asks_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    asyncio.run(talk(example("echo.py"), tmp_path, ["hello", "again"], record=path))
    ran = subprocess.run(
        replay(path, "--as", "client", "--", *example("echo.py")),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0 and "is not compared here" in ran.stderr
    assert ran.stdout == "The agent did as recorded: 4 requests, each answered as then.\n"


def test_a_client_talks_to_a_python_file(tmp_path: Path) -> None:
    path, agent = tmp_path / "talk.jsonl", tmp_path / "agent.py"
    agent.write_text((ROOT / "examples" / "echo.py").read_text())
    asyncio.run(talk([sys.executable, str(agent)], tmp_path, ["hello"], record=path))
    ran = subprocess.run(
        replay(path, "--as", "client", "--", "agent.py"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    assert update(path, "agent.py").returncode == 0


def test_a_client_tells_what_the_agent_does_otherwise(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "one"), say("first"), stop(2, "max_tokens"))
    ran = subprocess.run(
        replay(path, "--as", "client", "--", *example("echo.py")),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 1 and "max_tokens then, end_turn now" in ran.stderr


def test_an_agent_that_dies_or_never_answers_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO)
    dead = subprocess.run(
        replay(path, "--as", "client", "--", "false"), capture_output=True, text=True, timeout=PATIENCE
    )
    assert dead.returncode == 1 and "the agent went away" in dead.stderr
    mute = subprocess.run(
        replay(path, "--as", "client", "--timeout", "0.5", "--", "sleep", "60"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert mute.returncode == 1 and "no answer to the request" in mute.stderr


@pytest.mark.parametrize(
    "words, told",
    [
        (["missing.jsonl"], "there is no file missing.jsonl"),
        (["empty.jsonl"], "holds no conversation"),
        (["talk.jsonl", "--connection", "2"], "holds 1 connection, not 2"),
        (["talk.jsonl", "--as", "client"], "needs an agent to talk to"),
        (["talk.jsonl", "--speed", "fast"], "is not a speed"),
    ],
)
def test_what_cannot_be_played_is_told(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    written(tmp_path / "talk.jsonl", *HELLO)
    ran = subprocess.run(
        [sys.executable, "-m", "acpella", "replay", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 2 and told in ran.stderr


NEAR = next(ROOT.parent.glob("*/transcripts"), ROOT.parent / "transcripts")
REAL = Path(os.environ.get("ACPELLA_TRANSCRIPTS") or NEAR)


@pytest.mark.parametrize("name", ["claude", "codexz", "deepagents", "gemini", "opencode", "pi", "vibe"])
async def test_the_transcript_of_a_real_agent_is_played(name: str, tmp_path: Path) -> None:
    path = REAL / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("ACPELLA_TRANSCRIPTS names no folder with transcripts of real agents")
    (conversation, *_) = read_recording(path)
    prompts = [
        f.message["params"]["prompt"][0]["text"]
        for f in conversation
        if "session/prompt" in str(f.message)[:80]
    ]
    results = await talk(replay(path), tmp_path, prompts[:1], terminals=True)
    assert all(stop == "end_turn" for _, stop, _ in results)


def update(path: Path, *agent: str) -> subprocess.CompletedProcess[str]:
    words = replay(path, "--as", "client", "--timeout", "5", "--update", "--", *agent)
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, cwd=path.parent)


def test_update_puts_the_conversation_of_now_into_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "fruit?"), say("apple"), stop(2))
    agent = ScriptedAgent().on("fruit?", stderr("picking"), scripted_say("kiwi"))
    ran = update(path, *agent.command)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("talk.jsonl now holds the conversation of this run.\n")
    text = path.read_text(encoding="utf-8")
    assert "kiwi" in text and "apple" not in text and "picking" in text
    assert [child.name for child in tmp_path.iterdir()] == ["talk.jsonl"]
    again = subprocess.run(
        replay(path, "--as", "client", "--match", "exact", "--", *agent.command),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert again.returncode == 0, again.stderr


def test_an_update_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "fruit?"), say("apple"), stop(2))
    before = path.read_bytes()
    ran = update(path, *ScriptedAgent().on("fruit?", crash()).command)
    assert ran.returncode == 1 and "stays as it was" in ran.stderr
    assert update(path, "no-such-agent").returncode != 0
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["talk.jsonl"]
    ran = subprocess.run(replay(path, "--update"), capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 2 and "--update needs an agent to talk to" in ran.stderr


def test_a_damaged_recording_is_neither_played_as_if_whole_nor_updated(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO, prompt(2, "fruit?"), say("apple"), stop(2))
    path.write_text(path.read_text()[:-30])  # the answer to the prompt
    before = path.read_bytes()
    agent = ScriptedAgent().on("fruit?", scripted_say("apple")).command
    words = replay(path, "--as", "client", "--timeout", "5", "--", *agent)
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1
    assert "not all was played: 1 line of the recording cannot be read" in ran.stderr
    ran = update(path, *agent)
    assert ran.returncode == 1 and "stays as it was: 1 line of the recording cannot be read" in ran.stderr
    assert path.read_bytes() == before


def test_a_recording_without_a_request_is_no_success(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", say("apple"))
    words = replay(path, "--as", "client", "--", *ScriptedAgent().command)
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 2 and "sent no request, so there is nothing to play" in ran.stderr


def test_garbage_on_the_stdin_of_a_replay_is_answered_and_told(tmp_path: Path) -> None:
    path = written(tmp_path / "talk.jsonl", *HELLO)
    ran = subprocess.run(replay(path), input="garbage\n", capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1 and "a line is no message: garbage" in ran.stderr
    assert json.loads(ran.stdout)["error"]["code"] == -32700 and json.loads(ran.stdout)["id"] is None

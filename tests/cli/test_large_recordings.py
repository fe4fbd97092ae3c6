"""Commands read a recording as a stream: however large it is, little of it is in memory."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SIZE = 64 * 1024
TURNS = 640
"""Together 40 MB, in frames of 64 KB: few enough to be read quickly."""

BOUND = 28
"""MiB that a command may take beyond what it takes for a recording of one turn."""

MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def messages(turns: int) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "out", {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    yield "in", {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {}}}
    yield "out", {"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}}
    yield "in", {"id": 1, "result": {"sessionId": "s"}}
    output = "some words of a file\n" * (SIZE // 21)
    for turn in range(2, turns + 2):
        prompt = [{"type": "text", "text": f"prompt {turn}"}]
        yield "out", {"id": turn, "method": "session/prompt", "params": {"sessionId": "s", "prompt": prompt}}
        call: dict[str, Any] = {"toolCallId": f"c{turn}", "title": "Read"}
        for update in (
            {"sessionUpdate": "tool_call", **call, "status": "pending"},
            {"sessionUpdate": "tool_call_update", **call, "status": "completed", "rawOutput": output},
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done. "}},
        ):
            yield "in", {"method": "session/update", "params": {"sessionId": "s", "update": update}}
        yield "in", {"id": turn, "result": {"stopReason": "end_turn"}}


def write(path: Path, turns: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"acpella":2,"agent":{"command":["agent"]},"redacted":"rules-2"}\n')
        for number, (way, message) in enumerate(messages(turns), 1):
            line = {"n": number, "t": number / 1000, "dir": way, "msg": {"jsonrpc": "2.0", **message}}
            file.write(json.dumps(line) + "\n")
        file.write('{"ev":"end","t":9.0}\n')
    return path


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One of a single turn, and a large one."""
    folder = tmp_path_factory.mktemp("large")
    return write(folder / "small.jsonl", 1), write(folder / "large.jsonl", TURNS)


def memory_of(*words: str) -> tuple[int, float]:
    """The exit code and the MiB that a command took."""
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "acpella", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    code, kilobytes = ran.stdout.split()
    return int(code), int(kilobytes) / 1024


@pytest.mark.parametrize(
    "words",
    [
        ["record", "show"],
        ["record", "scan"],
        ["record", "diff", "{file}"],
        ["inspect", "--rows"],
        ["inspect", "--stats"],
        ["check"],
        ["replay"],
    ],
    ids=" ".join,
)
def test_a_large_recording_is_not_held_in_memory(recordings: tuple[Path, Path], words: list[str]) -> None:
    if sys.platform != "linux":
        pytest.skip("memory is measured in kilobytes on Linux")
    (code, small), (large_code, large) = (
        memory_of(*[word.format(file=path) for word in words], str(path)) for path in recordings
    )
    assert large_code == code
    assert large < small + BOUND

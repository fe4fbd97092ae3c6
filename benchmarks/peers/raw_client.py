"""Clients without an SDK: the receiving half of the raw limit, and a stopwatch for the start of any agent.

`raw_client.py stream 100000 python raw_agent.py` reads the pipe and decodes each line to a typed Struct.
`raw_client.py start 0 python agent_acpella.py` sends `initialize` and stops the agent when it has answered.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

CHUNK = 1 << 16
"""What a pipe holds: asking for more gets no more."""

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}\n'
)


class Annotations(msgspec.Struct, rename="camel"):
    """Hints about a block. Optional fields are here because the limit is for the specification's types."""

    audience: list[str] | None = None
    last_modified: str | None = None
    priority: float | None = None


class Text(msgspec.Struct, tag_field="type", tag="text"):
    """A text block."""

    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class Image(msgspec.Struct, rename="camel", tag_field="type", tag="image"):
    """An image block."""

    data: str
    mime_type: str
    uri: str | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class Chunk(msgspec.Struct, rename="camel", tag_field="sessionUpdate"):
    """A piece of a message."""

    content: Text | Image
    message_id: str | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class AgentMessageChunk(Chunk, tag="agent_message_chunk"):
    """A piece of the agent's answer."""


class AgentThoughtChunk(Chunk, tag="agent_thought_chunk"):
    """A piece of the agent's thoughts."""


class SessionNotification(msgspec.Struct, rename="camel"):
    """The params of `session/update`."""

    session_id: str
    update: AgentMessageChunk | AgentThoughtChunk
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class Notification(msgspec.Struct, tag_field="method", tag="session/update"):
    """One whole line."""

    jsonrpc: str
    params: SessionNotification


def stream(count: int, command: list[str]) -> dict[str, float]:
    """Decode the raw agent's lines, one by one, and do nothing with them."""
    with subprocess.Popen(
        [*command, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as agent:
        assert agent.stdin and agent.stdout
        agent.stdout.readline()
        cpu, start = time.process_time(), time.perf_counter()
        agent.stdin.write(b"go\n")
        decoded = _decode_all(agent.stdout.fileno())
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if decoded != count:
        raise RuntimeError(f"decoded {decoded} lines instead of {count}")
    return {"seconds": seconds, "updates_per_second": count / seconds, "client_cpu_us": cpu / count * 1e6}


def _decode_all(fd: int) -> int:
    decode = msgspec.json.Decoder(Notification).decode
    decoded, rest = 0, b""
    while chunk := os.read(fd, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            decode(line)
        decoded += len(lines)
    return decoded


def start(_size: int, command: list[str]) -> dict[str, float | None]:
    """Time from spawning the agent to its answer, its CPU until then, its resident memory at that point."""
    begin = time.perf_counter()
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert agent.stdin and agent.stdout
    agent.stdin.write(INITIALIZE)
    answer = json.loads(agent.stdout.readline())
    wall = time.perf_counter() - begin
    memory = _resident_mib(agent.pid)
    agent.kill()  # at once: what a polite end costs is another question
    _, status, usage = os.wait4(agent.pid, 0)
    agent.returncode = status  # wait4 has reaped it; Popen must not look for it
    if "result" not in answer:
        raise RuntimeError(f"initialize was answered with {answer}")
    return {"wall_ms": wall * 1e3, "cpu_ms": _cpu_seconds(usage) * 1e3, "rss_mib": memory}


def _cpu_seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _resident_mib(pid: int) -> float | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():  # only Linux tells
        return None
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Measure what the command line asks for and print one JSON line."""
    case, size, *command = sys.argv[1:]
    measured = {"stream": stream, "start": start}[case](int(size), command)
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main()

"""An agent's own stdin and stdout: whatever they are, they belong to the protocol (R-003)."""

import json
import os
import pty
import socket
import subprocess
import sys
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.wire import in_headers, notification, read_header_frames, read_lines, request

HERE = Path(__file__).parent
AGENT = [sys.executable, str(HERE / "stdio_agent.py")]
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)]),
    "PYTHONUNBUFFERED": "",
}
PATIENCE = 60
"""Seconds for one run of the agent on a busy machine."""


def run(
    *frames: bytes, arguments: tuple[str, ...] = (), **options: Any
) -> "subprocess.CompletedProcess[bytes]":
    """Give the agent its input and wait for its end."""
    ran = subprocess.run(
        [*AGENT, *arguments],
        input=b"".join(frames),
        capture_output=True,
        env=ENV,
        timeout=PATIENCE,
        **options,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran


def results(out: bytes) -> dict[Any, Any]:
    return {message["id"]: message.get("result") for message in read_lines(out)}


# -- whatever they are ----------------------------------------------------------------------


def test_pipes() -> None:
    ran = run(request(1, "echo", "é"), request(2, "nope"), b"garbage\n", request(3, "echo", 3).strip())
    messages = {message["id"]: message for message in read_lines(ran.stdout)}
    assert messages[1]["result"] == "é"
    assert messages[2]["error"]["code"] == -32601
    assert messages[None]["error"]["code"] == -32700
    assert messages[3]["result"] == 3


def test_header_frames() -> None:
    ran = run(in_headers(request(1, "echo", "é")), in_headers(request(2, "nope")))
    messages = {message["id"]: message for message in read_header_frames(ran.stdout)}
    assert messages[1]["result"] == "é"
    assert messages[2]["error"]["code"] == -32601


def test_files(tmp_path: Path) -> None:
    """`agent < requests > answers`: more than one read, and slow handlers are waited for."""
    count = 2000
    asked, answered = tmp_path / "requests", tmp_path / "answers"
    frames = [request(n, "echo", "x" * 100) for n in range(count)]
    asked.write_bytes(b"".join(frames) + request('"slow"', "slow"))
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        subprocess.run(AGENT, stdin=stdin, stdout=stdout, env=ENV, timeout=PATIENCE, check=True)
    got = results(answered.read_bytes())
    assert got.pop("slow") == "slow"
    assert sorted(got) == list(range(count))


def test_one_socket_for_both_directions() -> None:
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            AGENT, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE, env=ENV
        ) as agent,
    ):
        theirs.close()
        ours.settimeout(PATIENCE)
        answers = ours.makefile("rb")
        for n in range(3):
            ours.sendall(request(n, "echo", n))
            assert json.loads(answers.readline())["result"] == n
        ours.shutdown(socket.SHUT_WR)
        assert answers.read() == b""
        assert agent.wait(PATIENCE) == 0
        answers.close()
        assert agent.stderr is not None and agent.stderr.read() == b""


def test_a_terminal() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with subprocess.Popen(AGENT, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=ENV) as agent:
        os.close(theirs)
        os.write(ours, request(1, "echo", "x"))
        out = b""
        while not out.endswith(b"\n"):
            out += os.read(ours, 1000)
        assert results(out) == {1: "x"}
        os.write(ours, request(2, "close"))
        assert agent.wait(PATIENCE) == 0
    os.close(ours)


def test_nothing_at_all() -> None:
    with open(os.devnull, "r+b") as nothing:
        ran = subprocess.run(
            AGENT, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, env=ENV, timeout=PATIENCE
        )
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_full_disk_ends_the_conversation() -> None:
    with open("/dev/full", "wb") as full:
        subprocess.run(AGENT, input=request(1, "echo"), stdout=full, env=ENV, timeout=PATIENCE, check=True)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_closed_descriptors_end_the_program_with_a_message(closed: str) -> None:
    ran = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *AGENT],
        input=b"",
        capture_output=True,
        env=ENV,
        timeout=PATIENCE,
    )
    assert ran.returncode == 1
    assert b"stdin and stdout must be open" in ran.stderr


def test_a_client_that_stops_reading_ends_the_agent() -> None:
    with subprocess.Popen(AGENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        agent.stdin.write(request(1, "echo"))
        agent.stdin.flush()
        agent.stdout.readline()
        agent.stdout.close()
        assert agent.wait(PATIENCE) == 0


def test_a_client_that_stops_talking_still_gets_its_answers() -> None:
    ran = run(request(1, "slow"), request(2, "slow"))
    assert results(ran.stdout) == {1: "slow", 2: "slow"}


# -- the guard ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("print", b"printed\n"),
        ("print_unflushed", b"printed later"),
        ("os_write", b"written\n"),
        ("child", b"by a child\n"),
    ],
)
def test_what_the_agent_prints_goes_to_stderr(method: str, text: bytes) -> None:
    ran = run(request(1, method), request(2, "echo", "still JSON"))
    assert results(ran.stdout)[2] == "still JSON"
    assert ran.stderr == text


def test_without_a_stderr_prints_go_nowhere() -> None:
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *AGENT],
        input=request(1, "os_write") + request(2, "echo", "x"),
        stdout=subprocess.PIPE,
        env=ENV,
        timeout=PATIENCE,
    )
    assert results(ran.stdout) == {1: {}, 2: "x"}


@pytest.mark.parametrize(("method", "answer"), [("child_reads", ""), ("input", "end of file")])
def test_nobody_but_the_protocol_reads_its_stdin(method: str, answer: str) -> None:
    ran = run(request(1, method), *(request(n, "echo", n) for n in range(2, 500)))
    got = results(ran.stdout)
    assert got[1] == answer
    assert len(got) == 499


def test_stdin_and_stdout_come_back_as_they_were(tmp_path: Path) -> None:
    asked = tmp_path / "requests"
    asked.write_bytes(request(1, "echo", "x"))
    with asked.open("rb") as file:
        given: list[dict[str, Any]] = [{"input": request(1, "echo", "x")}, {"stdin": file}]
        for options in given:
            ran = subprocess.run(
                [*AGENT, "before", "after"],
                capture_output=True,
                env=ENV,
                **options,
            )
            protocol, told = ran.stdout.splitlines()
            assert json.loads(protocol)["result"] == "x"
            report = json.loads(told)
            assert report["before"] == report["after"]
            assert ran.stderr == b"too early"


def test_after_the_end_the_agent_may_print_again() -> None:
    ran = run(request(1, "print"), arguments=("after",))
    assert [set(json.loads(line)) for line in ran.stdout.splitlines()] == [
        {"jsonrpc", "id", "result"},
        {"before", "after"},
    ]
    assert ran.stderr == b"printed\n"


def test_a_handler_may_close_the_connection() -> None:
    with subprocess.Popen(AGENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        agent.stdin.write(request(1, "close"))
        agent.stdin.flush()
        assert agent.wait(PATIENCE) == 0
        assert results(agent.stdout.read()) == {1: {}}


# -- what clients do ---------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_input_in_pieces_of_any_size(cut: int) -> None:
    data = b"".join(request(n, "echo", "é" * n) for n in range(20)) + notification("nope")
    with subprocess.Popen(AGENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV, bufsize=0) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        for at in range(0, len(data), cut):
            agent.stdin.write(data[at : at + cut])
        agent.stdin.close()
        assert results(agent.stdout.read()) == {n: "é" * n for n in range(20)}


def answers_to(wrap: Callable[[bytes], bytes], read: Callable[[bytes], list[Any]]) -> list[Any]:
    return read(run(*(wrap(request(n, "echo", n)) for n in range(3))).stdout)


def test_both_framings_get_the_same_answers() -> None:
    lines = answers_to(lambda frame: frame, read_lines)
    headers = answers_to(in_headers, read_header_frames)
    assert lines == headers

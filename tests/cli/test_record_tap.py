"""E10: `acpella record -- AGENT` stands in the agent's place, and nobody notices."""

import asyncio
import json
import os
import random
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acpella
from acpella._processes import ProcessTree, end_detached
from acpella.recording import Damaged, RecordedEvent, RecordedFrame, read

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = 30

Program = Callable[[str], list[str]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program of a few lines."""

    def make(lines: str) -> list[str]:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        head = "import os, signal, subprocess, sys, time\n"
        path.write_text(head + textwrap.dedent(lines), encoding="utf-8")
        return [sys.executable, str(path)]

    return make


def tap(path: Path, command: list[str], *options: str) -> list[str]:
    return [sys.executable, "-m", "acpella", "record", "-o", str(path), *options, "--", *command]


def run(command: list[str], data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE * 4)


def end_of(path: Path) -> dict[str, Any]:
    item = list(read(path))[-1]
    assert isinstance(item, RecordedEvent) and item.name == "end"
    return item.info


def frames_of(path: Path, direction: str) -> list[Any]:
    return [i.message for i in read(path) if isinstance(i, RecordedFrame) and i.direction == direction]


def gone(pid: int) -> bool:
    """Wait for a process to end."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


def wait_for(path: Path, text: bytes) -> None:
    """The recorder is a process of its own, which may be slower than the tap."""
    for _ in range(PATIENCE * 20):
        if path.exists() and text in path.read_bytes():
            return
        time.sleep(0.05)
    raise AssertionError(f"there is no {text!r}")


ECHO = """
while data := os.read(0, 65536):
    os.write(1, data)
    os.write(2, data[:10])
"""


def test_bytes_pass_unchanged_whatever_they_are(program: Program, tmp_path: Path) -> None:
    noise = random.Random(4).randbytes(300_000)
    data = b'{"half": \n\n\r\n\xff\xfe\x00 [[[ ' + noise + b'\n{"a": 1, "a": 2}\nwithout an end'
    direct = run(program(ECHO), data)
    path = tmp_path / "talk.jsonl"
    tapped = run(tap(path, program(ECHO)), data)
    assert tapped.stdout == direct.stdout == data
    assert tapped.stderr[:10] == data[:10] and tapped.returncode == 0
    end = end_of(path)
    assert end["dropped"] == 0 and end["exit"] == {"code": 0}
    assert not any(isinstance(item, Damaged) for item in read(path))
    assert frames_of(path, "in") == frames_of(path, "out")


def test_a_frame_of_100_mb_passes_and_is_recorded_without_its_media(program: Program, tmp_path: Path) -> None:
    frame = json.dumps({"mimeType": "image/png", "data": "A" * 100_000_000}).encode() + b"\n"
    path = tmp_path / "talk.jsonl"
    tapped = run(tap(path, program(ECHO), "--no-media"), frame)
    assert tapped.stdout == frame
    wait_for(path, b'"ev":"end"')
    (recorded,) = frames_of(path, "in")
    assert recorded["data"].endswith(" 100000000 bytes>")
    assert path.stat().st_size < 100_000  # what it wrote to stderr is there, too


def test_the_exit_code_is_the_agents(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    assert run(tap(path, program("print('bye'); sys.exit(7)"))).returncode == 7
    assert end_of(path)["exit"] == {"code": 7} and frames_of(path, "in") == ["bye"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_the_signal_that_ended_it_is_the_agents(program: Program, tmp_path: Path, number: int) -> None:
    path = tmp_path / "talk.jsonl"
    ended = run(tap(path, program(f"os.kill(os.getpid(), {int(number)})")))
    assert ended.returncode == -number and end_of(path)["exit"] == {"signal": number}


def test_signals_are_passed_on_to_the_agent(program: Program, tmp_path: Path) -> None:
    agent = program(
        """
        def heard(number, frame):
            os.write(1, b"heard %d\\n" % number)  # print must not be interrupted by itself
            if number == signal.SIGTERM:
                sys.exit(9)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, heard)
        print("ready", flush=True)
        while True:
            time.sleep(60)
        """
    )
    with subprocess.Popen(
        tap(tmp_path / "t.jsonl", agent), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
            process.send_signal(number)
            assert process.stdout.readline() == b"heard %d\n" % number
        assert process.wait(PATIENCE) == 9


def test_no_signal_is_lost_that_comes_just_before_a_wait(program: Program, tmp_path: Path) -> None:
    """Each comes when the one before it was heard: in the moment in which the tap goes to sleep again."""
    agent = program(
        """
        # waits without a handler: one could come between the look for signals and the sleep, as in the tap
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        print("ready", flush=True)
        while True:
            signal.sigwait({signal.SIGUSR1})
            os.write(1, b"heard\\n")
        """
    )
    with subprocess.Popen(
        tap(tmp_path / "t.jsonl", agent), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        for _ in range(3000):
            process.send_signal(signal.SIGUSR1)
            assert select.select([process.stdout], [], [], PATIENCE)[0], "a signal was lost"
            assert process.stdout.readline() == b"heard\n"
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM


STUBBORN = """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(os.getpid(), child.pid, os.getppid(), flush=True)
while True:
    time.sleep(60)
"""


def test_a_tap_that_is_killed_leaves_no_agent_and_a_readable_file(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with subprocess.Popen(
        tap(path, program(STUBBORN)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        agent, child, _ = map(int, process.stdout.readline().split())
        process.kill()
        assert gone(agent) and gone(child)
    wait_for(path, b'"ev":"end"')
    assert end_of(path)["error"] == "the tap was killed"


def test_a_client_that_ends_the_tap_with_all_it_started_leaves_the_recorder(
    program: Program, tmp_path: Path
) -> None:
    """It was killed while it wrote: of a large conversation, most was missing without a word."""
    path = tmp_path / "talk.jsonl"
    command = tap(path, program("while data := os.read(0, 65536): os.write(1, data)"))
    lines = b'{"jsonrpc":"2.0","method":"_x/y","params":{"token":"abc"}}\n' * 20_000
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin and process.stdout
        tree = ProcessTree(process)
        writing = threading.Thread(target=process.stdin.write, args=(lines,))
        writing.start()
        assert process.stdout.read(len(lines) - 1000)
        tree.note_descendants()
        tree.kill()
        asyncio.run(end_detached(tree))
        writing.join()
    wait_for(path, b'"ev":"end"')
    assert end_of(path)["error"] == "the tap was killed"
    assert not any(isinstance(item, Damaged) for item in read(path))


def test_a_command_in_a_session_of_its_own_ends_with_the_tap(program: Program, tmp_path: Path) -> None:
    """A signal to the agent's group does not reach it."""
    agent = program(
        """
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(words, start_new_session=True)
        print(child.pid, flush=True)
        time.sleep(600)
        """
    )
    with subprocess.Popen(
        tap(tmp_path / "talk.jsonl", agent), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        child = int(process.stdout.readline())
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert gone(child)


def test_an_agent_that_is_killed_ends_the_tap(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    lines = "print(os.getpid(), flush=True)\nwhile True: time.sleep(60)"
    with subprocess.Popen(
        tap(path, program(lines)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        os.kill(int(process.stdout.readline()), signal.SIGKILL)
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert end_of(path)["exit"] == {"signal": 9}


def test_a_client_that_is_killed_leaves_neither_tap_nor_agent(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    client = program(
        f"""
        command = {tap(path, program(STUBBORN))!r}
        tap = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        print(tap.stdout.readline().decode(), flush=True)
        time.sleep(600)
        """
    )
    with subprocess.Popen(client, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        agent, child, of_tap = map(int, process.stdout.readline().split())
        process.kill()
        assert gone(agent) and gone(child) and gone(of_tap)
    wait_for(path, b'"ev":"end"')
    assert end_of(path)["exit"] == {"signal": 9}


def test_an_agent_that_ends_its_work_after_its_input_is_left_alone(program: Program, tmp_path: Path) -> None:
    lines = "sys.stdin.read(); time.sleep(3); print('done', flush=True)"
    assert run(tap(tmp_path / "t.jsonl", program(lines)), b"x").stdout == b"done\n"


def test_an_agent_that_forks_away_ends_and_its_last_words_are_heard(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    lines = """
    if os.fork() == 0:
        os.setsid()
        print("from afar", flush=True)
        time.sleep(3)
    """
    ended = run(tap(path, program(lines)))
    assert ended.returncode == 0 and ended.stdout == b"from afar\n"
    assert frames_of(path, "in") == ["from afar"]


FORKS_AWAY = """
print("here", flush=True)
if os.fork() > 0:
    os._exit(7)
os.setsid()
print(os.getpid(), flush=True)
while data := os.read(0, 65536):
    os.write(1, data)
time.sleep(600 if "stays" in sys.argv else 0)
"""


def test_a_talk_goes_on_with_what_an_agent_left_in_its_place(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with subprocess.Popen(
        tap(path, program(FORKS_AWAY)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        child = int(process.stdout.readline())
        for number in range(5):  # for longer than output may come after a talk
            time.sleep(1)
            process.stdin.write(b'{"number":%d}\n' % number)
            process.stdin.flush()
            assert process.stdout.readline() == b'{"number":%d}\n' % number
        process.stdin.close()
        assert process.stdout.read() == b"" and process.wait(PATIENCE) == 7
    assert gone(child)
    assert frames_of(path, "in")[2:] == [{"number": number} for number in range(5)]
    assert end_of(path)["exit"] == {"code": 7}


@pytest.mark.parametrize("how", ["input", "output", "signal"])
def test_nothing_waits_for_what_an_agent_left_when_the_client_is_gone(
    program: Program, tmp_path: Path, how: str
) -> None:
    command = tap(tmp_path / "talk.jsonl", [*program(FORKS_AWAY), "stays"])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        child = int(process.stdout.readline())
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"{}\n"
        if how == "signal":
            process.terminate()
        else:
            (process.stdin if how == "input" else process.stdout).close()
        assert process.wait(PATIENCE) == 7
    os.kill(child, signal.SIGKILL)


def test_a_server_that_an_agent_leaves_behind_does_not_hide_its_end(program: Program, tmp_path: Path) -> None:
    lines = """
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
    print(left.pid, flush=True)
    """
    with subprocess.Popen(
        tap(tmp_path / "talk.jsonl", program(lines)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        left = int(process.stdout.readline())
        assert process.wait(PATIENCE) == 0
    os.kill(left, signal.SIGKILL)


def test_an_agent_that_dies_at_once_is_recorded(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    ended = run(tap(path, program("sys.stderr.write('no licence\\n'); sys.exit(3)")), b'{"id":0}\n')
    assert ended.returncode == 3 and ended.stderr == b"no licence\n"
    assert frames_of(path, "err") == ["no licence"]


def test_a_recording_that_is_being_written_does_not_look_broken(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    show = [sys.executable, "-m", "acpella", "record", "show", str(path)]
    with subprocess.Popen(
        tap(path, program(ECHO)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"half":1}\n')
        process.stdin.flush()
        wait_for(path, b"half")
        assert b"[the recording is still being written; look again" in run(show).stdout
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    assert b"[" not in run(show).stdout
    os.truncate(path, path.read_bytes().rindex(b'{"ev":"end"'))
    assert b"[the recording breaks off here" in run(show).stdout


def test_an_agent_that_never_answers_can_be_given_up(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    with subprocess.Popen(
        tap(path, program("time.sleep(600)")), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n')
        process.stdin.flush()
        wait_for(path, b"initialize")
        assert process.poll() is None
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
    assert frames_of(path, "out") == [{"jsonrpc": "2.0", "id": 0, "method": "initialize"}]


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    ended = run(tap(path, ["no-such-agent"]))
    assert ended.returncode == 3 and b"no-such-agent: command not found" in ended.stderr
    assert "command not found" in end_of(path)["error"]


def test_a_full_disk_stops_the_recording_and_not_the_conversation(program: Program) -> None:
    ended = run(tap(Path("/dev/full"), program(ECHO)), b"{}\n" * 1000)
    assert ended.returncode == 0 and ended.stdout == b"{}\n" * 1000
    assert b"/dev/full: the recording stopped" in ended.stderr


def test_a_disk_that_takes_nothing_for_a_while_gets_everything_in_order(
    program: Program, tmp_path: Path
) -> None:
    disk, path = tmp_path / "disk", tmp_path / "talk.jsonl"
    os.mkfifo(disk)
    slow = os.open(disk, os.O_RDONLY | os.O_NONBLOCK)
    lines = """
    for number in range(4000):
        print('{"number":%d,"text":"%s"}' % (number, "x" * 1000), flush=True)
    """
    ended = run(tap(disk, program(lines)))
    assert ended.returncode == 0 and ended.stdout.count(b"\n") == 4000
    assert b"the recorder is still writing; the file is complete when its last line says" in ended.stderr
    os.set_blocking(slow, True)
    with open(slow, "rb", buffering=0) as source, open(path, "wb") as target:
        while data := source.read(1000):
            target.write(data)
    assert not any(isinstance(item, Damaged) for item in read(path))
    assert [each["number"] for each in frames_of(path, "in")] == list(range(4000))
    assert end_of(path)["dropped"] == 0 and end_of(path)["exit"] == {"code": 0}


def test_a_file_that_cannot_be_made_is_told_before_the_agent_starts(tmp_path: Path) -> None:
    ended = run(tap(Path("/dev/null/x"), ["touch", str(tmp_path / "started")]))
    assert ended.returncode == 2 and b"the recording cannot be written" in ended.stderr
    assert not (tmp_path / "started").exists()


def test_raw_is_loud_and_hides_nothing(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    ended = run(tap(path, program(ECHO), "--raw"), b'{"token":"hunter2hunter2"}\n')
    assert b"secrets are written to" in ended.stderr
    assert frames_of(path, "in") == [{"token": "hunter2hunter2"}]


@pytest.mark.parametrize(
    "words, told",
    [
        (["opencode", "acp"], "write `--` before the command"),
        (["-o", "x.jsonl", "python", "plain.py"], "write `--` before the command"),
        (["--anonymize", "plain.py"], "write `--` before the command"),
        ([], "say which agent to record"),
        (["--"], "say which"),
    ],
)
def test_a_command_line_that_is_wrong_says_what_is_right(words: list[str], told: str) -> None:
    ended = run([sys.executable, "-m", "acpella", "record", *words])
    assert ended.returncode == 2 and told in ended.stderr.decode()


@pytest.mark.anyio
async def test_a_client_talks_to_a_recorded_agent_as_to_any_other(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    async with asyncio.timeout(PATIENCE * 2):
        async with acpella.connect(tap(path, [sys.executable, str(EXAMPLES / "echo.py")])) as agent:
            session = await agent.new_session(tmp_path)
            assert "hello" in (await session.prompt("hello")).text
    methods = [m.get("method") for m in frames_of(path, "out")]
    assert methods[:3] == ["initialize", "session/new", "session/prompt"]


def test_without_a_name_the_file_is_in_the_users_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run([sys.executable, "-m", "acpella", "record", "--", "echo", "hi"])
    (path,) = (tmp_path / "state" / "acpella" / "recordings").iterdir()
    assert frames_of(path, "in") == ["hi"] and "-echo-" in path.name

"""A child process as the peer: how it starts, how it ends, and what is never left behind."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acpella.errors import ConnectionClosed, LocalProtocolError, TransportError
from acpella.rpc import Connection, Limits
from acpella.transport import ProcessChannel, ProcessLimits
from interaction.ends import Collector, until, until_stuck
from interaction.wire import PLAIN

pytestmark = pytest.mark.anyio

PATIENCE = 60
"""Seconds for one test on a busy machine."""

SERVE = """
import json, os, signal, subprocess, sys, time
def tell(id, value): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": value}), flush=True)
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            tell(message["id"], answer(message["method"], message.get("params")))
def answer(method, params):
    return params
"""


def program(code: str = "serve()", before: str = "") -> list[str]:
    """A command that answers every request with its params, unless the code says otherwise."""
    return [sys.executable, "-IuSc", f"{SERVE}\n{before}\n{code}"]


@asynccontextmanager
async def talk(command: list[str], **options: Any) -> AsyncIterator[tuple[Connection, ProcessChannel]]:
    """A connection to a command; closing it does not dawdle."""
    rest = {
        name: options.pop(name)
        for name in ("answer_noise", "on_noise", "notifications", "limits")
        if name in options
    }
    channel = ProcessChannel(command, **{"eof_grace": 0.5, "terminate_grace": 0.5, **options})
    async with (
        asyncio.timeout(PATIENCE),
        Connection(channel, PLAIN, **{"limits": Limits(close_grace=0.2), **rest}) as c,
    ):
        yield c, channel


async def end_of(command: list[str], **options: Any) -> ConnectionClosed:
    """How a call to a command that dies ends."""
    async with talk(command, **options) as (connection, _):
        with pytest.raises(ConnectionClosed) as caught:
            await connection.call("m")
        return caught.value


# -- /proc --------------------------------------------------------------------------------


def state(pid: int) -> str | None:
    """The state of a process; None when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return None


def members(group: int) -> list[int]:
    """The living processes of a group."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] not in "ZX":
                    found.append(int(entry.name))
    return found


async def none_left(group: int) -> None:
    """Killed processes need a moment to be gone; a second is more than enough."""
    async with asyncio.timeout(PATIENCE):
        await until(lambda: not members(group))


def children_of(pid: int) -> set[int]:
    """Its children, ended ones included that nobody has waited for."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for path in threads for child in path.read_text(encoding="ascii").split()}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """After each test: no zombie, no descriptor more than before."""
    before, children = descriptors(), children_of(os.getpid())
    yield
    assert children_of(os.getpid()) <= children  # a server of other tests may be among them
    assert descriptors() <= before


# -- start ---------------------------------------------------------------------------------


async def test_a_child_answers() -> None:
    async with talk(program()) as (connection, channel):
        assert await connection.call("m", {"a": "é"}) == {"a": "é"}
        assert channel.pid is not None and os.getpgid(channel.pid) == channel.pid


async def test_the_environment_is_laid_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "theirs")
    monkeypatch.setenv("CHANGED", "before")
    before = "answer = lambda method, name: os.environ.get(name)"
    monkeypatch.setenv("TAKEN_AWAY", "secret")
    env = {"ADDED": "é", "CHANGED": "after", "TAKEN_AWAY": None}
    async with talk(program(before=before), env=env) as (connection, _):
        names = ["INHERITED", "CHANGED", "ADDED", "PATH", "TAKEN_AWAY"]
        values = [await connection.call("get", name) for name in names]
        assert values == ["theirs", "after", "é", os.environ["PATH"], None]


async def test_the_environment_can_be_its_own_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "theirs")
    before = "answer = lambda method, name: os.environ.get(name)"
    async with talk(program(before=before), env={"ADDED": "é"}, inherit_env=False) as (connection, _):
        assert await connection.call("get", "INHERITED") is None
        assert await connection.call("get", "ADDED") == "é"


async def test_the_working_directory_is_the_given_one(tmp_path: Path) -> None:
    async with talk(program(before="answer = lambda *_: os.getcwd()"), cwd=tmp_path) as (connection, _):
        assert await connection.call("where") == str(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that cannot be started, each in its own way."""
    scripts = {
        "script.py": ("print()", 0o644),
        "script": ("#!/bin/sh\n", 0o644),
        "lost": ("#!/no/such/interpreter\n", 0o755),
        "text": ("no first line", 0o755),
    }
    for name, (text, mode) in scripts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(mode)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "cwd", "expected"),
    [
        ("no-such-command", None, "no-such-command: command not found; is it installed and on your PATH?"),
        ("{folder}/missing", None, "missing: command not found; check the path"),
        ("{folder}/script.py", None, "not executable; run it as `python .*script.py`"),
        ("{folder}/script", None, "not executable; try `chmod [+]x .*script`"),
        ("{folder}", None, "it is a directory"),
        ("{folder}/lost", None, "interpreter named in its first line does not exist"),
        ("{folder}/text", None, "not a program .no `#!` line"),
        ("{folder}/text/x", None, "cannot start .*text/x"),
        ("true", "{folder}/nowhere", "the working directory .*/nowhere does not exist"),
        ("true", "{folder}/text", "the working directory .*/text is not a directory"),
        ("./lost", "{folder}", "interpreter named in its first line does not exist"),
        ("./script", "{folder}", "not executable; try `chmod"),
        ("nul\0", None, "cannot start"),
    ],
)
async def test_a_command_that_cannot_be_started_says_why(
    folder: Path, command: str, cwd: str | None, expected: str
) -> None:
    channel = ProcessChannel([command.format(folder=folder)], cwd=cwd and cwd.format(folder=folder))
    with pytest.raises(TransportError, match=expected):
        async with Connection(channel, PLAIN):
            pass
    await channel.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
async def test_limits_hold_from_the_beginning_and_change_nothing_else(folder: Path) -> None:
    limits = ProcessLimits(core=0, files=55)
    tell = "def answer(*_): return [*resource.getrlimit(resource.RLIMIT_NOFILE), *sys.argv[1:]]"
    channel = ProcessChannel(
        [*program(before=f"import resource\n{tell}"), "a  b", "$HOME", ""], limits=limits
    )
    async with asyncio.timeout(PATIENCE), Connection(channel, PLAIN) as connection:
        assert await connection.call("m") == [55, 55, "a  b", "$HOME", ""]
        assert channel.command[0] == sys.executable and "ulimit" not in channel.name
    for command, cwd, expected in (
        ("no-such-command", None, "command not found; is it installed"),
        (f"{folder}/script", None, "not executable; try `chmod"),
        (f"{folder}", None, "it is a directory"),
        ("true", f"{folder}/nowhere", "working directory .*/nowhere does not exist"),
        ("./script", str(folder), "not executable"),
        ("nul\0", None, "cannot start"),
    ):
        channel = ProcessChannel([command], cwd=cwd, limits=limits)
        with pytest.raises(TransportError, match=expected):
            async with Connection(channel, PLAIN):
                pass


async def test_a_command_must_not_be_empty() -> None:
    with pytest.raises(LocalProtocolError):
        ProcessChannel([])


async def test_a_channel_can_be_opened_once() -> None:
    async with talk(program()) as (_, channel):
        with pytest.raises(LocalProtocolError):
            await Connection(channel, PLAIN).open()


async def test_closing_what_was_never_opened_is_fine() -> None:
    await ProcessChannel(["true"]).close()


async def test_an_opening_that_is_cancelled_leaves_nothing_behind() -> None:
    for steps in range(6):
        channel = ProcessChannel([*program("time.sleep(600)")])
        opening = asyncio.create_task(Connection(channel, PLAIN).open())
        for _ in range(steps):
            await asyncio.sleep(0)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await opening
        await channel.close()
        if channel.pid is not None:
            await none_left(channel.pid)


async def test_the_name_of_a_command_hides_secrets_and_is_short() -> None:
    assert "hunter2" not in ProcessChannel(["agent", "--api-key=hunter2"]).name
    assert "hunter2" not in ProcessChannel(["agent", "--token", "hunter2"]).name
    assert len(ProcessChannel(["agent", "x" * 1000]).name) <= 80


# -- stdout and stderr -------------------------------------------------------------------------


async def test_banners_before_the_first_frame_are_passed_over() -> None:
    """FIELD-NOTES 10: and not answered, which would only confuse the agent."""
    heard: list[str] = []
    before = "print('Welcome!\\n\\n  [info] loading...'); print('\\x1b[1mready\\x1b[0m')"
    options = {"answer_noise": False, "on_noise": lambda noise: heard.append(noise.excerpt)}
    async with talk(program(before=before), **options) as (connection, _):
        assert await connection.call("m", 1) == 1
        assert len(heard) == 3


async def test_much_on_stderr_before_the_first_answer_blocks_nobody() -> None:
    """R-005; FIELD-NOTES 10"""
    before = "sys.stderr.write('noise ' * 50_000 + 'last words'); sys.stderr.flush()"
    async with talk(program(before=before)) as (connection, channel):
        assert await connection.call("m", 1) == 1
        await until(lambda: channel.stderr_tail.endswith("last words"))
        assert len(channel.stderr_tail) < 20_000


async def test_stderr_is_given_to_whoever_wants_it() -> None:
    got = Collector()

    def listen(data: bytes) -> None:
        got(data)
        raise RuntimeError("listeners fail too")

    async with talk(program(before="sys.stderr.write('hello')"), on_stderr=listen) as (connection, _):
        await connection.call("m", 1)
        await got.until(1)
        assert b"".join(got.got) == b"hello"


async def test_stderr_that_is_no_text_harms_nobody() -> None:
    ending = await end_of(program("os.write(2, b'\\xff\\xfe token=hunter2 \\x00'); sys.exit(1)"))
    assert "hunter2" not in str(ending)


async def test_the_last_answers_of_a_child_that_exits_are_read() -> None:
    code = "[tell(n, n) for n in range(3)]"
    async with talk(program(f"sys.stdin.readline(); sys.stdin.readline(); sys.stdin.readline(); {code}")) as (
        c,
        _,
    ):
        assert await asyncio.gather(*(c.call("m") for _ in range(3))) == [0, 1, 2]


async def test_a_slow_consumer_gets_all_that_a_dead_child_wrote() -> None:
    got: list[int] = []

    async def slowly(n: list[Any]) -> None:
        await asyncio.sleep(0)
        got.append(n[0])

    code = "for n in range(3000): print(json.dumps({'method': 'n', 'params': [n, 'x' * 100]}))"
    limits = Limits(queue_low=5000, close_grace=PATIENCE)
    async with talk(program(code), notifications={"n": slowly}, limits=limits) as (connection, _):
        ending = await connection.wait_closed()
        assert ending.exit_code == 0
        assert got == list(range(3000))


# -- how it ends by itself ------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 42])
async def test_the_exit_code_is_told(code: int) -> None:
    ending = await end_of(program(f"sys.stdin.readline(); sys.exit({code})"))
    assert ending.exit_code == code
    assert f"exited with code {code}" in str(ending)
    assert not ending.clean


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
async def test_the_signal_is_told(name: str) -> None:
    ending = await end_of(program(f"sys.stdin.readline(); os.kill(os.getpid(), signal.{name})"))
    assert ending.signal == name
    assert f"killed by {name}" in str(ending)


async def test_the_last_words_on_stderr_are_told() -> None:
    ending = await end_of(program("sys.stdin.readline(); raise RuntimeError('a bug in the agent')"))
    assert "RuntimeError: a bug in the agent" in ending.stderr_tail
    assert "RuntimeError: a bug in the agent" in str(ending)
    assert any("-> " in frame and '"method":"m"' in frame for frame in ending.frames)


async def test_a_child_that_dies_in_the_middle_of_a_frame_is_told_as_dead() -> None:
    cut = 'sys.stdout.write(\'{"jsonrpc":"2.0","id":0,"result":{"half\'); sys.stdout.flush(); sys.exit(9)'
    ending = await end_of(program(f"sys.stdin.readline(); {cut}"))
    assert ending.exit_code == 9


async def test_a_child_that_dies_while_we_write_is_told_as_dead() -> None:
    async with talk(program("sys.stdin.read(10); sys.exit(3)")) as (connection, _):
        with pytest.raises(ConnectionClosed) as caught:
            while True:
                await connection.notify("n", "x" * 10_000)
        assert caught.value.exit_code == 3


async def test_a_child_that_closes_its_input_and_lives_makes_nobody_wait_for_ever() -> None:
    async with talk(program("sys.stdin.read(10); os.close(0); time.sleep(600)")) as (connection, _):
        for _ in range(100):
            await connection.notify("n", "x" * 100_000)
        with pytest.raises(TimeoutError):
            await connection.call("m", timeout=0.01)


async def test_calls_after_its_death_fail_at_once() -> None:
    async with talk(program("sys.exit(5)")) as (connection, _):
        await connection.wait_closed()
        for _ in range(2):
            with pytest.raises(ConnectionClosed) as caught:
                await connection.call("m")
            assert caught.value.exit_code == 5


async def test_a_child_that_closes_its_output_and_lives_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acpella.transport.process.EXIT_AFTER_EOF", 0.1)
    ending = await end_of(program("os.close(1); time.sleep(600)"))
    assert "closed its output but is still running" in ending.reason


async def test_a_grandchild_that_holds_stdout_does_not_hide_the_death() -> None:
    """What holds the pipe open is not the agent."""
    code = "sys.stdin.readline(); subprocess.Popen(['sleep', '600'], stdin=0); sys.exit(7)"
    async with asyncio.timeout(30):  # the grandchild has 60
        ending = await end_of(program(code))
    assert ending.exit_code == 7


async def test_a_daemon_that_holds_stdout_does_not_hide_the_death(tmp_path: Path) -> None:
    """It has left the group, so it is not ours to kill; but neither is it ours to wait for."""
    note = tmp_path / "pid"
    start = "daemon = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    daemon = f"{start}; open({str(note)!r}, 'w').write(str(daemon.pid))"
    try:
        ending = await end_of(program(f"sys.stdin.readline(); {daemon}; os._exit(7)"))
        assert ending.exit_code == 7
    finally:
        os.kill(int(note.read_text(encoding="utf-8")), signal.SIGKILL)


async def test_a_chatty_grandchild_does_not_hide_the_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acpella.transport.process.TALK_AFTER_EXIT", 0.7)
    chatter = 'import time\\nwhile True: print("x", flush=True); time.sleep(0.05)'
    code = f"sys.stdin.readline(); subprocess.Popen([sys.executable, '-ISc', '''{chatter}''']); os._exit(7)"
    ending = await end_of(program(code), answer_noise=False)
    assert ending.exit_code == 7


async def test_a_system_without_pidfd_tells_the_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.pidfd_open")
    ending = await end_of(program("sys.stdin.readline(); sys.exit(6)"))
    assert ending.exit_code == 6
    await closed(program())


# -- how it is ended --------------------------------------------------------------------------------


async def closed(command: list[str], ready: str = "m", **options: Any) -> tuple[ProcessChannel, float]:
    """Close the connection to a command that is up; how long that took."""
    async with talk(command, **options) as (connection, channel):
        await connection.call(ready)
        start = time.monotonic()
    assert channel.pid is not None
    await none_left(channel.pid)
    return channel, time.monotonic() - start


async def test_a_child_that_ends_with_its_input_is_not_hurried() -> None:
    """R-006"""
    before = "signal.signal(signal.SIGTERM, lambda *_: os._exit(99))"
    channel, took = await closed(program(before=before), eof_grace=10)
    assert took < 5
    assert channel._exited is not None and channel._exited.result() == 0  # pyright: ignore[reportPrivateUsage]


async def test_a_child_that_ignores_the_end_of_its_input_is_terminated() -> None:
    """FIELD-NOTES 9"""
    channel, _ = await closed(program("serve(); time.sleep(600)"), eof_grace=0.1, terminate_grace=10)
    assert channel._exited is not None and channel._exited.result() == -signal.SIGTERM  # pyright: ignore[reportPrivateUsage]


async def test_a_child_that_ignores_termination_is_killed() -> None:
    before = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    command = program("serve()\nwhile True: time.sleep(600)", before)
    channel, _ = await closed(command, eof_grace=0.1, terminate_grace=0.1)
    assert channel._exited is not None and channel._exited.result() == -signal.SIGKILL  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    "script",
    [
        '"$@"; true',
        'trap "" TERM; "$@"; sleep 600',
        'exec 3<&0; trap "" TERM; "$@" <&3 & wait; sleep 600',
        'exec 3<&0; "$@" <&3 & wait',
        'trap "" TERM HUP INT; (trap "" TERM; sleep 600) & "$@"; sleep 600',
    ],
)
async def test_nothing_of_a_wrapper_is_left(script: str) -> None:
    """`npx` and `sh -c` start the agent as a child; some ignore EOF, some SIGTERM."""
    stubborn = program("serve(); time.sleep(600)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    await closed(["sh", "-c", script, "sh", *stubborn], eof_grace=0.1, terminate_grace=0.1)


async def test_nothing_is_left_of_a_group_whose_leader_is_gone() -> None:
    code = "sys.stdin.readline(); subprocess.Popen(['sleep', '600']); os._exit(0)"
    async with talk(program(code)) as (connection, channel):
        with pytest.raises(ConnectionClosed):
            await connection.call("m")
        assert channel.pid is not None
    await none_left(channel.pid)


async def test_a_child_that_never_reads_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acpella.transport._pipes.CLOSE_TIMEOUT", 0.1)
    async with talk(program("time.sleep(600)"), eof_grace=0.1) as (connection, channel):
        flooding = asyncio.create_task(flood(connection))
        await until_stuck(connection)
        await connection.close()
        with pytest.raises(ConnectionClosed):
            await flooding
        assert channel.pid is not None
    await none_left(channel.pid)


async def flood(connection: Connection) -> None:
    while True:
        await connection.notify("n", "x" * 10_000)


async def test_a_stopped_child_can_be_closed() -> None:
    async with talk(program(), eof_grace=0.1, terminate_grace=0.1) as (connection, channel):
        await connection.call("m")
        assert channel.pid is not None
        os.kill(channel.pid, signal.SIGSTOP)
    await none_left(channel.pid)


async def test_a_cancelled_close_kills_the_group_at_once() -> None:
    stubborn = program("serve(); time.sleep(600)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    channel = ProcessChannel(
        ["sh", "-c", '"$@"; sleep 600', "sh", *stubborn], eof_grace=60, terminate_grace=60
    )
    async with asyncio.timeout(PATIENCE):
        connection = await Connection(channel, PLAIN).open()
        await connection.call("m")
        closing = asyncio.create_task(channel.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert channel.pid is not None
        await none_left(channel.pid)
        await connection.close()


DETACHED = """
def answer(method, params):
    command = subprocess.Popen(params, start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [command.pid, *map(int, command.stdout.readline().split())]
"""
"""Runs a command in a session of its own, as agents do; answers with its process and those that it prints."""


async def all_gone(pids: list[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        await until(lambda: all(state(pid) in (None, "Z") for pid in pids))


@pytest.mark.parametrize(
    ("before", "script"),
    [
        ("", "sleep 600 & echo $!; wait"),
        ("", 'trap "" TERM; sleep 600 & echo $!; wait; wait'),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", "sleep 600 & echo $!; wait"),
        ("", "setsid sleep 600 & echo $!; wait"),
    ],
)
async def test_commands_in_sessions_of_their_own_end_with_the_child(before: str, script: str) -> None:
    """Agents run commands with `setsid`: no signal to their group reaches those."""
    command = program("serve(); time.sleep(600)", before + DETACHED)
    async with talk(command, eof_grace=0.1, terminate_grace=0.1) as (connection, _):
        pids = await connection.call("m", ["sh", "-c", script])
        assert len(pids) == 2 and all(state(pid) for pid in pids)
    await all_gone(pids)


async def test_what_a_command_left_behind_ends_with_the_child_if_it_was_seen() -> None:
    """The child stops the command alone, as many do when they are told to cancel."""
    stops = DETACHED + "    \ndef stop(pid): os.kill(pid, 9); os.waitpid(pid, 0)\n"
    code = "message = json.loads(sys.stdin.readline()); pids = answer('m', message['params'])\n"
    code += "tell(message['id'], pids); message = json.loads(sys.stdin.readline()); stop(pids[0])\n"
    code += "tell(message['id'], None); serve()"
    async with talk(program(code, stops)) as (connection, channel):
        pids = await connection.call("m", ["sh", "-c", "sleep 600 & echo $!; wait"])
        channel.note_descendants()
        await connection.call("stop")
        assert state(pids[0]) is None and state(pids[1])
    await all_gone(pids)


async def test_a_daemon_of_the_child_stays() -> None:
    """A terminal multiplexer, a build server: whoever starts one wants to have it afterwards."""
    async with talk(program("serve()", DETACHED)) as (connection, _):
        parent, daemon = await connection.call("m", ["sh", "-c", "setsid sleep 600 > /dev/null & echo $!"])
        status = Path(f"/proc/{daemon}/stat")
        await until(lambda: status.read_text(encoding="utf-8").split()[3] != str(parent))
    assert state(daemon)
    os.kill(daemon, signal.SIGKILL)


OWNER = """
import asyncio, os, signal, sys
from acpella.transport import ProcessChannel

class Owner:
    def pause_writing(self): pass
    def resume_writing(self): pass
    def ended(self, reason): print(reason, flush=True)
    def received(self, data):
        print(data.decode(), end="", flush=True)
        if data.endswith(b"\\n"):
            if os.environ.get("GUARD_IS_LATE"):
                guard = channel._guard._process.pid
                os.kill(guard, signal.SIGSTOP)
                print(guard, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

channel = ProcessChannel(sys.argv[1:])

async def main():
    await channel.open(Owner(), write_high=65536)
    await asyncio.sleep(600)

asyncio.run(main())
"""
"""Starts a child and is killed after its first line, which it repeats. If `GUARD_IS_LATE`, the one who would
end the child is stopped before, and its process is on the next line."""


@pytest.mark.parametrize(
    "then", ["serve()", "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
)
async def test_a_child_and_its_commands_end_when_this_process_is_killed(then: str) -> None:
    """Even if it does not read its input at that time, and ignores SIGTERM."""
    script = "trap '' TERM; setsid sleep 600 & echo $!; wait"
    child = program(
        f"print(os.getpid(), *answer('', ['sh', '-c', {script!r}]), flush=True); {then}", DETACHED
    )
    async with asyncio.timeout(PATIENCE):
        owner = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", OWNER, *child), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await owner.communicate()
    pids = [int(pid) for pid in out.split()]
    assert owner.returncode == -signal.SIGKILL and len(pids) == 3
    await all_gone(pids)


RENAMED = """
import ctypes, signal, time
ctypes.CDLL(None).prctl(15, b"a) 1 2\\nb) c", 0, 0, 0)
signal.signal(signal.SIGHUP, signal.SIG_IGN); print(flush=True); time.sleep(600)
"""
"""Has a name with a line break, which `/proc/PID/stat` shows as it is."""


async def test_a_command_with_a_line_break_in_its_name_ends_when_this_process_is_killed() -> None:
    """Only the first line of its status was read, so its group was not known."""
    command = [sys.executable, "-c", RENAMED]
    child = program(f"print(os.getpid(), *answer('', {command!r}), flush=True); serve()", DETACHED)
    async with asyncio.timeout(PATIENCE):
        owner = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", OWNER, *child), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await owner.communicate()
    pids = [int(pid) for pid in out.split()]
    assert len(pids) == 2
    try:
        await all_gone(pids)
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_a_child_does_not_hear_of_the_end_before_its_commands_are_noted() -> None:
    """On a busy machine, it ended with its input before anybody had looked; its commands were nobody's."""
    child = program(
        "print(os.getpid(), *answer('', ['sh', '-c', 'echo; exec sleep 600']), flush=True); serve()", DETACHED
    )
    env = {**os.environ, "GUARD_IS_LATE": "1"}
    async with asyncio.timeout(PATIENCE):
        owner = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", OWNER, *child), stdout=asyncio.subprocess.PIPE, env=env
        )
        out, _ = await owner.communicate()
    *pids, guard = map(int, out.split())
    assert len(pids) == 2
    await asyncio.sleep(0.3)  # in which the child would end, if it had heard
    os.kill(guard, signal.SIGCONT)
    await all_gone(pids)


async def test_killing_needs_no_event_loop_and_spares_nothing() -> None:
    async with talk(program("serve()", DETACHED), eof_grace=60, terminate_grace=60) as (connection, channel):
        pids = await connection.call("m", ["sh", "-c", "sleep 600 & echo $!; wait"])
        channel.kill()
        assert channel.pid is not None
        deadline = time.monotonic() + PATIENCE
        while not all(state(pid) in (None, "Z") for pid in [channel.pid, *pids]):
            assert time.monotonic() < deadline


async def test_a_child_that_does_not_end_with_its_input_is_not_waited_for_long() -> None:
    """Somebody waits for the end of a one-shot, and half of the agents never leave by themselves."""
    channel = ProcessChannel(program("serve(); time.sleep(1.5)"))
    async with asyncio.timeout(PATIENCE), Connection(channel, PLAIN) as connection:
        await connection.call("m")
    assert channel._exited is not None and channel._exited.result() == -signal.SIGTERM  # pyright: ignore[reportPrivateUsage]


def test_a_loop_that_shuts_down_takes_its_children_along() -> None:
    """Ctrl-C during a close: the handlers were still being waited for."""
    channel = ProcessChannel(program("serve(); time.sleep(600)"), eof_grace=0.1, terminate_grace=0.1)

    async def main() -> None:
        connection = await Connection(channel, PLAIN, limits=Limits(close_grace=60)).open()
        await connection.call("m")
        busy = asyncio.get_running_loop().create_future()
        connection._requests.running[asyncio.ensure_future(busy)] = b"1"  # type: ignore[index]  # a handler that takes its time
        closing = asyncio.create_task(connection.close())
        await asyncio.sleep(0)
        closing.cancel()

    asyncio.run(main())
    assert channel.pid is not None
    assert members(channel.pid) == []


async def test_starting_and_stopping_leaks_no_descriptor_and_no_process() -> None:
    before = descriptors()
    for n in range(20):
        async with talk(program()) as (connection, _):
            assert await connection.call("m", n) == n
    assert descriptors() == before


async def test_failing_and_dying_leaks_no_descriptor() -> None:
    before = descriptors()
    for _ in range(10):
        with pytest.raises(TransportError):
            async with talk(["/no/such/program"]):
                pass
        await end_of(["false"])
    assert descriptors() == before


async def test_many_children_at_once() -> None:
    async def one(n: int) -> int:
        async with talk(program()) as (connection, _):
            return await connection.call("m", n)

    assert await asyncio.gather(*(one(n) for n in range(10))) == list(range(10))

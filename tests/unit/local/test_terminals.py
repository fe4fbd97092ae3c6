"""Commands run in groups of their own, and nothing of them stays behind."""

import asyncio
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acpella.errors import AcpellaError
from acpella.local import CommandError, CommandResult, ExitStatus, LocalTerminal, run_command, terminals

pytestmark = pytest.mark.anyio

PYTHON = sys.executable


class Output:
    """Collects output, and tells when a text was seen."""

    def __init__(self) -> None:
        self.text = ""
        self.pieces: list[str] = []
        self._changed = asyncio.Event()

    def __call__(self, piece: str) -> None:
        self.pieces.append(piece)
        self.text += piece
        self._changed.set()

    async def seen(self, text: str) -> None:
        async with asyncio.timeout(60):
            while text not in self.text:
                self._changed.clear()
                await self._changed.wait()


async def until(condition: Callable[[], bool]) -> None:
    """For what nothing tells: processes that are not our children."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; the dead that nobody has buried do not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def children() -> list[str]:
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        found += (task / "children").read_text(encoding="utf-8").split()
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


# -- output and status -----------------------------------------------------------------------


async def test_output_of_both_kinds_is_merged_in_order(tmp_path: Path) -> None:
    async with await LocalTerminal.start("echo one; echo two >&2; echo three", cwd=tmp_path) as terminal:
        assert await terminal.wait() == ExitStatus(0, None)
        assert terminal.output == "one\ntwo\nthree\n"
        assert not terminal.truncated


async def test_there_is_no_status_while_it_runs(tmp_path: Path) -> None:
    seen = Output()
    async with await LocalTerminal.start("echo on; exec sleep 100", cwd=tmp_path, on_output=seen) as terminal:
        assert terminal.exit_status is None
        await seen.seen("on\n")
        assert terminal.exit_status is None
        assert terminal.output == "on\n"


async def test_an_exit_code_and_a_signal_exclude_each_other(tmp_path: Path) -> None:
    async with await LocalTerminal.start("exit 3", cwd=tmp_path) as terminal:
        assert await terminal.wait() == (3, None)
    async with await LocalTerminal.start("kill -SEGV $$", cwd=tmp_path) as terminal:
        assert await terminal.wait() == (None, "SIGSEGV")
        assert terminal.exit_status == ExitStatus(None, "SIGSEGV")


async def test_arguments_reach_the_program_as_they_are(tmp_path: Path) -> None:
    args = ["-c", "import sys; print(sys.argv[1:])", "a b", "$HOME", "*", "", "; ls", "ü"]
    result = await run_command(PYTHON, args, cwd=tmp_path, env={"PYTHONIOENCODING": "utf-8"})
    assert result.output == f"{args[2:]}\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pwd", "{cwd}\n"),
        ("echo a b", "a b\n"),
        ("echo a|tr a b", "b\n"),
        ("X=1 sh -c 'echo $X'", "1\n"),
        ("echo a\necho b", "a\nb\n"),
    ],
)
async def test_a_command_without_arguments_may_be_a_shell_line(
    tmp_path: Path, command: str, output: str
) -> None:
    assert (await run_command(command, cwd=tmp_path)).output == output.format(cwd=tmp_path)


async def test_a_program_with_a_blank_in_its_name_is_not_a_shell_line(tmp_path: Path) -> None:
    program = tmp_path / "my tool"
    program.write_text("#!/bin/sh\necho tool\n", encoding="utf-8")
    program.chmod(0o755)
    assert (await run_command(str(program), cwd=tmp_path)).output == "tool\n"
    assert (await run_command("./my tool", cwd=tmp_path)).output == "tool\n"


async def test_variables_are_laid_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE", "kept")
    monkeypatch.setenv("TWO", "replaced")
    assert (await run_command("echo $ONE $TWO", cwd=tmp_path, env={"TWO": "new"})).output == "kept new\n"
    assert (await run_command("echo $ONE $TWO", cwd=tmp_path)).output == "kept replaced\n"


async def test_its_input_is_empty(tmp_path: Path) -> None:
    assert await run_command("cat; echo end", cwd=tmp_path, timeout=10) == CommandResult(
        "end\n", 0, None, False, False
    )


async def test_output_after_its_own_end_of_output_is_no_problem(tmp_path: Path) -> None:
    result = await run_command("echo a; exec >&- 2>&-; exit 4", cwd=tmp_path, timeout=10)
    assert (result.output, result.exit_code) == ("a\n", 4)


async def test_several_can_wait_and_each_may_give_up(tmp_path: Path) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    async with await LocalTerminal.start("read x < go; exit 5", cwd=tmp_path) as terminal:
        waiting = [asyncio.ensure_future(terminal.wait()) for _ in range(3)]
        waiting[0].cancel()
        await asyncio.to_thread(fifo.write_text, "x\n", encoding="utf-8")
        async with asyncio.timeout(60):
            assert await asyncio.gather(*waiting[1:]) == [(5, None), (5, None)]


# -- the limit -------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", range(0, 14))
async def test_the_oldest_output_is_dropped_at_a_character_boundary(tmp_path: Path, limit: int) -> None:
    text = "aé€😀z"  # 1, 2, 3, 4 and 1 bytes
    result = await run_command("printf", ["%s", text], cwd=tmp_path, output_byte_limit=limit)
    assert text.endswith(result.output)
    size = len(result.output.encode())
    assert limit - 3 <= size <= limit or size == len(text.encode())
    assert result.truncated == (limit < len(text.encode()))


async def test_the_limit_holds_for_long_output_in_many_pieces(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(20000): sys.stdout.write(f'{n} äöü😀\\n')"
    env = {"PYTHONIOENCODING": "utf-8"}
    whole = "".join(f"{n} äöü😀\n" for n in range(20000))
    seen = Output()
    part = await run_command(
        PYTHON, ["-c", code], cwd=tmp_path, env=env, output_byte_limit=5000, on_output=seen
    )
    assert part.truncated and whole.endswith(part.output)
    assert 4997 <= len(part.output.encode()) <= 5000
    assert seen.text == whole, "who listens gets all of it"
    for limit in (None, 1 << 60):
        assert await run_command(
            PYTHON, ["-c", code], cwd=tmp_path, env=env, output_byte_limit=limit
        ) == CommandResult(whole, 0, None, False, False)


async def test_no_limit_asked_for_means_the_usual_one(tmp_path: Path) -> None:
    result = await run_command("head -c 3000000 /dev/zero | tr '\\0' x", cwd=tmp_path, output_byte_limit=None)
    assert len(result.output) == terminals.OUTPUT_LIMIT
    assert result.truncated


async def test_what_is_not_utf8_stays_within_the_limit(tmp_path: Path) -> None:
    result = await run_command(
        "head -c 1000 /dev/zero | tr '\\0' '\\377'", cwd=tmp_path, output_byte_limit=100
    )
    assert result.output == "\N{REPLACEMENT CHARACTER}" * 33
    assert result.truncated


async def test_a_character_written_in_two_pieces_is_heard_as_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    seen = Output()
    line = "printf 'a\\303'; read x < go; printf '\\244b\\342\\202'"
    async with await LocalTerminal.start(line, cwd=tmp_path, on_output=seen) as terminal:
        await seen.seen("a")
        assert terminal.output == "a"
        await asyncio.to_thread((tmp_path / "go").write_text, "x\n", encoding="utf-8")
        await terminal.wait()
        assert terminal.output == seen.text == "aäb\N{REPLACEMENT CHARACTER}"


async def test_a_listener_that_fails_does_not_stop_the_output(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("listener")

    assert (await run_command("echo a", cwd=tmp_path, on_output=fail)).output == "a\n"
    assert "on_output failed" in caplog.text


# -- errors ----------------------------------------------------------------------------------


async def test_what_cannot_be_started_is_explained(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x", encoding="utf-8")
    (tmp_path / "bad").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    (tmp_path / "bad").chmod(0o755)
    (tmp_path / "binary").write_bytes(b"\x00\x01")
    (tmp_path / "binary").chmod(0o755)
    before = descriptors()
    for command, args, message in [
        ("", [], "the command is empty"),
        ("no-such-program", [], "no-such-program: command not found; is it installed"),
        ("no such program", ["x"], "'no such program': command not found; is it installed"),
        ("./missing", [], r"\./missing: command not found; check the path"),
        ("./plain", [], r"\./plain: it is not executable"),
        ("./bad", [], r"\./bad: the interpreter named in its first line does not exist"),
        ("./binary", [], r"\./binary: it is not a program"),
        (str(tmp_path), [], "it is a directory"),
        ("a\0b", [], "null"),
        ("echo", ["x" * 3_000_000], "too long"),
    ]:
        with pytest.raises(CommandError, match=message) as raised:
            await LocalTerminal.start(command, args, cwd=tmp_path)
        assert isinstance(raised.value, AcpellaError)
    for cwd in (tmp_path / "missing", tmp_path / "plain"):
        with pytest.raises(CommandError, match=f"the working directory {cwd} does not exist"):
            await run_command("ls", cwd=cwd)
    with pytest.raises(CommandError, match="environment variable name"):
        await run_command("ls", cwd=tmp_path, env={"A=B": "c"})
    assert descriptors() == before


# -- the end ---------------------------------------------------------------------------------


async def test_kill_ends_the_command_and_keeps_its_output(tmp_path: Path) -> None:
    seen = Output()
    async with await LocalTerminal.start("echo on; exec sleep 100", cwd=tmp_path, on_output=seen) as terminal:
        await seen.seen("on")
        async with asyncio.timeout(60):
            await terminal.kill()
        assert await terminal.wait() == (None, "SIGTERM")
        assert terminal.output == "on\n"
        await terminal.kill()


async def test_kill_ends_a_whole_tree_even_when_it_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "TERMINATE_GRACE", 0.2)
    seen = Output()
    line = "trap '' TERM; (sh -c 'echo $$; sleep 100; true' & sleep 100 & echo $!; wait) & echo $$ end; wait"
    async with await LocalTerminal.start(line, cwd=tmp_path, on_output=seen) as terminal:
        await seen.seen("end")
        await until(lambda: len(seen.text.split()) == 4)
        pids = [int(word) for word in seen.text.split() if word != "end"]
        assert all(alive(pid) for pid in pids)
        await terminal.kill()
        assert await terminal.wait() == (None, "SIGKILL")
        await until(lambda: not any(alive(pid) for pid in pids))


async def test_kill_gives_the_rest_of_the_group_its_time_too(tmp_path: Path) -> None:
    seen = Output()
    # The leader dies of SIGTERM at once, its child tidies up first.
    child = "trap 'sleep 0.1; touch tidied; exit' TERM; echo up; while :; do sleep 0.02; done"
    line = f'sh -c "{child}" & wait'
    async with await LocalTerminal.start(line, cwd=tmp_path, on_output=seen) as terminal:
        await seen.seen("up")
        await terminal.kill()
        assert (tmp_path / "tidied").exists()


async def test_a_daemon_that_holds_the_output_does_not_hold_up_the_end(tmp_path: Path) -> None:
    seen = Output()
    terminal = await LocalTerminal.start("sleep 100 & echo $!", cwd=tmp_path, on_output=seen)
    async with asyncio.timeout(60):
        assert await terminal.wait() == (0, None)
    daemon = int(terminal.output)
    assert alive(daemon), "it may stay until the terminal is released"
    async with asyncio.timeout(60):
        await terminal.release()
    await until(lambda: not alive(daemon))
    assert terminal.output == f"{daemon}\n"


async def test_a_daemon_that_never_stops_writing_does_not_hold_up_the_end(tmp_path: Path) -> None:
    seen = Output()
    async with await LocalTerminal.start("yes & echo $!", cwd=tmp_path, on_output=seen) as terminal:
        async with asyncio.timeout(60):
            assert await terminal.wait() == (0, None)
        heard = len(seen.pieces)
        await asyncio.to_thread(lambda: None)
        assert len(seen.pieces) == heard, "what it writes after the end is not told"
    assert not alive(int(next(word for word in seen.text.split() if word != "y")))


async def test_a_daemon_in_a_session_of_its_own_holds_up_neither_end_nor_release(tmp_path: Path) -> None:
    before = descriptors()
    code = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(100)"
    seen = Output()
    terminal = await LocalTerminal.start(
        f'"{PYTHON}" -c "{code}" & read x < go', cwd=_with_fifo(tmp_path), on_output=seen
    )
    await seen.seen("\n")
    await asyncio.to_thread((tmp_path / "go").write_text, "x\n", encoding="utf-8")
    async with asyncio.timeout(60):
        await terminal.wait()
        await terminal.release()
    assert descriptors() == before
    os.kill(int(seen.text), signal.SIGKILL)  # it left on purpose


@pytest.mark.parametrize("before", ["", "trap '' TERM; "])
async def test_what_a_command_started_in_a_session_of_its_own_ends_with_it(
    tmp_path: Path, before: str
) -> None:
    line = before + "setsid sh -c 'echo $$; exec sleep 100' & wait"
    seen = Output()
    async with await LocalTerminal.start(line, cwd=tmp_path, on_output=seen) as terminal:
        await seen.seen("\n")
        assert alive(int(seen.text))
        await terminal.kill()
        await until(lambda: not alive(int(seen.text)))


def _with_fifo(path: Path) -> Path:
    os.mkfifo(path / "go")
    return path


async def test_release_ends_what_runs_and_can_be_repeated(tmp_path: Path) -> None:
    before = descriptors()
    seen = Output()
    terminal = await LocalTerminal.start("echo on; exec sleep 100", cwd=tmp_path, on_output=seen)
    await seen.seen("on")
    await terminal.release()
    await terminal.release()
    assert not alive(terminal.pid)
    assert terminal.exit_status == (None, "SIGTERM")
    assert terminal.output == "on\n"
    assert descriptors() == before


async def test_a_release_that_is_cancelled_still_kills(tmp_path: Path) -> None:
    before = descriptors()
    seen = Output()
    line = "trap '' TERM; echo on; while :; do sleep 0.05; done"
    terminal = await LocalTerminal.start(line, cwd=tmp_path, on_output=seen)
    await seen.seen("on")
    releasing = asyncio.ensure_future(terminal.release())
    await asyncio.sleep(0)
    releasing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await releasing
    async with asyncio.timeout(60):
        assert await terminal.wait() == (None, "SIGKILL")
    assert descriptors() == before


async def test_no_stranger_is_signalled_when_the_number_was_given_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = await LocalTerminal.start("true", cwd=tmp_path)
    await terminal.wait()
    stranger = await asyncio.create_subprocess_exec(
        *("sh", "-c", "sleep 100 & echo $!; wait"), stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert stranger.stdout is not None
    child = int(await stranger.stdout.readline())
    monkeypatch.setattr(LocalTerminal, "pid", stranger.pid)
    descendants: Any = terminal._tree._descendants  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType]
    monkeypatch.setattr(descendants, "_root", stranger.pid)
    monkeypatch.setattr(
        descendants, "_root_started", descendants._root_started - 1
    )  # both may be of one tick
    await terminal.release()
    assert alive(stranger.pid) and alive(child)
    os.killpg(stranger.pid, signal.SIGKILL)
    await stranger.wait()


async def test_it_works_without_pidfd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert await run_command("echo a; exit 2", cwd=tmp_path) == CommandResult("a\n", 2, None, False, False)
    assert (await run_command("sleep 100", cwd=tmp_path, timeout=0.1)).timed_out


# -- run -------------------------------------------------------------------------------------


async def test_a_time_limit_kills_and_keeps_what_was_written(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        result = await run_command("echo started; sleep 100; echo never", cwd=tmp_path, timeout=0.3)
    assert result == CommandResult("started\n", None, "SIGTERM", True, False)


@pytest.mark.parametrize("timeout", [0, None])
async def test_zero_is_no_time_limit(tmp_path: Path, timeout: float | None) -> None:
    assert await run_command("sleep 0.05; echo a", cwd=tmp_path, timeout=timeout) == CommandResult(
        "a\n", 0, None, False, False
    )


async def test_a_cancelled_run_leaves_nothing(tmp_path: Path) -> None:
    before = descriptors()
    seen = Output()
    running = asyncio.ensure_future(run_command("echo $$; exec sleep 100", cwd=tmp_path, on_output=seen))
    await seen.seen("\n")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(int(seen.text))
    assert descriptors() == before


# -- many ------------------------------------------------------------------------------------


async def test_a_command_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    """All that it started, even if it ignores SIGTERM; one that has ended by itself is nobody's concern."""
    owner = (
        "import asyncio, os, signal, sys\n"
        "from acpella.local import LocalTerminal\n"
        "async def main():\n"
        "    ended = await LocalTerminal.start('true', cwd='.')\n"
        "    await ended.wait()\n"
        "    told = asyncio.Event()\n"
        "    said = lambda text: (print(text, end='', flush=True), told.set())\n"
        "    stubborn = 'trap \"\" TERM; sleep 71.3 & a=$!; setsid sleep 71.4 & echo $$ $a $!; wait'\n"
        "    terminal = await LocalTerminal.start('sh', ['-c', stubborn], cwd='.', on_output=said)\n"
        "    await told.wait()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        PYTHON, "-c", owner, cwd=tmp_path, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(20):
        out, _ = await process.communicate()
    pids = [int(pid) for pid in out.split()]
    assert process.returncode == -signal.SIGKILL and len(pids) == 3
    await until(lambda: not any(map(alive, pids)))


async def test_fifty_at_once_leave_no_process_and_no_descriptor(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # what earlier tests left open is not to be closed meanwhile
    fds, processes = descriptors(), children()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with asyncio.timeout(60):
            results = await asyncio.gather(
                *(
                    run_command(
                        f"echo {number}; head -c 100000 /dev/zero | tr '\\0' x; exit {number}", cwd=tmp_path
                    )
                    for number in range(40)
                ),
                *(
                    run_command(f"echo {number}; exec sleep 100", cwd=tmp_path, timeout=1)
                    for number in range(40, 50)
                ),
            )
        gc.collect()
    for number, result in enumerate(results[:40]):
        assert result == CommandResult(f"{number}\n" + "x" * 100_000, number, None, False, False)
    for number, result in enumerate(results[40:], 40):
        assert result == CommandResult(f"{number}\n", None, "SIGTERM", True, False)
    assert descriptors() == fds
    assert children() == processes
    assert not caught

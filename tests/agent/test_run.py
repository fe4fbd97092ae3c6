"""`run()`: a process that an editor starts, and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.child import PROGRAM, Child, running
from agent.editor import CWD, prompt_params
from agent.processes import nobody_runs, somebody_runs
from interaction.wire import in_headers, read_header_frames, read_lines, request

pytestmark = pytest.mark.anyio

ENDINGS = ["eof", "SIGTERM", "SIGINT", "gone"]


async def end(child: Child, how: str) -> None:
    if how == "eof":
        await child.close_stdin()
    elif how == "gone":  # as when the editor was killed
        await child.channel.close()
    else:
        child.process.send_signal(getattr(signal, how))


@pytest.mark.parametrize("how", ENDINGS)
async def test_an_idle_agent_ends_at_once(how: str, tmp_path: Path) -> None:
    async with running("reply", str(tmp_path / "s.db")) as child:
        session = await child.new()
        await child.prompt(session, "say hello")
        await end(child, how)
        assert await child.exit_code() == 0
        assert child.stderr == ""


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize(
    "program, prompt",
    [
        ("reply", "wait"),
        ("reply", "stream"),
        ("reply", "permit"),
        ("reply", "ignore"),
        ("reply", "thread"),
        ("reply", "run sleep 76543"),
        ("reply", "run trap '' TERM; sleep 76543; sleep 76543"),
        ("block", "block"),
    ],
    ids=["wait", "stream", "permit", "ignore", "to_thread", "command", "stubborn command", "plain function"],
)
async def test_a_running_turn_does_not_keep_the_agent_alive(
    program: str, prompt: str, how: str, tmp_path: Path
) -> None:
    """It ends soon, with what it started."""
    async with running(program, str(tmp_path / "s.db")) as child:
        child.cwd = str(tmp_path)
        child.on["session/request_permission"] = lambda params: asyncio.get_running_loop().create_future()
        session = await child.new()
        running_prompt = asyncio.create_task(child.call("session/prompt", prompt_params(session, prompt)))
        await child.until_said("begun")
        if "sleep" in prompt:
            await child.until(lambda: child.updates("tool_call"))
            await somebody_runs("sleep 76543")
        await end(child, how)
        await child.exit_code()  # within its patience
        await nobody_runs("sleep 76543")
        if how == "gone":
            running_prompt.cancel()
        answered = (await asyncio.gather(running_prompt, return_exceptions=True))[0]
        if how != "gone" and prompt != "ignore" and not (how == "eof" and "trap" in prompt):
            assert answered == {"stopReason": "cancelled"}, child.stderr
        assert child.stderr == ""
    async with running("reply", str(tmp_path / "s.db")) as child:  # and it was kept
        child.cwd = str(tmp_path)
        await child.load(session)
        assert child.said(kind="user_message_chunk") == prompt
        assert child.said().startswith("begun")


@pytest.mark.parametrize(
    "prompt, says",
    [
        ("ignore", "these tasks are left behind: turn of sess_"),
        ("thread", "these threads are left behind: acpella worker 1"),
    ],
)
async def test_what_is_left_running_is_named_and_the_program_goes_on(
    prompt: str, says: str, home: Path
) -> None:
    """`agent.run()` returns to whoever called it, so the exit code is the program's own."""
    async with running("goes on") as child:
        session = await child.new()
        prompting = asyncio.create_task(child.call("session/prompt", prompt_params(session, prompt)))
        await child.until_said("begun")
        await child.close_stdin()
        assert await child.exit_code() == 3
        await asyncio.gather(prompting, return_exceptions=True)
        assert child.stderr == ""
    (kept,) = logs_in(home)
    assert says in kept


async def test_a_thread_of_the_authors_is_waited_for_and_named(home: Path, tmp_path: Path) -> None:
    """As Python does: it is not ours to end."""
    may_end = tmp_path / "may end"
    async with running("keep") as child:
        assert await child.prompt(await child.new(), str(may_end)) == "end_turn"
        await child.close_stdin()
        async with asyncio.timeout(30):
            while not any("waits for these threads: a thread of mine" in text for text in logs_in(home)):
                await asyncio.to_thread(time.sleep, 0.01)
        assert child.process.poll() is None
        may_end.touch()
        assert await child.exit_code() == 0


@pytest.mark.parametrize("framing", ["lines", "headers"])
def test_both_framings_are_spoken(framing: str) -> None:
    """B1: answers come in the framing of the first message."""
    messages = [
        request(0, "initialize", {"protocolVersion": 1}),
        request(1, "session/new", {"cwd": CWD, "mcpServers": []}),
        request(2, "unknown/method", {}),
    ]
    data = b"".join(in_headers(m) if framing == "headers" else m for m in messages)
    ran = subprocess.run([sys.executable, PROGRAM, "reply"], input=data, capture_output=True, timeout=20)
    read = read_header_frames if framing == "headers" else read_lines
    answers = {answer["id"]: answer for answer in read(ran.stdout)}
    assert answers[0]["result"]["protocolVersion"] == 1
    assert answers[1]["result"]["sessionId"]
    assert answers[2]["error"]["code"] == -32601
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_what_came_before_the_end_of_input_is_answered() -> None:
    """A script may write everything and close: `printf … | agent`."""
    messages = [request(0, "initialize", {"protocolVersion": 1})]
    messages += [request(n, "session/new", {"cwd": CWD, "mcpServers": []}) for n in range(1, 50)]
    ran = subprocess.run(
        [sys.executable, PROGRAM, "reply"], input=b"".join(messages), capture_output=True, timeout=20
    )
    assert {answer["id"] for answer in read_lines(ran.stdout) if "result" in answer} == set(range(50))


async def test_one_function_is_an_agent() -> None:
    async with running("function") as child:
        assert child.hello["agentInfo"]["name"] == "function"
        assert await child.prompt(await child.new(), "say hello") == "end_turn"
        assert child.said() == "hello"


async def test_a_print_does_not_break_the_protocol() -> None:
    """R-003."""
    async with running("reply") as child:
        session = await child.new()
        assert await child.prompt(session, "print something") == "end_turn"
        assert await child.prompt(session, "say still fine") == "end_turn"
        await child.close_stdin()
        await child.exit_code()
        assert "printed something" in child.stderr


async def test_a_command_of_a_turn_does_not_read_the_protocol(tmp_path: Path) -> None:
    async with running("reply") as child:
        child.cwd = str(tmp_path)
        session = await child.new()
        assert await child.prompt(session, "run cat; echo done") == "end_turn"
        assert child.said() == "begun 0 done\n"


@pytest.mark.parametrize("log", ["", "file", "stderr", "off"])
async def test_stderr_is_silent_unless_it_is_asked_for(log: str, home: Path) -> None:
    """acp.el shows every line of stderr as an error."""
    file = home / "elsewhere" / "agent.log"
    env = {"ACPELLA_LOG": str(file) if log == "file" else log}
    async with running("reply", env=env) as child:
        session = await child.new()
        assert (await child.prompt_fails(session, "fail")).code == -32603
        child.write(b"this is no message\n")
        assert await child.prompt(session, "say on") == "end_turn"
        await child.close_stdin()
        await child.exit_code()
        assert ("this belongs into the log" in child.stderr) == (log == "stderr")
        if log != "stderr":
            assert child.stderr == ""
    kept = logs_in(home)
    assert len(kept) == (log in ("", "file"))
    assert all("this belongs into the log" in text for text in kept)


def logs_in(home: Path) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in home.rglob("*.log")]


@pytest.mark.parametrize(
    "variable, value, says",
    [
        ("ACPELLA_MAX_SESSIONS", "many", "whole number"),
        ("ACPELLA_MAX_SESSIONS", "0", "ACPELLA_MAX_SESSIONS"),
        ("ACPELLA_PAGE_SIZE", "0", "ACPELLA_PAGE_SIZE"),
        ("ACPELLA_TERMINAL_TIMEOUT", "-1", "number of seconds"),
        ("ACPELLA_EDITOR_TIMEOUT", "nan", "number of seconds"),
        ("ACPELLA_LOG_LEVEL", "LOUD", "LOUD"),
    ],
)
def test_a_bad_setting_is_named(variable: str, value: str, says: str) -> None:
    """C24."""
    ran = subprocess.run(
        [sys.executable, PROGRAM, "reply"],
        input=b"",
        capture_output=True,
        timeout=20,
        env={**os.environ, variable: value},
    )
    assert ran.returncode != 0
    last = ran.stderr.decode().splitlines()[-1]
    assert variable in last and value in last and says in last
    assert ran.stdout == b""


async def test_the_environment_overrides_the_author() -> None:
    """C24."""
    async with running("reply", env={"ACPELLA_TERMINAL_TIMEOUT": "0.1"}) as child:
        child.cwd = "/tmp"
        async with asyncio.timeout(30):
            assert await child.prompt(await child.new(), "run sleep 60") == "end_turn"
        assert "None" in child.said()


async def test_a_store_that_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    file.write_text("this is no database, but a longer text that is none" * 20, encoding="utf-8")
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, PROGRAM, "reply", str(file)],
        input=request(0, "initialize", {"protocolVersion": 1}),
        capture_output=True,
        timeout=20,
    )
    assert ran.returncode != 0
    assert "not a session database" in ran.stderr.decode().splitlines()[-1]


@pytest.mark.parametrize("log", ["", "off"])
def test_a_fault_of_our_own_while_reading_is_told_and_loses_no_answer(log: str, home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, PROGRAM, "broken"],
        input=request(0, "initialize", {"protocolVersion": 1})
        + request(1, "no/such")
        + request(2, "session/new", {"cwd": "/", "mcpServers": []}),
        capture_output=True,
        timeout=20,
        env={**os.environ, "ACPELLA_LOG": log},
    )
    assert {message["id"] for message in read_lines(ran.stdout)} == {0, 1}
    assert ran.returncode == 70
    (told,) = ran.stderr.decode().splitlines()
    assert "failed to read a message" in told
    (kept,) = logs_in(home) or [""]
    assert ("KeyError: 'a bug'" in kept) == (not log)
    assert (str(next(home.rglob("*.log"), None)) in told) == (not log)


def test_a_failed_start_is_in_the_log(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    file.write_text("this is no database, but a longer text that is none" * 20, encoding="utf-8")
    subprocess.run([sys.executable, PROGRAM, "reply", str(file)], input=b"", capture_output=True, timeout=20)
    (kept,) = logs_in(home)
    assert "not a session database" in kept


def test_a_failed_start_of_the_built_in_agent_is_in_the_log(home: Path) -> None:
    command = [sys.executable, "-m", "acpella", "agent", "--mode", "nonsense"]
    ran = subprocess.run(command, input=b"", capture_output=True, timeout=20)
    assert ran.returncode != 0 and b"nonsense" in ran.stderr
    (kept,) = logs_in(home)
    assert "nonsense" in kept


def test_an_agent_that_was_not_initialized_says_what_to_do() -> None:
    """An editor that restarts the agent may go on as if nothing had happened."""
    ran = subprocess.run(
        [sys.executable, PROGRAM, "reply"],
        input=request(7, "session/prompt", prompt_params("sess_before")),
        capture_output=True,
        timeout=20,
    )
    (answer,) = read_lines(ran.stdout)
    assert answer["error"]["code"] == -32600
    assert "send initialize first, then create or load the session" in answer["error"]["message"]

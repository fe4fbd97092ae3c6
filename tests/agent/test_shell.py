"""Commands: in the editor's terminal or on this machine, watched live, limited in time (C6, C8, C10)."""

import asyncio
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acpella.errors import InternalError, Unsupported
from acpella.local import CommandError
from acpella.sessions import Store
from agent.editor import TERMINAL, FakeEditor, agent_of, editing, prompt_params
from agent.processes import nobody_runs

pytestmark = pytest.mark.anyio

LIVE: dict[str, Any] = {"_meta": {"terminal_output": True}}


def tools(editor: FakeEditor) -> list[tuple[str, Any]]:
    """What happened to terminals and tool calls, in order: names of requests, statuses of updates."""
    seen = []
    for what, item, *_ in editor.log:
        if what == "call":
            seen.append(item.removeprefix("terminal/"))
        elif what == "update" and "tool" in item["sessionUpdate"]:
            shows = any(content["type"] == "terminal" for content in item.get("content", []))
            seen.append(item["status"] + (" with terminal" if shows else ""))
    return seen


# -- the editor's terminal --------------------------------------------------------------


async def test_a_command_runs_in_the_editors_terminal() -> None:
    """R-346; C6, R-343: released only after the update that shows it."""

    async def reply(turn: Any) -> str:
        result = await turn.shell.run(["make", "all"], cwd="sub", env={"A": "b"}, output_byte_limit=1000)
        assert result.ok and not result.timed_out
        return result.output

    async with editing(agent_of(reply), **TERMINAL) as editor:
        session = await editor.new()
        await editor.prompt(session)
        assert editor.said() == "output"
        assert tools(editor) == [
            "in_progress",
            "create",
            "in_progress with terminal",
            "wait_for_exit",
            "output",
            "completed with terminal",
            "release",
        ]
        assert editor.calls("terminal/create") == [
            {
                "sessionId": session,
                "command": "make",
                "args": ["all"],
                "cwd": "/project/sub",
                "env": [{"name": "A", "value": "b"}],
                "outputByteLimit": 1000,
            }
        ]
        started = editor.updates("tool_call")[0]
        assert (started["title"], started["kind"]) == ("make all", "execute")
        assert started["rawInput"] == {"command": "make all"}
        assert editor.updates("tool_call_update")[-1]["rawOutput"] == {"exitCode": 0, "signal": None}


async def test_a_string_goes_to_the_shell() -> None:
    async def reply(turn: Any) -> None:
        await turn.shell.run("ls | wc -l")

    async with editing(agent_of(reply), **TERMINAL) as editor:
        await editor.prompt(await editor.new())
        (created,) = editor.calls("terminal/create")
        assert [created["command"], *created["args"]] == ["sh", "-c", "ls | wc -l"]


async def test_a_plain_function_runs_commands() -> None:
    def reply(turn: Any) -> str:
        return turn.shell.run("ls").output

    async with editing(agent_of(reply), **TERMINAL) as editor:
        await editor.prompt(await editor.new())
        assert editor.said() == "output"


async def test_a_failed_command_fails_its_tool_call() -> None:
    async def reply(turn: Any) -> str:
        result = await turn.shell.run("false")
        return f"{result.ok} {result.exit_code}"

    async with editing(agent_of(reply), **TERMINAL) as editor:
        editor.exit = {"exitCode": 3}
        await editor.prompt(await editor.new())
        assert editor.said() == "False 3"
        assert tools(editor)[-2:] == ["failed with terminal", "release"]


async def test_two_commands_in_one_tool_call_are_both_released_at_its_end() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Build and test") as call:
            await turn.shell.run("build", call=call)
            await turn.shell.run("test", call=call)

    async with editing(agent_of(reply), **TERMINAL) as editor:
        await editor.prompt(await editor.new())
        assert tools(editor)[-3:] == ["completed with terminal", "release", "release"]
        released = [params["terminalId"] for params in editor.calls("terminal/release")]
        assert released == ["term_1", "term_2"]


async def test_a_command_that_takes_too_long_is_killed_and_its_output_kept() -> None:
    """C10, R-346."""

    async def reply(turn: Any) -> str:
        result = await turn.shell.run("sleep 99", timeout=0.05)
        return f"{result.ok} {result.timed_out} {result.output}"

    async with editing(agent_of(reply), **TERMINAL) as editor:
        editor.exit = None
        await editor.prompt(await editor.new())
        assert editor.said() == "False True output"
        assert tools(editor)[3:] == ["wait_for_exit", "kill", "output", "failed with terminal", "release"]


async def test_the_time_limit_of_the_settings_holds_and_zero_is_none() -> None:
    """C10, C24."""

    async def reply(turn: Any) -> str:
        limit = 0 if turn.text == "none" else None
        return str((await turn.shell.run("sleep 99", timeout=limit)).timed_out)

    async def slowly(params: Any) -> Any:
        await asyncio.sleep(0.2)
        return {"exitCode": 0}

    async with editing(agent_of(reply, settings={"terminal_timeout": 0.05}), **TERMINAL) as editor:
        editor.on["terminal/wait_for_exit"] = slowly
        session = await editor.new()
        await editor.prompt(session, "default")
        await editor.prompt(session, "none")
        assert editor.said() == "TrueFalse"


async def test_killing_what_has_ended_meanwhile_is_no_failure() -> None:
    async def reply(turn: Any) -> str:
        return str((await turn.shell.run("sleep 99", timeout=0.05)).timed_out)

    async with editing(agent_of(reply), **TERMINAL) as editor:
        editor.exit = None
        editor.on["terminal/kill"] = InternalError("no such process")
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.said() == "True"
        assert len(editor.calls("terminal/release")) == 1


async def test_an_editor_that_does_not_release_does_not_fail_the_turn() -> None:
    async def reply(turn: Any) -> str:
        await turn.shell.run("ls")
        return "went on"

    async with editing(agent_of(reply, settings={"editor_timeout": 0.05}), **TERMINAL) as editor:
        editor.on["terminal/release"] = lambda params: asyncio.get_running_loop().create_future()
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.said() == "went on"


async def test_without_terminals_or_leave_commands_are_unsupported() -> None:
    """R-340."""

    async def reply(turn: Any) -> None:
        assert not turn.shell.can_run
        with pytest.raises(Unsupported, match="local=True"):
            await turn.shell.run("ls")

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.updates("tool_call") == []


# -- this machine -----------------------------------------------------------------------


async def test_a_local_command_shows_its_output_at_the_end(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        result = await turn.shell.run("pwd; echo $COLOR; exit 4", env={"COLOR": "grün"})
        return f"{result.exit_code} {result.output}"

    async with editing(agent_of(reply, local=True)) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == f"4 {tmp_path}\ngrün\n"
        ended = editor.updates("tool_call_update")[-1]
        assert ended["status"] == "failed"
        assert ended["content"][0]["content"]["text"] == f"{tmp_path}\ngrün\n"
        assert ended["rawOutput"] == {"exitCode": 4, "signal": None}
        assert not any("_meta" in update for update in editor.updates())


async def test_a_local_command_is_shown_live_to_editors_that_can(tmp_path: Path) -> None:
    """C8: info, output as it comes, exit; with one id, that of the tool call."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    async def reply(turn: Any) -> str:
        return (await turn.shell.run(f"echo first; cat {shlex.quote(str(gate))}; exit 3")).output

    async with editing(agent_of(reply, local=True), **LIVE) as editor:
        session = await editor.new(cwd=str(tmp_path))
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until(lambda: "first" in str(editor.updates("tool_call_update")))
        await asyncio.to_thread(gate.write_text, "second\n", encoding="utf-8")
        assert (await prompt)["stopReason"] == "end_turn"
        assert editor.said() == "first\nsecond\n"
        call = editor.updates("tool_call")[0]["toolCallId"]
        updates = editor.updates("tool_call_update")
        metas = [update["_meta"] for update in updates if "_meta" in update]
        assert metas[0] == {"terminal_info": {"terminal_id": call, "cwd": str(tmp_path)}}
        data = [meta["terminal_output"]["data"] for meta in metas[1:-1]]
        assert "".join(data) == "first\nsecond\n" and data[0] == "first\n"
        assert metas[-1] == {"terminal_exit": {"terminal_id": call, "exit_code": 3, "signal": None}}
        assert updates[-1]["status"] == "failed"
        assert updates[-1]["content"] == [{"type": "terminal", "terminalId": call}]


async def test_much_live_output_arrives_whole_although_the_editor_reads_slowly(tmp_path: Path) -> None:
    lines = 400_000

    async def reply(turn: Any) -> str:
        return str((await turn.shell.run(f"seq {lines}", output_byte_limit=100)).truncated)

    async with editing(agent_of(reply, local=True), patience=30, **LIVE) as editor:
        session = await editor.new(cwd=str(tmp_path))
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session)))
        await editor.until(lambda: "terminal_output" in str(editor.updates("tool_call_update")[:3]))
        editor.connection._channel.pause_reading()
        await nobody_runs(f"seq {lines}")
        editor.connection._channel.resume_reading()
        await prompt
        assert editor.said() == "True"
        metas = [update.get("_meta", {}) for update in editor.updates("tool_call_update")]
        data = "".join(meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta)
        assert data == "".join(f"{n}\n" for n in range(1, lines + 1))


async def test_a_local_command_that_takes_too_long_ends_with_all_it_started(tmp_path: Path) -> None:
    """C10."""

    async def reply(turn: Any) -> str:
        result = await turn.shell.run("echo begun; sleep 98765 & sleep 98765", timeout=0.2)
        return f"{result.timed_out} {result.ok} {result.output}"

    async with editing(agent_of(reply, local=True)) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "True False begun\n"
    await nobody_runs("sleep 98765")


async def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    async def reply(turn: Any) -> str:
        with pytest.raises(CommandError, match="not found"):
            await turn.shell.run(["no-such-program"])
        with pytest.raises(CommandError, match="does not exist"):
            await turn.shell.run("ls", cwd="nowhere")
        return "caught"

    async with editing(agent_of(reply, local=True)) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "caught"
        assert [u["status"] for u in editor.updates("tool_call_update")] == ["failed", "failed"]


async def test_the_output_limit_keeps_the_end(tmp_path: Path) -> None:
    """R-342."""

    async def reply(turn: Any) -> str:
        result = await turn.shell.run("seq 1000", output_byte_limit=9)
        return f"{result.truncated} {result.output}"

    async with editing(agent_of(reply, local=True)) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "True 999\n1000\n"


async def test_live_output_is_replayed_with_the_session(tmp_path: Path, store: Store) -> None:
    async def reply(turn: Any) -> None:
        await turn.shell.run("echo shown")

    async with editing(agent_of(reply, local=True, store=store), **LIVE) as editor:
        session = await editor.new(cwd=str(tmp_path))
        await editor.prompt(session)
        shown = [u for u in editor.updates() if "tool" in u["sessionUpdate"]]
        editor.forget()
        await editor.load(session, cwd=str(tmp_path))
        assert [u for u in editor.updates() if "tool" in u["sessionUpdate"]] == shown


# -- when the turn is cancelled ---------------------------------------------------------


async def run_in_turn(turn: Any) -> None:
    await turn.shell.run(turn.text)


def run_in_thread(turn: Any) -> None:
    turn.shell.run(turn.text)


@pytest.mark.parametrize("handler", [run_in_turn, run_in_thread])
async def test_cancelling_kills_a_local_command_with_its_group(
    handler: Callable[[Any], Any], tmp_path: Path
) -> None:
    async with editing(agent_of(handler, local=True), **LIVE) as editor:
        session = await editor.new(cwd=str(tmp_path))
        line = "sleep 87654 & echo ready; sleep 87654"
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session, line)))
        await editor.until(lambda: "ready" in str(editor.updates("tool_call_update")[1:]))
        await editor.cancel(session)
        assert (await prompt)["stopReason"] == "cancelled"
        assert editor.updates("tool_call_update")[-1]["status"] == "failed"
        await nobody_runs("sleep 87654")


@pytest.mark.parametrize("handler", [run_in_turn, run_in_thread])
async def test_cancelling_kills_and_releases_the_editors_terminal(handler: Callable[[Any], Any]) -> None:
    """R-343, R-209."""
    async with editing(agent_of(handler), **TERMINAL) as editor:
        editor.exit = None
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session, "sleep 99")))
        await editor.until(lambda: editor.calls("terminal/wait_for_exit"))
        await editor.cancel(session)
        assert (await prompt)["stopReason"] == "cancelled"
        assert tools(editor)[3:] == ["wait_for_exit", "kill", "failed with terminal", "release"]
        assert editor.order()[-1] == "session/prompt"


@pytest.mark.parametrize("handler", [run_in_turn, run_in_thread])
async def test_a_terminal_that_is_created_while_the_turn_is_cancelled_is_released(
    handler: Callable[[Any], Any],
) -> None:
    """R-343: every terminal that was created."""
    created = asyncio.Event()

    async def late(params: Any) -> Any:
        await created.wait()
        return {"terminalId": "term_late"}

    async with editing(agent_of(handler), **TERMINAL) as editor:
        editor.on["terminal/create"] = late
        editor.exit = None
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session, "sleep 99")))
        await editor.until(lambda: editor.calls("terminal/create"))
        await editor.cancel(session)
        created.set()
        assert (await prompt)["stopReason"] == "cancelled"
        assert [params["terminalId"] for params in editor.calls("terminal/release")] == ["term_late"]


async def test_an_editor_that_answers_nothing_more_does_not_hold_up_the_cancelling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acpella.agent.running.CANCEL_GRACE", 0.2)
    monkeypatch.setattr("acpella.agent.turn_core.CLOSE_TIMEOUT", 0.2)

    async def never(params: Any) -> Any:
        await asyncio.get_running_loop().create_future()

    async with editing(agent_of(run_in_turn), leaves_tasks=True, **TERMINAL) as editor:
        for method in ("terminal/wait_for_exit", "terminal/kill", "terminal/release"):
            editor.on[method] = never
        session = await editor.new()
        prompt = asyncio.create_task(editor.call("session/prompt", prompt_params(session, "sleep 99")))
        await editor.until(lambda: editor.calls("terminal/wait_for_exit"))
        async with asyncio.timeout(30):  # the command has 99
            await editor.cancel(session)
            assert (await prompt)["stopReason"] == "cancelled"
        assert len(editor.calls("terminal/release")) == 1


async def test_a_command_runs_on_this_machine_although_the_editor_has_terminals(tmp_path: Path) -> None:
    """For what must not leave the agent's own fence, such as a sandbox."""

    async def reply(turn: Any) -> str:
        return (await turn.shell.run("echo here", local=True)).output

    async with editing(agent_of(reply, local=True), **TERMINAL) as editor:
        await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.said() == "here\n" and editor.calls("terminal/create") == []
    async with editing(agent_of(reply), **TERMINAL) as editor:
        with pytest.raises(InternalError):
            await editor.prompt(await editor.new(cwd=str(tmp_path)))
        assert editor.calls("terminal/create") == []

"""Agents that break rules, and commands that are no agents: the client says what is wrong, or goes on."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from scripting import Script, ends

from acpella.client import Permissions, Terminals, Timeouts, UpdatesDropped, Workspace, connect
from acpella.errors import ConnectionClosed, LocalProtocolError, RemoteProtocolError, TransportError
from acpella.schema import AgentMessageChunk, Unknown

pytestmark = pytest.mark.anyio


# -- commands that are no agents -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command, why",
    [
        (["no-such-agent-anywhere"], "command not found; is it installed and on your PATH"),
        (["./plain.txt"], "it is not executable; try `chmod \\+x"),
        (["./no-interpreter"], "the interpreter named in its first line does not exist"),
        (["."], "it is a directory"),
        (
            [sys.executable, "-c", "raise SystemExit(7)"],
            "exited with code 7 before it answered; is it an ACP agent",
        ),
        ([sys.executable, "-c", "print('Usage: agent')"], "before it answered, but printed 'Usage: agent'"),
        ("", "the command is empty"),
        ("'unfinished", "cannot read the command"),
        ("no-such-file.py", "no file no-such-file.py"),
    ],
)
async def test_a_command_that_is_no_agent_is_explained(tmp_path: Path, command: Any, why: str) -> None:
    (tmp_path / "plain.txt").write_text("no program", encoding="utf-8")
    broken = tmp_path / "no-interpreter"
    broken.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    broken.chmod(0o755)
    with pytest.raises((TransportError, ConnectionClosed), match=why):
        async with asyncio.timeout(20), connect(command):
            pass


async def test_a_version_nobody_speaks_is_named(script: Script) -> None:
    """R-103"""
    command = script('serve(hello={"protocolVersion": 99})')
    with pytest.raises(Exception, match="speaks ACP version 99; this client speaks 1"):
        async with asyncio.timeout(20), connect(command):
            pass


@pytest.mark.parametrize("hello", ["5", '{"protocolVersion": "one"}', "[]"])
async def test_a_greeting_of_wrong_types_is_an_error_of_the_agent(script: Script, hello: str) -> None:
    command = script(f"answer(read(), json.loads({hello!r}))\nread()")
    with pytest.raises(RemoteProtocolError, match="initialize"):
        async with asyncio.timeout(20), connect(command):
            pass


# -- methods that nobody offered -------------------------------------------------------------------------


async def test_methods_that_were_not_offered_are_refused(script: Script, project: Path) -> None:
    """R-320: -32601, and nothing happens"""
    command = script(
        """
        def prompt(request):
            path = sys.argv[1]
            calls = {
                "fs/read_text_file": {"path": path},
                "fs/write_text_file": {"path": path, "content": "x"},
                "terminal/create": {"command": "touch", "args": [path]},
                "elicitation/create": {"mode": "form", "message": "m", "requestedSchema": {"properties": {}}},
            }
            say(str([ask(m, {"sessionId": SESSION, **p})["error"]["code"] for m, p in calls.items()]))
            return "end_turn"
        serve(prompt)
        """,
        str(project / "made.txt"),
    )
    async with asyncio.timeout(20), connect(command, files=False, terminals=False) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("hi")).text == "[-32601, -32601, -32601, -32601]"
    assert os.listdir(project) == []


async def test_requests_of_wrong_types_are_refused_and_the_turn_goes_on(
    script: Script, project: Path
) -> None:
    command = script(
        """
        def prompt(request):
            bad = [
                ("fs/read_text_file", {"sessionId": SESSION, "path": 5}),
                ("fs/read_text_file", {"sessionId": SESSION}),
                ("fs/read_text_file", {"sessionId": SESSION, "path": "relative.txt"}),
                ("fs/read_text_file", {"sessionId": SESSION, "path": sys.argv[1], "line": "two"}),
                ("fs/read_text_file", ["a list"]),
                ("terminal/create", {"sessionId": SESSION, "command": ["ls"]}),
                ("terminal/create", {"sessionId": SESSION, "command": "ls", "env": {"A": "1"}}),
                ("terminal/create", {"sessionId": SESSION, "command": "ls", "cwd": "/"}),
                ("session/request_permission", {"sessionId": SESSION, "options": "all"}),
            ]
            codes = [ask(method, params)["error"]["code"] for method, params in bad]
            say(str(set(codes)))
            return "end_turn"
        serve(prompt)
        """,
        str(project / "a.txt"),
    )
    async with asyncio.timeout(20), connect(command, terminals=True) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("hi")).text == "{-32602}"


async def test_updates_of_wrong_types_are_unknown_or_left_out(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            update("holiday_greeting", text="hello")
            update("agent_message_chunk", content={"type": "hologram", "data": 1})
            update("agent_message_chunk", content=5)
            update("tool_call", toolCallId=7, title=None)
            send({"method": "session/update", "params": {"sessionId": 5}})
            send({"method": "session/update", "params": "nothing"})
            send({"method": "session/update"})
            update("agent_message_chunk", session="nobody", content={"type": "text", "text": "lost"})
            send("{half a message")
            send('{"jsonrpc": "2.0"}')
            send("[1, 2]")
            say("the end")
            return "pure_boredom"
        serve(prompt)
        """
    )
    noise: list[Any] = []
    async with asyncio.timeout(20), connect(command, on_noise=noise.append) as agent:
        turn = (await agent.new_session(project)).prompt("hi")
        updates = [update async for update in turn]
    assert (turn.text, turn.stop_reason) == ("the end", "pure_boredom")
    assert isinstance(updates[0], Unknown) and updates[0].tag == "holiday_greeting"
    assert isinstance(updates[1], AgentMessageChunk) and isinstance(updates[1].content, Unknown)
    assert len(noise) >= 3, "garbage is reported"


# -- files, swapped while they are served ----------------------------------------------------------------


async def test_links_swapped_during_the_call_never_lead_out(
    script: Script, project: Path, tmp_path: Path
) -> None:
    """D3, over the wire: what the agent gets is inside, or an error"""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    (project / "good").mkdir()
    (project / "good" / "secret.txt").write_text("harmless", encoding="utf-8")
    command = script(
        """
        def prompt(request):
            seen = set()
            for n in range(300):
                got = ask("fs/read_text_file", {"sessionId": SESSION, "path": sys.argv[1]})
                seen.add(got["result"]["content"] if "result" in got else got["error"]["code"])
                ask("fs/write_text_file", {"sessionId": SESSION, "path": sys.argv[1], "content": "harmless"})
            say(json.dumps(sorted(map(str, seen))))
            return "end_turn"
        serve(prompt)
        """,
        str(project / "way" / "secret.txt"),
    )
    stop = threading.Event()

    def swap() -> None:
        way, spare = project / "way", project / "spare"
        while not stop.is_set():
            for place in (project / "good", tmp_path):
                spare.unlink(missing_ok=True)
                spare.symlink_to(place)
                os.replace(spare, way)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        async with asyncio.timeout(30), connect(command, files=Workspace(write=True)) as agent:
            result = await (await agent.new_session(project)).prompt("hi")
    finally:
        stop.set()
        swapper.join()
    assert "secret" not in result.text
    assert secret.read_text(encoding="utf-8") == "secret"


# -- terminals -------------------------------------------------------------------------------------------


async def test_a_daemon_that_a_terminal_left_does_not_hold_anybody_up(
    script: Script, project: Path, tmp_path: Path
) -> None:
    """D5: its group ends with the connection, even if the agent releases nothing"""
    pids = tmp_path / "pids"
    command = script(
        """
        def prompt(request):
            note = f"echo $! >> {sys.argv[1]}"
            line = f"sleep 1000 & {note}; (sleep 1000; echo late) & {note}; echo started"
            made = ask("terminal/create", {"sessionId": SESSION, "command": "/bin/sh", "args": ["-c", line]})
            about = {"sessionId": SESSION, "terminalId": made["result"]["terminalId"]}
            status = ask("terminal/wait_for_exit", about)["result"]
            out = ask("terminal/output", about)["result"]
            say(f"{status['exitCode']} {out['output'].strip()}")
            return "end_turn"
        serve(prompt)
        """,
        str(pids),
    )
    async with asyncio.timeout(30), connect(command, terminals=True) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "0 started"
    assert all(map(ends, pids.read_text(encoding="utf-8").split()))


async def test_a_command_that_never_ends_is_ended_in_time(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            made = ask("terminal/create", {"sessionId": SESSION, "command": "sleep", "args": ["1000"]})
            about = {"sessionId": SESSION, "terminalId": made["result"]["terminalId"]}
            say(str(ask("terminal/wait_for_exit", about)["result"].get("signal")))
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(30), connect(command, terminals=Terminals(timeout=0.1)) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "SIGTERM"


async def test_terminals_are_limited(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            made = [ask("terminal/create", {"sessionId": SESSION, "command": "true"}) for _ in range(70)]
            say(str(sum("result" in m for m in made)))
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(60), connect(command, terminals=True) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "64"


async def test_terminals_do_not_get_the_tokens_of_this_program(
    script: Script, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACPELLA_TOKEN", "secret-token")
    monkeypatch.setenv("ACPELLA_STORE", "postgresql://me:secret-word@db/sessions")
    monkeypatch.setenv("PLAIN", "kept")
    command = script(
        """
        def prompt(request):
            made = ask("terminal/create", {"sessionId": SESSION, "command": "env"})
            about = {"sessionId": SESSION, "terminalId": made["result"]["terminalId"]}
            ask("terminal/wait_for_exit", about)
            say(ask("terminal/output", about)["result"]["output"])
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(30), connect(command, terminals=True) as agent:
        text = (await (await agent.new_session(project)).prompt("hi")).text
    assert "PLAIN=kept" in text and "secret-token" not in text and "secret-word" not in text


async def test_the_output_of_all_terminals_is_kept_within_bounds(
    script: Script, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acpella.client.workspace.MAX_KEPT", 1_000_000)
    command = script(
        """
        def prompt(request):
            line = "yes | head -c 600000; echo end"
            kept = []
            for _ in range(4):
                made = ask("terminal/create", {"sessionId": SESSION, "command": line,
                    "outputByteLimit": 64 * 1024 * 1024})
                about = {"sessionId": SESSION, "terminalId": made["result"]["terminalId"]}
                ask("terminal/wait_for_exit", about)
                kept.append(about)
            kept = [ask("terminal/output", about)["result"] for about in kept]
            say(json.dumps([[len(k["output"]), k["truncated"], "end" in k["output"]] for k in kept]))
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(30), connect(command, terminals=True) as agent:
        kept = json.loads((await (await agent.new_session(project)).prompt("hi")).text)
    assert sum(size for size, _, _ in kept) == 1_000_000
    assert all(ended for _, _, ended in kept)
    assert [truncated for size, truncated, _ in kept] == [size < 600_004 for size, _, _ in kept]


# -- floods ----------------------------------------------------------------------------------------------


async def test_a_flood_of_updates_is_kept_within_bounds(script: Script, project: Path) -> None:
    """D7: the agent waits; nothing is lost"""
    command = script(
        """
        def prompt(request):
            for number in range(50_000):
                say(f"{number} ")
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(60), connect(command) as agent:
        turn = (await agent.new_session(project)).prompt("hi")
        most = 0
        async for _ in turn:
            most = max(most, len(turn._core._waiting))  # type: ignore[attr-defined]
        assert turn.text.split() == [str(n) for n in range(50_000)]
    assert most <= 4096


async def test_dropped_updates_are_announced_where_they_are_missing(script: Script, project: Path) -> None:
    """D7: drop oldest, with a notice"""
    command = script(
        """
        def prompt(request):
            for number in range(20_000):
                say(f"{number} ")
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(60), connect(command) as agent:
        turn = (await agent.new_session(project)).prompt("hi", overflow="drop_oldest")
        seen: list[int] = []
        lost = 0
        async for update in turn:
            if isinstance(update, UpdatesDropped):
                lost += update.count
            elif isinstance(update, AgentMessageChunk):
                number = int(update.content.text)  # type: ignore[union-attr]
                assert number == len(seen) + lost, "the notice stands where updates are missing"
                seen.append(number)
                if number == 0:
                    await asyncio.wait([turn._core.task])  # type: ignore[attr-defined, list-item]
        assert lost == turn.dropped > 0
        assert len(seen) + lost == 20_000
        assert len(turn.text.split()) == 20_000, "the result has them all"


async def test_updates_for_sessions_that_nobody_opened_do_not_pile_up(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            for number in range(2000):
                words = {"type": "text", "text": "x"}
                update("agent_message_chunk", session=f"nobody{number}", content=words)
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        await (await agent.new_session(project)).prompt("hi")
        assert len(agent._core._early) <= 64  # type: ignore[attr-defined]


async def test_of_many_updates_before_a_session_is_answered_the_newest_count(
    script: Script, project: Path
) -> None:
    """The first were kept, so that commands and title were old."""
    command = script(
        """
        def new(request):
            for number in range(300):
                command = {"name": f"c{number}", "description": ""}
                update("available_commands_update", availableCommands=[command])
            update("session_info_update", title="newest")
            answer(request, {"sessionId": SESSION})
        serve(more={"session/new": new})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        assert [one.name for one in session.commands] == ["c299"]
        assert session.title == "newest"


async def test_a_hundred_permissions_at_once_are_all_answered(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
            for number in range(100):
                send({"id": number, "method": "session/request_permission", "params": {"sessionId": SESSION,
                    "toolCall": {"toolCallId": str(number), "title": str(number)}, "options": options}})
            answers = [read() for _ in range(100)]
            say(str(len({a["id"] for a in answers if a["result"]["outcome"].get("optionId") == "y"})))
            return "end_turn"
        serve(prompt)
        """
    )
    waiting = asyncio.Event()
    asked = 0

    async def ask(request: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 100:
            waiting.set()
        await waiting.wait()  # all are asked before the first is answered
        return request.options[0]

    async with asyncio.timeout(20), connect(command, permissions=Permissions("ask", ask=ask)) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "100"


async def test_a_hundred_permissions_are_all_answered_cancelled(script: Script, project: Path) -> None:
    """R-208"""
    command = script(
        """
        def prompt(request):
            options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
            for number in range(100):
                send({"id": number, "method": "session/request_permission", "params": {"sessionId": SESSION,
                    "toolCall": {"toolCallId": str(number), "title": str(number)}, "options": options}})
            got = [read() for _ in range(101)]
            cancelled = sum(g.get("result", {}).get("outcome", {}).get("outcome") == "cancelled" for g in got)
            say(f"{cancelled} {[g['method'] for g in got if 'method' in g]}")
            # one more, after the cancel
            late = ask("session/request_permission", {"sessionId": SESSION,
                "toolCall": {"toolCallId": "late"}, "options": options})
            say(" " + late["result"]["outcome"]["outcome"])
            return "cancelled"
        serve(prompt)
        """
    )
    asked = asyncio.Semaphore(0)

    async def never(request: Any) -> Any:
        asked.release()
        await asyncio.Event().wait()

    async with asyncio.timeout(20), connect(command, permissions=Permissions("ask", ask=never)) as agent:
        async with (await agent.new_session(project)).prompt("hi") as turn:
            for _ in range(100):
                await asked.acquire()
            result = await turn.cancel()
    assert result.text.split() == ["100", "['session/cancel']", "cancelled"]
    assert result.stop_reason == "cancelled"


# -- what comes too late, or never -----------------------------------------------------------------------


async def test_answers_and_updates_after_a_cancel_are_still_heard(script: Script, project: Path) -> None:
    """D6: the turn ends with the agent's own answer, and the next one begins clean"""
    command = script(
        """
        def prompt(request):
            if "again" in json.dumps(request):
                say("fresh")
                return "end_turn"
            update("tool_call", toolCallId="a", title="Work", status="in_progress")
            say("begun")
            while read().get("method") != "session/cancel":
                pass
            say(" and more")
            update("tool_call_update", toolCallId="a", status="completed")
            answer({"id": 4711}, {"stopReason": "end_turn"})  # of a request that nobody made
            return "cancelled"
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        turn, words = session.prompt("hi"), ""
        async for update in turn:
            if isinstance(update, AgentMessageChunk):
                words += update.content.text  # type: ignore[union-attr]
                await turn.cancel()
        result = turn.result
        assert (result.text, result.stop_reason) == ("begun and more", "cancelled")
        assert words == "begun and more", "whoever iterates hears the rest"
        assert result.tool_calls["a"].status == "completed", "it did end"
        again = await session.prompt("again")
        assert (again.text, again.tool_calls) == ("fresh", {})


async def test_what_comes_after_the_answer_is_not_part_of_the_turn(script: Script, project: Path) -> None:
    """D2: some agents tell the title right behind the end of a turn, in one write"""
    command = script(
        """
        def prompt(request):
            head = {"jsonrpc": "2.0"}
            title = {"sessionUpdate": "session_info_update", "title": "Greeting"}
            told = {"sessionId": SESSION, "update": title}
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
            send("\\n".join(map(json.dumps, [
                {**head, "method": "session/update", "params": {"sessionId": SESSION, "update": chunk}},
                {**head, "id": request["id"], "result": {"stopReason": "end_turn"}},
                {**head, "method": "session/update", "params": told},
            ])))
        serve(prompt)
        """
    )
    heard: asyncio.Queue[Any] = asyncio.Queue()
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        session.on_update = heard.put_nowait
        updates = [type(update).__name__ async for update in session.prompt("hi")]
        assert type(await heard.get()).__name__ == "SessionInfoUpdate"
    assert updates == ["AgentMessageChunk"]
    assert session.title == "Greeting"


async def test_an_agent_that_does_not_stop_is_ended(script: Script, project: Path) -> None:
    """Cancel, grace, kill"""
    command = script(
        """
        def prompt(request):
            say("begun")
            while True:
                read()
        serve(prompt)
        """
    )
    timeouts = Timeouts(cancel=0.2)
    async with asyncio.timeout(20), connect(command, timeouts=timeouts) as agent:
        session = await agent.new_session(project)
        turn = session.prompt("hi")
        with pytest.raises(TimeoutError, match="agent1.py did not stop within 0.2 s and was ended"):
            async for _ in turn:
                await turn.cancel()
        with pytest.raises(ConnectionClosed):
            await session.prompt("again")


async def test_a_silent_agent_that_does_not_stop_is_ended_with_the_reason(
    script: Script, project: Path
) -> None:
    command = script("serve(lambda request: [read() for _ in range(99)])")
    timeouts = Timeouts(idle_turn=0.1, cancel=0.1)
    async with asyncio.timeout(20), connect(command, timeouts=timeouts) as agent:
        session = await agent.new_session(project)
        with pytest.raises(TimeoutError, match="was silent for 0.1 s, did not stop, and was ended"):
            await session.prompt("hi")


async def test_a_user_who_thinks_is_no_silence_of_the_agent(script: Script, project: Path) -> None:
    command = script(
        """
        def prompt(request):
            options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
            got = ask("session/request_permission", {"sessionId": SESSION,
                "toolCall": {"toolCallId": "a"}, "options": options})
            say(got["result"]["outcome"]["outcome"])
            return "end_turn"
        serve(prompt)
        """
    )

    async def think(request: Any) -> Any:
        await asyncio.sleep(0.6)  # longer than the agent may be silent
        return request.options[0]

    timeouts = Timeouts(idle_turn=0.2)
    permissions = Permissions("ask", ask=think)
    async with asyncio.timeout(20), connect(command, timeouts=timeouts, permissions=permissions) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "selected"


async def test_a_crash_in_a_turn_shows_exit_code_stderr_and_the_last_frames(
    script: Script, project: Path
) -> None:
    """D8"""
    command = script(
        """
        def prompt(request):
            state = {"api_key": "sk-abcdefghijklmnopqrst", "step": "last"}
            send({"method": "_vendor/state", "params": state})
            sys.stderr.write("no memory left, token=abc123secret\\n")
            sys.stderr.flush()
            os._exit(3)
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        with pytest.raises(ConnectionClosed) as caught:
            await session.prompt("hi")
    error = caught.value
    shown = "\n".join([str(error), *error.__notes__])
    assert error.exit_code == 3
    assert "no memory left" in str(error)
    assert any("_vendor/state" in frame for frame in error.frames)
    assert '"step": "last"' in shown and "session/prompt" in shown
    assert "sk-abc" not in shown and "abc123secret" not in shown


async def test_a_list_that_never_ends_is_read_up_to_a_point(script: Script) -> None:
    command = script(
        """
        def page(request):
            cursor = request["params"].get("cursor") or "a"
            following = "b" if cursor == "a" else "a"
            answer(request, {"sessions": [{"sessionId": cursor, "cwd": "/"}], "nextCursor": following})
        serve(hello={"agentCapabilities": {"sessionCapabilities": {"list": {}}}}, more={"session/list": page})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        assert [info.session_id for info in await agent.list_sessions()] == ["a", "b", "a"]


# -- mistakes of ours ------------------------------------------------------------------------------------


async def test_a_prompt_that_was_not_sent_says_so(script: Script, project: Path) -> None:
    async with asyncio.timeout(20), connect(script("serve()")) as agent:
        session = await agent.new_session(project)
        turn = session.prompt("hi")
        with pytest.raises(LocalProtocolError, match="was not sent yet"):
            _ = turn.text
        with pytest.warns(RuntimeWarning, match="never sent: await it or iterate it"):
            del turn
        turn = session.prompt("hi")
        await turn.cancel()
        with pytest.raises(LocalProtocolError, match="was cancelled before it was sent"):
            await turn
        first = session.prompt("one")
        async with first:
            with pytest.raises(LocalProtocolError, match="a prompt is running"):
                await session.prompt("two")
        assert first.stop_reason is not None


READER = """
import asyncio, resource, sys
from acpella import connect

async def main():
    async with connect(sys.argv[1:3]) as agent:
        print((await (await agent.new_session(sys.argv[3])).prompt("hi")).text)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)

asyncio.run(main())
"""


async def test_answers_that_an_agent_does_not_take_do_not_fill_the_memory(
    script: Script, project: Path
) -> None:
    """It asks for a large file again and again before it reads the first answer."""
    (project / "large").write_bytes(b"x" * 9_000_000)
    command = script(
        """
        def prompt(request):
            for number in range(100):
                send({"id": f"r{number}", "method": "fs/read_text_file",
                    "params": {"sessionId": SESSION, "path": os.path.join(os.getcwd(), "large")}})
            time.sleep(2)  # in which the client could read them all
            sizes = [len(read()["result"]["content"]) for _ in range(100)]
            say(f"{len(sizes)} {set(sizes)}")
            return "end_turn"
        serve(prompt)
        """
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", READER, *command, str(project)), cwd=project, stdout=subprocess.PIPE
    )
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    answers, most = out.decode().splitlines()
    assert answers == "100 {9000000}"
    assert int(most) < 1000  # MiB; without a bound all hundred answers are there, each more than once: 1,800

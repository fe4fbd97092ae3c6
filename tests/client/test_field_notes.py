"""What real agents do, each case with a real process that does it (FIELD-NOTES, by number)."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from scripting import Script, ends

from acpella.client import Permissions, Timeouts, Workspace, connect
from acpella.errors import AuthRequired, ResourceNotFound, RpcError
from acpella.schema import Terminal

pytestmark = pytest.mark.anyio


# -- 1: files that are not there -------------------------------------------------------------------------

PROBE = """
def prompt(request):
    got = ask("fs/read_text_file", {"sessionId": SESSION, "path": sys.argv[2]})
    say(json.dumps(got.get("result") or got["error"]["code"]))
    return "end_turn"

serve(prompt, hello={"agentInfo": {"name": sys.argv[1], "version": "1"}})
"""


@pytest.mark.parametrize(
    "name, missing_is_empty, said",
    [
        ("some-agent", None, "-32002"),
        ("gemini-cli", None, '{"content": ""}'),
        ("gemini-cli", False, "-32002"),
        ("some-agent", True, '{"content": ""}'),
    ],
)
async def test_a_missing_file_is_an_error_or_empty_as_the_agent_needs_it(
    script: Script, project: Path, name: str, missing_is_empty: bool | None, said: str
) -> None:
    """FIELD-NOTES 1"""
    files = Workspace(missing_is_empty=missing_is_empty)
    command = script(PROBE, name, str(project / "none.txt"))
    async with asyncio.timeout(20), connect(command, files=files) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == said


async def test_a_file_outside_the_roots_is_never_empty(script: Script, project: Path, tmp_path: Path) -> None:
    """FIELD-NOTES 1: what is forgiven is only that the file is missing"""
    command = script(PROBE, "gemini-cli", str(tmp_path / "none.txt"))
    async with asyncio.timeout(20), connect(command) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "-32602"


# -- 2: long lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [570_000, 70_000_000])
async def test_a_line_may_be_very_long(script: Script, project: Path, size: int) -> None:
    """FIELD-NOTES 2"""
    command = script(
        """
        def prompt(request):
            size = int(sys.argv[1])
            command = {"name": "long", "description": "x" * size}
            update("available_commands_update", availableCommands=[command])
            say("after it")
            return "end_turn"
        serve(prompt)
        """,
        str(size),
    )
    async with asyncio.timeout(60), connect(command) as agent:
        session = await agent.new_session(project)
        result = await session.prompt("hi")
        assert result.text == "after it"
        assert len(session.commands[0].description) == size


# -- 3, 4: tool calls ------------------------------------------------------------------------------------


async def test_tool_calls_that_were_never_announced_are_kept(script: Script, project: Path) -> None:
    """FIELD-NOTES 3"""
    command = script(
        """
        def prompt(request):
            update("tool_call_update", toolCallId="a", status="in_progress", title="Look")
            options = [{"optionId": "n", "name": "No", "kind": "reject_once"}]
            ask("session/request_permission", {"sessionId": SESSION, "options": options,
                "toolCall": {"toolCallId": "b", "title": "Delete", "kind": "delete"}})
            for _ in range(2):
                update("tool_call", toolCallId="c", title="Read", kind="read", status="completed")
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command, permissions="deny-all") as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert [(c.id, c.title, c.status) for c in result.tool_calls.values()] == [
        ("a", "Look", "unfinished"),
        ("b", "Delete", "failed"),
        ("c", "Read", "completed"),
    ]


async def test_a_permission_is_decided_on_all_that_is_known_of_the_call(
    script: Script, project: Path
) -> None:
    """FIELD-NOTES 3: the request names the call alone, what it is was in an update before"""
    command = script(
        """
        def prompt(request):
            update("tool_call", toolCallId="a", title="rm -rf build", kind="execute",
                rawInput={"command": "rm -rf build"})
            options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
            got = ask("session/request_permission",
                {"sessionId": SESSION, "options": options, "toolCall": {"toolCallId": "a"}})
            say(json.dumps(got["result"]))
            return "end_turn"
        serve(prompt)
        """
    )
    seen: list[Any] = []

    async def allow(request: Any) -> Any:
        seen.append(request.tool_call)
        return request.options[0]

    async with asyncio.timeout(20), connect(command, permissions=Permissions("ask", ask=allow)) as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert result.text == '{"outcome": {"outcome": "selected", "optionId": "y"}}'
    assert (seen[0].kind, seen[0].title, seen[0].raw_input) == (
        "execute",
        "rm -rf build",
        {"command": "rm -rf build"},
    )


@pytest.mark.parametrize("shown", ['{"command": "true; rm -rf build"}', "It runs: true; rm -rf build"])
async def test_a_question_that_shortens_its_command_hides_nothing_that_was_told_before(
    script: Script, project: Path, shown: str
) -> None:
    """Kimi shows what goes into a call as its content, and asks with another content that is cut."""
    command = script(
        f"""
        def text(words):
            return [{{"type": "content", "content": {{"type": "text", "text": words}}}}]
        def prompt(request):
            update("tool_call", toolCallId="a", title="Bash", kind="execute", content=text({shown!r}))
            options = [{{"optionId": "y", "name": "Yes", "kind": "allow_once"}}]
            call = {{"toolCallId": "a", "title": "Bash", "content": text("Approve true; r…")}}
            ask("session/request_permission", {{"sessionId": SESSION, "options": options, "toolCall": call}})
            return "end_turn"
        serve(prompt)
        """
    )
    seen: list[Any] = []

    async def allow(request: Any) -> Any:
        seen.append(request.tool_call)
        return request.options[0]

    async with asyncio.timeout(20), connect(command, permissions=Permissions("ask", ask=allow)) as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    texts = [item.content.text for item in seen[0].content]
    if shown.startswith("{"):
        assert (seen[0].raw_input, texts) == ({"command": "true; rm -rf build"}, ["Approve true; r…"])
    else:
        assert texts == [shown, "Approve true; r…"]
    content: list[Any] = list(result.tool_calls["a"].content)
    assert [item.content.text for item in content] == ["Approve true; r…"]


async def test_terminals_of_the_agents_own_are_shown(script: Script, project: Path) -> None:
    """FIELD-NOTES 4"""
    command = script(
        """
        def prompt(request):
            update("tool_call", toolCallId="a", title="ls", kind="execute",
                content=[{"type": "terminal", "terminalId": "t9"}],
                _meta={"terminal_info": {"terminal_id": "t9"}})
            for data in ("one\\n", "two\\n"):
                update("tool_call_update", toolCallId="a",
                    _meta={"terminal_output": {"terminal_id": "t9", "data": data}})
            update("tool_call_update", toolCallId="a", status="completed",
                _meta={"terminal_exit": {"terminal_id": "t9", "exit_code": 3, "signal": None}})
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command, terminals=True) as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    call = result.tool_calls["a"]
    assert call.content == [Terminal(terminal_id="t9")]
    assert call.terminal_output == "one\ntwo\n"
    assert call.terminal_exit == {"terminal_id": "t9", "exit_code": 3, "signal": None}


# -- 5, 6, 7, 8: ids, errors, options, state ----------------------------------------------------------------


async def test_any_id_is_answered_and_unknown_methods_are_refused(script: Script, project: Path) -> None:
    """FIELD-NOTES 5"""
    command = script(
        """
        def prompt(request):
            send({"method": "vendor/news", "params": {}})
            send({"method": "_vendor/news", "params": [1]})
            codes = [ask(method, {}, id=id).get("error", {}).get("code")
                for method, id in (("vendor/ask", "a-string"), ("_vendor/ask", 0), ("fs/delete", 77))]
            say(str(codes))
            return "end_turn"
        serve(prompt)
        """
    )
    noise: list[Any] = []
    async with asyncio.timeout(20), connect(command, on_noise=noise.append) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "[-32601, -32601, -32601]"
    assert noise == []


async def test_errors_of_any_code_are_told_with_their_reason(script: Script, project: Path) -> None:
    """FIELD-NOTES 6"""
    command = script(
        """
        errors = iter([
            {"code": 400, "message": "bad", "data": None},
            {"code": 401, "message": "who", "data": {"details": "no such key"}},
            {"code": -32603, "message": "Internal error", "data": {"details": "the model is gone"}},
        ])
        def prompt(request):
            send({"id": request["id"], "error": next(errors)})
        serve(prompt)
        """
    )
    said: list[str] = []
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        for _ in range(3):
            with pytest.raises(RpcError) as caught:
                await session.prompt("hi")
            said.append(str(caught.value))
    assert said == [
        "bad (400)",
        "who: no such key (401)",
        "Internal error: the model is gone (-32603)",
    ]


PERMIT = """
def prompt(request):
    options = [{"optionId": i, "name": i, "kind": k} for i, k in json.loads(sys.argv[1])]
    got = ask("session/request_permission", {"sessionId": SESSION, "options": options,
        "toolCall": {"toolCallId": "a", "title": "Edit", "kind": "edit"}})
    say(got["result"]["outcome"].get("optionId", "cancelled"))
    return "end_turn"
serve(prompt)
"""


@pytest.mark.parametrize(
    "options, policy, chosen",
    [
        (
            '[["cancel", "reject_once"], ["a", "allow_always"], ["b", "allow_always"], ["c", "allow_once"]]',
            "allow-all",
            "c",
        ),
        ('[["allow", "reject_always"], ["reject", "allow_always"]]', "allow-all", "reject"),
        ('[["allow_once", "reject_once"], ["x", "allow_once"]]', "deny-all", "allow_once"),
        ('[["x", "allow_once"]]', "deny-all", "cancelled"),
    ],
)
async def test_options_are_chosen_by_kind(
    script: Script, project: Path, options: str, policy: Any, chosen: str
) -> None:
    """FIELD-NOTES 7"""
    async with asyncio.timeout(20), connect(script(PERMIT, options), permissions=policy) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == chosen


async def test_modes_models_and_options_of_any_kind_can_be_used(script: Script, project: Path) -> None:
    """FIELD-NOTES 8"""
    command = script(
        """
        def accept(request):
            answer(request, {})
            update("agent_message_chunk", content={"type": "text", "text": ""}, unheard_of=[1])
        serve(new={
            "modes": {"currentModeId": "https://x.example/a", "availableModes": [
                {"id": "https://x.example/a", "name": "A"},
                {"id": "https://x.example/b", "name": "B", "new": 1}]},
            "models": {"currentModelId": "m1", "availableModels": [
                {"modelId": "m1", "name": "One"}, {"modelId": "m2", "name": "Two"}]},
            "configOptions": [{"id": "mood", "name": "Mood", "category": "unheard_of", "type": "select",
                "currentValue": "calm", "options": [{"value": "calm", "name": "Calm"}]},
                {"id": "odd", "name": "Odd", "type": "dial", "currentValue": 3}],
            "surprise": {"a": 1},
        }, more={"session/set_mode": accept, "session/set_model": accept})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        assert (session.mode, session.model, len(session.options)) == ("https://x.example/a", "m1", 2)
        await session.set_mode("https://x.example/b")
        await session.set_model("m2")
        assert (session.mode, session.model) == ("https://x.example/b", "m2")
        with pytest.raises(ValueError, match="no model 'm3'; there are: m1, m2"):
            await session.set_model("m3")


# -- 9, 10: processes ---------------------------------------------------------------------------------------


async def test_an_agent_that_ignores_the_end_is_killed_with_all_it_started(
    script: Script, project: Path, tmp_path: Path
) -> None:
    """FIELD-NOTES 9"""
    command = script(
        """
        import signal, subprocess
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "1000"])
        with open(sys.argv[1], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        def prompt(request):
            return "end_turn"
        try:
            serve(prompt)
        finally:
            time.sleep(1000)
        """,
        str(tmp_path / "pids"),
    )
    async with asyncio.timeout(30), connect(command) as agent:
        await (await agent.new_session(project)).prompt("hi")
    assert all(map(ends, (tmp_path / "pids").read_text(encoding="utf-8").split()))


def test_a_cold_start_may_take_long() -> None:
    """FIELD-NOTES 9"""
    assert Timeouts().startup >= 30


async def test_banners_and_a_chatty_stderr_do_no_harm(script: Script, project: Path) -> None:
    """FIELD-NOTES 10"""
    command = script(
        """
        sys.stderr.write("Traceback (most recent call last): nothing is wrong\\n" * 6000)
        sys.stderr.flush()
        send("Welcome to the agent!")
        send("")
        send("[info] {ready}")
        def prompt(request):
            sys.stderr.write("x" * 300_000)
            sys.stderr.flush()
            say("fine")
            return "end_turn"
        serve(prompt)
        """
    )
    noise: list[str] = []
    async with asyncio.timeout(20), connect(command, on_noise=lambda n: noise.append(n.excerpt)) as agent:
        assert (await (await agent.new_session(project)).prompt("hi")).text == "fine"
    assert noise == ["Welcome to the agent!", "[info] {ready}"]


# -- 11, 12: logins, nulls -----------------------------------------------------------------------------------


async def test_a_login_may_be_asked_for_in_many_ways(script: Script, project: Path) -> None:
    """FIELD-NOTES 11; what each login does is in test_client_login.py"""
    command = script(
        """
        def prompt(request):
            late = {"id": "late", "name": "Told late", "_meta": {"type": "terminal"}}
            refuse(request, -32000, "Authentication required", data={"authMethods": [late, {"id": 5}]})
        serve(prompt, hello={"authMethods": [
            {"id": "plain", "name": "Plain"},
            {"id": "term", "name": "Terminal", "type": "terminal", "args": ["--login"], "env": {"A": "1"}},
            {"id": "own", "name": "Own", "_meta": {"terminal-auth": {"command": "x", "args": []}}},
            {"id": "env", "name": "Env", "type": "env_var",
                "vars": [{"name": "KEY"}, {"name": "MAYBE", "optional": True}]},
        ]})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        with pytest.raises(
            AuthRequired, match=r"log in first with one of: late \(Told late\), plain \(Plain\)"
        ):
            await session.prompt("hi")
        assert [method.id for method in agent.auth_methods] == ["late", "plain", "term", "own", "env"]


async def test_null_where_an_object_belongs_is_an_empty_one(script: Script, project: Path) -> None:
    """FIELD-NOTES 12"""
    command = script(
        """
        null = lambda request: answer(request, None)
        serve(hello={"agentCapabilities": {"loadSession": True, "_meta": {"field_meta": {"x": 1}},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}}}},
            new={"_meta": {"field_meta": None}, "configOptions": None, "modes": None},
            more={name: null for name in ("session/list", "session/load", "session/resume", "session/close",
                "session/delete", "authenticate")})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        assert await agent.list_sessions() == []
        await agent.load_session("old", project)
        await agent.resume_session("old", project)
        await agent.delete_session("old")
        await session.close()


async def test_a_missing_session_is_told_as_such(script: Script, project: Path) -> None:
    """FIELD-NOTES 12: requests for a session that is not ours are refused"""
    command = script(
        """
        def prompt(request):
            got = ask("fs/read_text_file", {"sessionId": "other", "path": "/etc/hostname"})
            say(str(got["error"]["code"]))
            return "end_turn"
        serve(prompt)
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        session = await agent.new_session(project)
        assert (await session.prompt("hi")).text == str(ResourceNotFound.code)


async def test_the_environment_reaches_the_agent(script: Script, project: Path) -> None:
    """What users of other clients suffer from: variables that are dropped silently"""
    command = script('serve(lambda r: say(os.environ["GIVEN"] + os.environ["HERE"]) or "end_turn")')
    os.environ["HERE"] = "here"
    try:
        async with asyncio.timeout(20), connect(command, env={"GIVEN": "given "}) as agent:
            assert (await (await agent.new_session(project)).prompt("hi")).text == "given here"
    finally:
        del os.environ["HERE"]
    assert sys.executable in command[0]


LATE_REPLAY = """
def load(request):
    say("one ")
    answer(request, {})
    for text in ("two ", "three "):
        time.sleep(0.02)
        say(text)
def prompt(request):
    say("the answer")
    return "end_turn"
serve(prompt, hello={"agentCapabilities": {"loadSession": True}}, more={"session/load": load})
"""


async def test_a_replay_behind_the_answer_to_a_load_is_no_part_of_the_next_turn(
    script: Script, project: Path
) -> None:
    heard: list[str] = []

    def hear(update: Any) -> None:
        heard.append(update.content.text)

    async with asyncio.timeout(20), connect(script(LATE_REPLAY)) as agent:
        session = await agent.load_session("s1", project, on_update=hear)
        assert heard == ["one ", "two ", "three "]
        assert (await session.prompt("go on")).text == "the answer"


@pytest.mark.parametrize("method", ["resume", "fork", "new"])
async def test_updates_before_the_answer_that_opens_a_session_are_no_part_of_its_first_turn(
    script: Script, project: Path, method: str
) -> None:
    command = script(
        f"""
        def open(request):
            lines = [json.dumps({{"jsonrpc": "2.0", "method": "session/update", "params": {{"sessionId": "s1",
                "update": {{"sessionUpdate": "agent_message_chunk", "content":
                    {{"type": "text", "text": "before "}}}}}}}})] * 50
            result = {{"jsonrpc": "2.0", "id": request["id"], "result": {{"sessionId": "s1"}}}}
            lines.append(json.dumps(result))
            send("\\n".join(lines))
        def prompt(request):
            say("the answer")
            return "end_turn"
        sessions = {{"resume": {{}}, "fork": {{}}}}
        serve(prompt, hello={{"agentCapabilities": {{"sessionCapabilities": sessions}}}},
            more={{"session/{method}": open}})
        """
    )
    async with asyncio.timeout(20), connect(command) as agent:
        opened = {
            "resume": lambda: agent.resume_session("s1", project),
            "fork": lambda: agent.fork_session("s0", project),
            "new": lambda: agent.new_session(project),
        }
        session = await opened[method]()
        assert (await session.prompt("hi")).text == "the answer"

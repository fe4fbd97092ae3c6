"""The loop: streaming, stop reasons, cancellation, errors, permission, memory, compaction."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from acpella.client import Permissions
from acpella.errors import RpcError
from acpella.schema import (
    AgentMessageChunk,
    ImageContent,
    Notice,
    SessionInfoUpdate,
    TextContent,
    ToolCall,
    UsageUpdate,
)
from agent.processes import nobody_runs, somebody_runs
from coder.fake_provider import FakeProvider
from coder.harness import cli, connected, environment, told, use, uses

pytestmark = pytest.mark.anyio


def roles(provider: FakeProvider, request: int = -1) -> list[str]:
    return [message["role"] for message in provider.requests[request].body["messages"]]


def check_valid(messages: list[Any]) -> None:
    """What providers insist on: each tool use is answered in the next message, and nothing else is."""
    open_uses: set[str] = set()
    for message in messages:
        parts = message["content"] if isinstance(message["content"], list) else []
        answered = {part["tool_use_id"] for part in parts if part["type"] == "tool_result"}
        assert answered == open_uses
        open_uses = {part["id"] for part in parts if part["type"] == "tool_use"}
    assert not open_uses


# -- streaming, usage, title ----------------------------------------------------------------


async def test_words_and_thoughts_are_streamed_and_the_turn_is_counted(project: Path, home: Path) -> None:
    """B8, C23: pieces as they come, usage and title after the first turn, tokens with the answer."""
    first = {
        "thinking": ["Let me ", "think."],
        "text": ["One ", "moment. "],
        "tools": [{"name": "list_files", "arguments": {}}],
        "usage": {"input": 100, "output": 20, "cached": 40},
    }
    second = {"text": "Done.", "usage": {"input": 150, "output": 30}}
    async with FakeProvider([first, second]) as provider, connected(environment(home, provider)) as agent:
        session = await agent.new_session(project)
        turn = session.prompt("What is\nhere, and a lot more of words than fit into the title of a session?")
        updates = [update async for update in turn]
    chunks = [u.content.text for u in updates if isinstance(u, AgentMessageChunk)]  # type: ignore[union-attr]
    assert chunks == ["One ", "moment. ", "Done."] and turn.result.thoughts == "Let me think."
    assert [u for u in updates if isinstance(u, UsageUpdate)][-1].used == 180
    titles = [u.title for u in updates if isinstance(u, SessionInfoUpdate)]
    assert titles == ["What is here, and a lot more of words than fit into the tit…"]
    usage = turn.result.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_read_tokens) == (250, 50, 40)


async def test_harmless_tools_run_at_once_and_dangerous_ones_one_by_one(project: Path, home: Path) -> None:
    """Two reads wait for each other in the editor: they only end if both are asked for."""
    import acpella
    from acpella.client import Workspace
    from acpella.schema import ReadTextFileResponse
    from coder.harness import AGENT

    both = asyncio.Barrier(2)

    class Waiting(Workspace):
        async def read(self, roots: Any, request: Any, **_: Any) -> ReadTextFileResponse:
            if request.path.endswith((".1", ".2")):
                async with asyncio.timeout(20):
                    await both.wait()
            return ReadTextFileResponse(content="text")

    running = 0
    most = 0

    async def ask(request: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return request.options[0]

    wanted = uses(
        ("read_file", {"path": "a.1"}),
        ("read_file", {"path": "a.2"}),
        ("run", {"command": "echo x >> log"}),
        ("run", {"command": "echo y >> log"}),
        ("read_file", {"path": "b"}),
    )
    async with (
        FakeProvider([wanted, "Done."]) as provider,
        acpella.connect(
            AGENT,
            env=environment(home, provider),
            files=Waiting(),
            permissions=Permissions("ask", ask=ask),
        ) as agent,
    ):
        result = await (await agent.new_session(project)).prompt("go")
    assert result.stop_reason == "end_turn" and most == 1
    assert (project / "log").read_text(encoding="utf-8") == "x\ny\n"
    answered = [part["tool_use_id"] for part in provider.requests[-1].body["messages"][-1]["content"]]
    assert answered == [f"use_{i}" for i in range(5)]


# -- how turns end --------------------------------------------------------------------------


async def test_every_stop_reason(project: Path, home: Path) -> None:
    """B10; `cancelled` has tests of its own below."""
    endless = [use("list_files") for _ in range(3)]
    turns = [
        "Fine.",
        {"text": "cut o", "stop": "max_tokens"},
        *endless,
        {"text": "No.", "stop": "refusal"},
        "Yes.",
    ]
    async with FakeProvider(turns) as provider:
        async with connected(environment(home, provider), "--max-turns", "3") as agent:
            session = await agent.new_session(project)
            reasons = [(await session.prompt(text)).stop_reason for text in ("a", "b", "c", "forbidden", "e")]
    assert reasons == ["end_turn", "max_tokens", "max_turn_requests", "refusal", "end_turn"]
    last = provider.requests[-1].body["messages"]
    check_valid(last)
    assert "forbidden" not in json.dumps(last)  # what was refused is not part of the next turn


async def test_a_refusal_and_an_error_are_seen_by_scripts(project: Path, home: Path) -> None:
    async with FakeProvider([{"text": "No.", "stop": "refusal"}]) as provider:
        assert (await cli(project, environment(home, provider), "x")).code == 6
    bad_key = {"status": 401, "error": "invalid x-api-key", "kind": "authentication_error"}
    async with FakeProvider([bad_key]) as provider:
        ran = await cli(project, environment(home, provider), "x")
    assert ran.code == 8 and "ANTHROPIC_API_KEY" in ran.err and "test-key" not in ran.err


async def test_an_error_of_the_model_loses_nothing(project: Path, home: Path) -> None:
    turns = [
        use("read_file", path="greet.py"),
        {"text": "I was about to", "then": {"error": "it broke", "kind": "invalid_request_error"}},
        "Back again.",
    ]
    async with FakeProvider(turns) as provider, connected(environment(home, provider)) as agent:
        session = await agent.new_session(project)
        with pytest.raises(RpcError, match="it broke"):
            await session.prompt("remember the word banana")
        assert (await session.prompt("go on")).text == "Back again."
    last = provider.requests[-1].body["messages"]
    check_valid(last)
    said = json.dumps(last)
    assert "banana" in said and "I was about to [broken off: the model failed]" in said and "helo" in said


async def test_a_busy_model_is_asked_again_and_the_user_is_told(project: Path, home: Path) -> None:
    busy = {"status": 529, "error": "Overloaded", "kind": "overloaded_error", "headers": {"retry-after": "0"}}
    async with FakeProvider([busy, "At last."]) as provider, connected(environment(home, provider)) as agent:
        turn = (await agent.new_session(project)).prompt("hi")
        notices = [update.title async for update in turn if isinstance(update, Notice)]
    assert turn.text == "At last." and len(notices) == 1 and "trying again" in notices[0]


async def test_cancelling_ends_the_request_to_the_model_at_once(project: Path, home: Path) -> None:
    async with FakeProvider([{"text": "I think that", "then": "hang"}, "Yes?"]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            turn = session.prompt("think")
            async for update in turn:
                if isinstance(update, AgentMessageChunk):
                    await provider.hanging.wait()
                    await turn.cancel()
            assert turn.stop_reason == "cancelled"
            await provider.disconnected.wait()
            assert (await session.prompt("and now?")).text == "Yes?"
    last = provider.requests[-1].body["messages"]
    assert "I think that [interrupted by the user]" in json.dumps(last)
    assert roles(provider) == ["user", "assistant", "user"]


async def test_cancelling_ends_a_command_and_leaves_a_valid_memory(project: Path, home: Path) -> None:
    wanted = uses(("run", {"command": "sleep 62.3"}), ("write_file", {"path": "never", "text": "x"}))
    async with FakeProvider([wanted, "Yes?"]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            turn = session.prompt("sleep")
            async for update in turn:
                if isinstance(update, ToolCall):
                    await somebody_runs("sleep 62.3")
                    await turn.cancel()
            assert turn.stop_reason == "cancelled"
            await nobody_runs("sleep 62.3")
            await session.prompt("and now?")
    check_valid(provider.requests[-1].body["messages"])
    assert "not run: the turn was interrupted" in json.dumps(provider.requests[-1].body)
    assert not (project / "never").exists()


# -- permission -------------------------------------------------------------------------------


async def test_no_means_no_and_the_model_is_told(project: Path, home: Path) -> None:
    """B6"""
    async with FakeProvider([use("run", command="touch x"), "Then not."]) as provider:
        ran = await cli(project, environment(home, provider), "run it")
    assert ran.code == 10 and "refused: Run touch x" in ran.err
    assert "the user refused this" in told(provider) and not (project / "x").exists()


async def test_always_is_remembered_for_the_program_and_not_for_more(project: Path, home: Path) -> None:
    """C21: kept in the file of the user's, for another process too."""
    asked: list[str] = []

    async def ask(request: Any) -> Any:
        asked.append(request.tool_call.title)
        return next(option for option in request.options if option.kind == "allow_always")

    commands = ["echo one", "echo two", "echo one; touch y", "ls"]
    for commands in (["echo one", "echo two"], ["echo three", "echo one; echo x"]):
        turns = [*(use("run", command=command) for command in commands), "Done."]
        async with FakeProvider(turns) as provider:
            permissions = Permissions("ask", ask=ask)
            async with connected(environment(home, provider), permissions=permissions) as agent:
                await (await agent.new_session(project)).prompt("go")
    assert asked == ["Run echo one", "Run echo one; echo x"]
    kept = home / "acpella" / "permissions.toml"
    assert kept.stat().st_mode & 0o777 == 0o600 and '"run program:echo" = "allow"' in kept.read_text(
        encoding="utf-8"
    )


async def test_always_for_files_leaves_out_what_programs_run_by_themselves(project: Path, home: Path) -> None:
    """C21: a hook of git's is a command that runs later; so is what a link leads to."""
    asked: list[str] = []

    async def ask(request: Any) -> Any:
        asked.append(request.tool_call.title)
        return next(option for option in request.options if option.kind == "allow_always")

    (project / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
    (project / "link").symlink_to(".git/hooks")
    paths = [
        "a.txt",
        "b.txt",
        ".git/hooks/pre-commit",
        "link/post-commit",
        ".GIT/description",
        "link/post-commit",
    ]
    turns = [*(use("write_file", path=path, text=str(n)) for n, path in enumerate(paths)), "Done."]
    async with FakeProvider(turns) as provider:
        permissions = Permissions("ask", ask=ask)
        async with connected(environment(home, provider), permissions=permissions) as agent:
            await (await agent.new_session(project)).prompt("go")
    assert asked == [f"Write {path}" for path in (paths[0], *paths[2:5])]


@pytest.mark.parametrize("way", ["./" * 600, "link/../"])
async def test_always_for_ordinary_files_covers_no_hook_by_another_way(
    project: Path, home: Path, way: str
) -> None:
    """A path that is too long to be shown, and one that means another file when its links are walked."""
    asked: list[str] = []

    async def ask(request: Any) -> Any:
        asked.append(request.tool_call.title)
        return request.options[1] if "ordinary files" in request.options[1].name else request.options[2]

    (project / ".git" / "hooks").mkdir(parents=True)
    (project / "way").symlink_to(".git/hooks")
    (project / "deep" / "way").mkdir(parents=True)
    (project / "deep" / "er").mkdir()
    (project / "link").symlink_to("deep/er")  # so that link/../way is an ordinary directory for some
    hook = use("write_file", path=f"{way}way/pre-commit", text="#!/bin/sh\n")
    async with FakeProvider([use("write_file", path="a.txt", text="x"), hook, "Done."]) as provider:
        permissions = Permissions("ask", ask=ask)
        async with connected(environment(home, provider), permissions=permissions) as agent:
            await (await agent.new_session(project)).prompt("go")
    assert asked[0] == "Write a.txt" and (project / "a.txt").exists()
    if len(way) > 1000:
        assert "1 to 1000 characters" in told(provider) and len(asked) == 1
    else:
        assert asked[1:] == [f"Write {way}way/pre-commit"]
    assert list((project / ".git" / "hooks").iterdir()) == []


async def test_auto_approve_asks_nothing_but_keeps_what_is_always_refused(project: Path, home: Path) -> None:
    (home / "acpella").mkdir()
    (home / "acpella" / "permissions.toml").write_text(
        '[coder]\n"run program:ls" = "deny"\n', encoding="utf-8"
    )
    turns = [use("run", command="ls"), use("write_file", path="x", text="1"), "Done."]
    async with FakeProvider(turns) as provider:
        async with connected(environment(home, provider), permissions=Permissions("deny-all")) as agent:
            session = await agent.new_session(project)
            await session.set_option("auto-approve", True)
            await session.prompt("go")
    assert "the user refused" in told(provider, 1) and (project / "x").exists()


async def test_the_question_says_what_always_covers_and_hides_nothing(project: Path, home: Path) -> None:
    """B6: a title has no room for long commands, so the whole of it is shown beneath."""
    asked: list[Any] = []

    async def ask(request: Any) -> Any:
        asked.append(request)
        return next(option for option in request.options if option.kind == "reject_once")

    long = "echo " + "a" * 200 + "; touch ran"
    commands = ["git status -s", "echo hi\ntouch ran", long, "echo ```\ntouch ran", "x" * 20_001]
    turns = [
        *(use("run", command=command) for command in commands),
        use("write_file", path="new.txt", text="x"),
        "Done.",
    ]
    async with FakeProvider(turns) as provider:
        permissions = Permissions("ask", ask=ask)
        async with connected(environment(home, provider), permissions=permissions) as agent:
            await (await agent.new_session(project)).prompt("go")
    names = [[option.name for option in request.options] for request in asked]
    status = '"git status" with harmless options in this project'
    assert names[0] == ["Allow", f"Always allow {status}", "Reject", f"Always reject {status}"]
    assert [each[1] for each in names[1:4]] == ["Always allow exactly this in this project"] * 3
    assert names[4][1] == "Always allow write_file for ordinary files in this project"
    assert not any("`" in name for each in names for name in each)  # editors show names as they are
    assert {request.tool_call.status for request in asked} == {"pending"}
    contents = [request.tool_call.content for request in asked]
    assert not contents[0]
    shown = [content[0].content.text for content in contents[1:4]]
    assert shown[0] == "```sh\necho hi\ntouch ran\n```" and long in shown[1]
    assert shown[2].startswith("````sh\n")
    assert "write a script" in told(provider, 5) and not (project / "ran").exists()


# -- models -------------------------------------------------------------------------------------


async def test_the_model_and_its_thinking_are_switched(project: Path, home: Path) -> None:
    """C13: allow-list, by option, by set_model and by /model; from the next turn on."""
    async with FakeProvider(["One.", "Two.", "Three."]) as provider:
        env = {**environment(home, provider), "ACPELLA_MODELS": "anthropic:test,anthropic:other"}
        async with connected(env) as agent:
            session = await agent.new_session(project)
            await session.prompt("hi")
            await session.set_option("model", "anthropic:other")
            await session.set_option("thinking", "low")
            await session.prompt("hi")
            with pytest.raises((RpcError, ValueError), match="gpt"):
                await session.set_model("openai:gpt-9")
            assert "From the next prompt on" in (await session.prompt("/model anthropic:test")).text
            assert "anthropic:other" in (await session.prompt("/model nonsense")).text
            await session.prompt("hi")
    bodies = [asked.body for asked in provider.requests]
    assert [body["model"] for body in bodies] == ["test", "other", "test"]
    assert "thinking" not in bodies[0] and "thinking" in json.dumps(bodies[1])


async def test_images_go_to_models_that_see_and_are_described_to_others(project: Path, home: Path) -> None:
    """B7, C12"""
    picture = ImageContent(data=base64.b64encode(b"\x89PNG\r\n\x1a\n123").decode(), mime_type="image/png")
    async with FakeProvider(["A dot."]) as provider, connected(environment(home, provider)) as agent:
        await (await agent.new_session(project)).prompt([TextContent(text="what is it?"), picture])
        assert "image" in [part["type"] for part in provider.requests[0].body["messages"][0]["content"]]
    async with FakeProvider(["I am blind."]) as provider:
        env = {**environment(home, provider, "openai"), "ACPELLA_MODEL": "openai:gpt-3.5-turbo"}
        async with connected(env) as agent:
            await (await agent.new_session(project)).prompt([TextContent(text="what is it?"), picture])
        assert "this model takes no images" in json.dumps(provider.requests[0].body["messages"])


async def test_the_projects_notes_and_the_mode_are_told(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("Always use tabs.\n" + "x" * 50_000, encoding="utf-8")
    async with FakeProvider(["Hi."]) as provider:
        await cli(project, environment(home, provider), "--mode", "safe", "hi")
    system = json.dumps(provider.requests[0].body["system"])
    assert "Always use tabs." in system and "[cut here]" in system and len(system) < 40_000
    assert str(project) in system and "Mode `safe`" in system


async def test_notes_that_are_a_link_to_elsewhere_are_not_told(project: Path, home: Path) -> None:
    (home / "secret").write_text("topsecret", encoding="utf-8")
    (project / "AGENTS.md").symlink_to(home / "secret")
    async with FakeProvider(["Hi."]) as provider:
        await cli(project, environment(home, provider), "hi")
    assert "topsecret" not in json.dumps(provider.requests[0].body)


# -- compaction -----------------------------------------------------------------------------------


async def test_a_conversation_that_does_not_fit_is_summarized_and_goes_on(project: Path, home: Path) -> None:
    too_long = {
        "status": 400,
        "error": "prompt is too long: 250000 tokens > 200000 maximum",
        "kind": "invalid_request_error",
    }
    turns = [use("read_file", path="greet.py"), "It greets.", too_long, "They read greet.py.", "Still here."]
    async with FakeProvider(turns) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            await session.prompt("what does greet.py do?")
            turn = session.prompt("and who calls it, exactly?")
            notices = [update.title async for update in turn if isinstance(update, Notice)]
    assert turn.text == "Still here."
    assert notices == ["The conversation was summarized to make room."]
    summarizing, last = provider.requests[-2].body, provider.requests[-1].body
    assert "It greets." in json.dumps(summarizing) and not summarizing.get("tools")
    told_now = json.dumps(last["messages"])
    assert "They read greet.py." in told_now and "and who calls it, exactly?" in told_now
    assert "It greets." not in told_now and len(last["messages"]) == 1


async def test_a_full_window_is_summarized_before_it_overflows(project: Path, home: Path) -> None:
    full = {"text": "Long.", "usage": {"input": 3500, "output": 400}}
    async with FakeProvider([full, "Summary.", "Short."]) as provider:
        env = {**environment(home, provider), "ACPELLA_CONTEXT_WINDOW": "4096"}
        async with connected(env) as agent:
            session = await agent.new_session(project)
            await session.prompt("x" * 12_000)
            result = await session.prompt("go on")
    assert result.text == "Short." and len(provider.requests) == 3
    assert "Summary." in json.dumps(provider.requests[-1].body["messages"])


async def test_compact_and_clear(project: Path, home: Path) -> None:
    """C22"""
    async with FakeProvider(["Apple.", "The user likes apples.", "Two.", "Three."]) as provider:
        async with connected(environment(home, provider)) as agent:
            session = await agent.new_session(project)
            assert "nothing to summarize" in (await session.prompt("/compact")).text
            await session.prompt("what do I like?")
            assert "Summarized" in (await session.prompt("/compact")).text
            await session.prompt("what?")
            assert "The user likes apples." in json.dumps(provider.requests[-1].body["messages"])
            assert "Forgotten: 4 messages" in (await session.prompt("/clear")).text
            await session.prompt("anything?")
    assert len(provider.requests[-1].body["messages"]) == 1

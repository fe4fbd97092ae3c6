"""What a turn sends and asks, as the editor sees it (B8, B10, C7, C23)."""

import asyncio
from typing import Any

import pytest

from acpella.agent import Mode, Select
from acpella.errors import LocalProtocolError, MethodNotFound, Unsupported
from acpella.schema import (
    AgentMessageChunk,
    BooleanPropertySchema,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    PlanEntry,
    PlanRemoved,
    ResourceLink,
    SessionMessageChunk,
    SubagentUpdate,
    TextContent,
    Usage,
)
from acpella.sessions import Store
from agent.editor import FS, agent_of, editing, opened, text

pytestmark = pytest.mark.anyio


async def test_saying_and_thinking_send_chunks() -> None:
    async def reply(turn: Any) -> None:
        await turn.think("hmm")
        await turn.say("well")
        await turn.say(ResourceLink(name="a.py", uri="file:///a.py"))

    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates()[:3] == [
            {"sessionUpdate": "agent_thought_chunk", "content": text("hmm")},
            {"sessionUpdate": "agent_message_chunk", "content": text("well")},
            {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"},
            },
        ]


@pytest.mark.parametrize("said", [None, 5, ["a"], {"type": "text"}])
async def test_saying_what_is_no_content_is_an_error(said: Any) -> None:
    async def reply(turn: Any) -> None:
        with pytest.raises(TypeError):
            await turn.say(said)
        with pytest.raises(TypeError):
            await turn.think(said)

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.updates("agent_message_chunk") == []


async def test_the_prompt_as_text_holds_links_and_embedded_texts() -> None:
    """B7."""

    async def reply(turn: Any) -> str:
        assert len(turn.prompt) == 5
        return turn.text

    blocks = [
        text("look at"),
        {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"},
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "print()"}},
        {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AAAA"}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    async with editing(agent_of(reply, images=True)) as editor:
        await editor.prompt(await editor.new(), blocks)
        assert editor.said() == (
            'look at\n[a.py](file:///a.py)\n<resource uri="file:///b.py">\nprint()\n</resource>'
        )


async def test_a_plan_is_sent_whole_with_every_change() -> None:
    """R-241."""

    async def reply(turn: Any) -> None:
        plan = await turn.plan("read", PlanEntry(content="write", priority="high", status="pending"))
        await plan.start("read")
        await plan.done("read")
        await plan.add("test", priority="low")
        await plan.set("write", priority="low", status="in_progress")
        await plan.remove("read")
        with pytest.raises(KeyError, match="sleep"):
            await plan.done("sleep")
        assert [entry.content for entry in plan.entries] == ["write", "test"]

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"
        shown = [
            [(e["content"], e["status"], e["priority"]) for e in plan["entries"]]
            for plan in editor.updates("plan")
        ]
        assert shown == [
            [("read", "pending", "medium"), ("write", "pending", "high")],
            [("read", "in_progress", "medium"), ("write", "pending", "high")],
            [("read", "completed", "medium"), ("write", "pending", "high")],
            [("read", "completed", "medium"), ("write", "pending", "high"), ("test", "pending", "low")],
            [("read", "completed", "medium"), ("write", "in_progress", "low"), ("test", "pending", "low")],
            [("write", "in_progress", "low"), ("test", "pending", "low")],
        ]


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_every_stop_reason_can_be_reached(reason: str, kind: str) -> None:
    """B10."""

    async def reply(turn: Any) -> None:
        turn.stop(reason)

    def plain(turn: Any) -> None:
        turn.stop(reason)

    async with editing(agent_of(reply if kind == "async" else plain)) as editor:
        session = await editor.new()
        assert await editor.prompt(session) == reason
        assert await editor.prompt(session) == reason


async def test_a_stop_reason_that_the_protocol_does_not_know_is_refused() -> None:
    """R-033: stop reasons are a closed list in v1."""

    async def reply(turn: Any) -> None:
        with pytest.raises(ValueError, match="tired"):
            turn.stop("tired")

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_a_sub_agent_can_stop_the_turn() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Ask another") as call:
            turn.under(call).stop("refusal")

    async with editing(agent_of(reply)) as editor:
        assert await editor.prompt(await editor.new()) == "refusal"


async def test_usage_is_shown_and_tokens_come_with_the_answer() -> None:
    """C23, R-242."""

    async def reply(turn: Any) -> None:
        await turn.usage(10, 200, cost=0.5, currency="EUR")
        turn.tokens = Usage(total_tokens=3, input_tokens=1, output_tokens=2)

    def plain(turn: Any) -> None:
        turn.usage(10, 200, cost=0.5, currency="EUR")
        turn.tokens = Usage(total_tokens=3, input_tokens=1, output_tokens=2)

    for handler in (reply, plain):
        async with editing(agent_of(handler), _meta={"prompt_usage": True}) as editor:
            session = await editor.new()
            answer = await editor.call("session/prompt", {"sessionId": session, "prompt": [text("hi")]})
            assert answer["usage"] == {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
            assert editor.updates("usage_update") == [
                {
                    "sessionUpdate": "usage_update",
                    "used": 10,
                    "size": 200,
                    "cost": {"amount": 0.5, "currency": "EUR"},
                }
            ]


async def test_the_first_prompt_names_the_session_before_its_answer(store: Store) -> None:
    """C23, R-205."""

    async def reply(turn: Any) -> str:
        return "ok"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "  \nFix the build\nplease")
        await editor.prompt(session, "and now?")
        named = editor.updates("session_info_update")
        assert [update["title"] for update in named] == ["Fix the build"]
        assert editor.order().index("session_info_update") < editor.order().index("session/prompt")
        listed = await editor.call("session/list")
        assert listed["sessions"][0]["title"] == "Fix the build"


async def test_a_long_first_line_is_cut_and_an_empty_prompt_names_nothing() -> None:
    async def reply(turn: Any) -> str:
        return "ok"

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        await editor.prompt(session, [])
        assert editor.updates("session_info_update") == []
        await editor.prompt(session, "word " * 50)
        (named,) = editor.updates("session_info_update")
        assert len(named["title"]) <= 60 and named["title"].endswith("…")


async def test_the_author_names_the_session_and_that_stays(store: Store) -> None:
    async def reply(turn: Any) -> str:
        await turn.title("My title")
        return "ok"

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session, "other words")
        assert [update["title"] for update in editor.updates("session_info_update")] == ["My title"]
        await editor.call("session/close", {"sessionId": session})
        editor.forget()
        await editor.load(session)
        assert editor.updates("session_info_update") == []
        assert (await editor.call("session/list"))["sessions"][0]["title"] == "My title"


async def test_notices_go_beside_the_conversation_where_they_are_known() -> None:
    """R-244."""

    async def reply(turn: Any) -> None:
        await turn.notice("Low on credit", severity="warning", description="Five left.")

    async with editing(agent_of(reply), session={"notices": {}}) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates("notice") == [
            {
                "sessionUpdate": "notice",
                "severity": "warning",
                "title": "Low on credit",
                "description": "Five left.",
            }
        ]
        assert editor.said() == ""
    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates("notice") == []
        assert "Low on credit" in editor.said() and "Five left." in editor.said()


async def test_what_comes_after_the_reply_runs_after_the_answer() -> None:
    """R-214."""

    async def reply(turn: Any) -> str:
        async def later() -> None:
            await turn.session.update(AgentMessageChunk(content=TextContent(text="later")))
            with pytest.raises(LocalProtocolError, match="session.update"):
                await turn.say("too late")
            done.set()

        turn.after_reply(later)
        return "now "

    done = asyncio.Event()
    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        await done.wait()
        await editor.until_said("now later")
        assert editor.order()[-2:] == ["session/prompt", "agent_message_chunk"]


async def test_work_after_the_reply_may_be_a_plain_function(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def reply(turn: Any) -> None:
        turn.after_reply(lambda: done.append("did"))

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        await editor.prompt(session)
        assert "did" in done
    assert caplog.text == ""


async def test_work_after_the_reply_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def reply(turn: Any) -> str:
        async def later() -> None:
            raise RuntimeError("broken")

        turn.after_reply(later)
        return "ok"

    async with editing(agent_of(reply)) as editor:
        session = await editor.new()
        assert await editor.prompt(session) == "end_turn"
        assert await editor.prompt(session) == "end_turn"
    assert "broken" in caplog.text


async def test_state_that_work_after_the_reply_changes_is_kept(store: Store) -> None:
    async def reply(turn: Any) -> str:
        async def later() -> None:
            turn.session.state["later"] = turn.session.state.get("later", 0) + 1
            done.set()

        turn.after_reply(later)
        return str(turn.session.state)

    done = asyncio.Event()
    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        await done.wait()
        await editor.call("session/close", {"sessionId": session})
        editor.forget()
        await editor.load(session, "session/resume")
        await editor.prompt(session)
        assert editor.said() == "{'later': 1}"


# -- sub-agents (C7) ----------------------------------------------------------------------


async def test_what_a_sub_agent_sends_is_marked_with_its_tool_call() -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Delegate", kind="think") as call:
            sub = turn.under(call)
            await sub.say("inner")
            await sub.think("inner thought")
            await sub.plan("inner plan")
            async with sub.tool("Inner tool") as inner:
                await inner.progress()
                await turn.under(inner).say("deepest")
            ids.append((call.id, inner.id))
        await turn.say("outer")

    ids: list[tuple[str, str]] = []
    async with editing(agent_of(reply)) as editor:
        await editor.prompt(await editor.new())
        ((outer, inner),) = ids
        marks = [
            (update["sessionUpdate"], update.get("_meta", {}).get("claudeCode", {}).get("parentToolUseId"))
            for update in editor.updates()
            if update["sessionUpdate"] != "session_info_update"
        ]
        assert marks == [
            ("tool_call", None),
            ("agent_message_chunk", outer),
            ("agent_thought_chunk", outer),
            ("plan", outer),
            ("tool_call", outer),
            ("tool_call_update", outer),
            ("agent_message_chunk", inner),
            ("tool_call_update", outer),
            ("tool_call_update", None),
            ("agent_message_chunk", None),
        ]


async def test_the_mark_of_a_sub_agent_survives_a_load(store: Store) -> None:
    async def reply(turn: Any) -> None:
        async with turn.tool("Delegate") as call:
            await turn.under(call).say("inner ")
            await turn.under(call).say("words")
        await turn.say("outer")

    async with editing(agent_of(reply, store=store)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        before = [
            u for u in editor.updates() if "Chunk" not in u and u["sessionUpdate"] != "session_info_update"
        ]
        editor.forget()
        await editor.load(session)
        assert editor.updates()[1:] == before


# -- elicitation --------------------------------------------------------------------------

FORM: dict[str, Any] = {"elicitation": {"form": {}}}
URL: dict[str, Any] = {"elicitation": {"url": {}}}


async def ask_form(turn: Any) -> str:
    answer = await turn.elicit(
        "Sure?", {"yes": BooleanPropertySchema(title="Yes")}, required=["yes"], title="Question"
    )
    return f"{answer.action} {answer.accepted} {answer.content}"


@pytest.mark.parametrize(
    "answer, said",
    [
        ({"action": "accept", "content": {"yes": True}}, "accept True {'yes': True}"),
        ({"action": "accept"}, "accept True {}"),
        ({"action": "decline"}, "decline False {}"),
        ({"action": "cancel"}, "cancel False {}"),
        ({"action": "_vendor_postpone"}, "_vendor_postpone False {}"),
    ],
)
async def test_a_form_is_filled_in_or_not(answer: Any, said: str) -> None:
    """R-365, R-368; R-372: an unknown action is none of the known ones."""
    async with editing(agent_of(ask_form), **FORM) as editor:
        editor.on["elicitation/create"] = answer
        session = await editor.new()
        await editor.prompt(session)
        assert editor.said() == said
        (asked,) = editor.calls("elicitation/create")
        assert asked == {
            "sessionId": session,
            "mode": "form",
            "message": "Sure?",
            "requestedSchema": {
                "type": "object",
                "title": "Question",
                "properties": {"yes": {"type": "boolean", "title": "Yes"}},
                "required": ["yes"],
            },
        }


async def test_a_page_is_opened_with_consent() -> None:
    async def reply(turn: Any) -> str:
        answer = await turn.elicit_url("Log in", "https://example.org", elicitation_id="e1")
        return answer.action

    async with editing(agent_of(reply), **URL) as editor:
        editor.on["elicitation/create"] = {"action": "accept"}
        await editor.prompt(await editor.new())
        assert editor.said() == "accept"
        (asked,) = editor.calls("elicitation/create")
        assert (asked["mode"], asked["url"], asked["elicitationId"]) == ("url", "https://example.org", "e1")


@pytest.mark.parametrize("offered", [{}, {"elicitation": {}}, {"elicitation": {"form": None, "url": None}}])
async def test_what_the_editor_cannot_show_is_unsupported(offered: Any) -> None:
    """R-360: an empty object advertises nothing."""

    async def reply(turn: Any) -> None:
        with pytest.raises(Unsupported, match="forms"):
            await ask_form(turn)
        with pytest.raises(Unsupported, match="pages"):
            await turn.elicit_url("Log in", "https://example.org", elicitation_id="e1")

    async with editing(agent_of(reply), **offered) as editor:
        editor.on["elicitation/create"] = {"action": "accept"}
        assert await editor.prompt(await editor.new()) == "end_turn"
        assert editor.calls("elicitation/create") == []


async def test_a_form_mode_does_not_open_pages_and_the_other_way_round() -> None:
    """R-363: no fallback from one to the other."""

    async def reply(turn: Any) -> None:
        with pytest.raises(Unsupported):
            await turn.elicit_url("Log in", "https://example.org", elicitation_id="e1")

    async with editing(agent_of(reply), **FORM) as editor:
        assert await editor.prompt(await editor.new()) == "end_turn"


async def test_updates_of_every_kind_can_be_sent_by_hand() -> None:
    """B8: what has no method of its own goes through `update`."""

    async def reply(turn: Any) -> None:
        await turn.update(CompactionUpdate(compaction_id="c1", status="in_progress"))

    async with editing(agent_of(reply), session={"compaction": {}}) as editor:
        await editor.prompt(await editor.new())
        assert editor.updates("compaction_update")[0]["compactionId"] == "c1"


GATED: list[Any] = [
    Notice(severity="info", title="n"),
    CompactionUpdate(compaction_id="c", status="in_progress"),
    CompactionSummaryChunk(compaction_id="c", content=TextContent(text="s")),
    PlanRemoved(plan_id="p"),
    SubagentUpdate(session_id="s"),
    SessionMessageChunk(message_id="m", content=TextContent(text="t")),
]

EVERYTHING: dict[str, Any] = {"session": {"notices": {}, "compaction": {}}, "plan": {}, "subagents": {}}


@pytest.mark.parametrize("update", GATED, ids=lambda update: type(update).__name__)
async def test_what_an_editor_does_not_know_is_not_sent_to_it(update: Any, store: Store) -> None:
    """R-244: neither now nor when the session is loaded."""

    async def reply(turn: Any) -> Any:
        yield "before "
        yield update
        yield "after"

    agent = agent_of(reply, store=store)
    async with opened(agent, **EVERYTHING) as editor:
        session = await editor.new()
        await editor.prompt(session)
        kinds = {u["sessionUpdate"] for u in editor.updates()}
        assert kinds == {"agent_message_chunk", "session_info_update", type(update).__struct_config__.tag}
    async with editing(agent) as editor:
        await editor.load(session)
        await editor.prompt(session)
        kinds = {u["sessionUpdate"] for u in editor.updates()}
        assert kinds == {"user_message_chunk", "agent_message_chunk"}
        assert editor.said() == "before after" * 2


async def test_an_error_of_the_editor_is_no_answer_to_its_prompt() -> None:
    """-32601 for a file would tell the editor that prompts are unknown here."""

    async def reply(turn: Any) -> str:
        return await turn.files.read("a.txt")

    def plain(turn: Any) -> str:
        return turn.files.read("a.txt")

    for handler in (reply, plain):
        async with editing(agent_of(handler), **FS) as editor:
            editor.on["fs/read_text_file"] = MethodNotFound("not today")
            error = await editor.prompt_fails(await editor.new())
            assert (error.code, error.message) == (-32603, "fs/read_text_file failed: not today")


async def test_a_turn_calls_and_tells_extensions_of_its_editor() -> None:
    async def reply(turn: Any) -> str:
        await turn.say("before")
        answer = await turn.extension("_test/ask", {"n": 1})
        await turn.notify("_test/tell", {"heard": answer})
        return "after"

    async with editing(agent_of(reply)) as editor:
        editor.on["_test/ask"] = lambda params: {"twice": params["n"] * 2}
        session = await editor.new()
        editor.forget()
        assert await editor.prompt(session) == "end_turn"
        assert editor.order()[:4] == ["agent_message_chunk", "_test/ask", "_test/tell", "agent_message_chunk"]
        assert ("told", "_test/tell", {"heard": {"twice": 2}}) in editor.log


@pytest.mark.parametrize("blocking", [False, True])
async def test_an_extension_that_an_editor_does_not_have_is_an_error_of_its_own(blocking: bool) -> None:
    """What the editor answered to the agent is no answer to its prompt."""

    async def reply(turn: Any) -> None:
        with pytest.raises(ValueError, match="begins with `_`"):
            await turn.notify("session/update", {})
        with pytest.raises(MethodNotFound):
            await turn.extension("_test/unknown")
        await turn.extension("_test/unknown")

    def reply_in_thread(turn: Any) -> None:
        turn.extension("_test/unknown")

    async with editing(agent_of(reply_in_thread if blocking else reply)) as editor:
        error = await editor.prompt_fails(await editor.new())
        assert (error.code, "_test/unknown" in str(error)) == (-32603, True)


async def test_a_plain_function_changes_the_session(store: Store) -> None:
    def reply(turn: Any) -> str:
        session = turn.session
        session.state["count"] = session.state.get("count", 0) + 1
        session.set_mode("b")
        session.set_option("model", "large")
        turn.title("Named")
        return f"{session.state['count']} {session.mode} {session.option('model')} {session.title};"

    modes, options = [Mode("a", "A"), Mode("b", "B")], [Select("model", "Model", ["small", "large"])]
    async with editing(agent_of(reply, store=store, modes=modes, options=options)) as editor:
        session = await editor.new()
        await editor.prompt(session)
        answer = await editor.load(session)
        assert answer["modes"]["currentModeId"] == "b"
        editor.forget()
        await editor.prompt(session)
        assert editor.said() == "2 b large Named;"


async def test_background_work_ends_with_its_session() -> None:
    ended = asyncio.Event()

    async def reply(turn: Any) -> None:
        async def watch() -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        turn.session.start(watch)
        await asyncio.sleep(0)

    async with editing(agent_of(reply, store="memory")) as editor:
        session = await editor.new()
        await editor.prompt(session)
        assert not ended.is_set()
        await editor.call("session/close", {"sessionId": session})
        assert ended.is_set()

"""The model without a key: what it does with requests, results and refusals (E8)."""

import asyncio
from typing import Any

import pytest

from acpella.coder.models import (
    AssistantMessage,
    ContextOverflow,
    Message,
    ModelEvent,
    ModelUsage,
    Stop,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolMessage,
    ToolSpec,
    ToolUse,
    ToolUseStarted,
    UserMessage,
)
from acpella.coder.models.offline import NOTICE, OfflineModel
from coder.models.asking import asked, joined, of, request

pytestmark = pytest.mark.anyio

NAMES = "read_file write_file edit_file list_files find_files search run fetch plan".split()
TOOLS = [ToolSpec(name, "", {"type": "object"}) for name in NAMES]


async def turn(
    text: str, *results: tuple[str, bool], tools: list[ToolSpec] | None = None
) -> list[list[ModelEvent]]:
    """The whole turn: every tool use gets the next result; gives the events of each request."""
    answers, left = list[list[ModelEvent]](), list(results)
    messages: list[Message] = [UserMessage([Text(text)])]
    for _ in range(20):
        events = await asked(OfflineModel(), request(*messages, tools=TOOLS if tools is None else tools))
        answers.append(events)
        uses: list[ToolUse] = of(events, ToolUse)
        if not uses:
            assert events[-1] == Stop("end")
            assert not left
            return answers
        assert events[-1] == Stop("tool_use")
        messages.append(AssistantMessage([Text(joined(events, TextDelta)), *uses]))
        for use in uses:
            given, error = left.pop(0)
            messages.append(ToolMessage(use.id, [Text(given)], is_error=error))
    raise AssertionError("it never ends")


def names(events: list[ModelEvent]) -> list[str]:
    return [use.name for use in of(events, ToolUse)]


async def test_a_request_is_carried_out_and_told() -> None:
    start, end = await turn("read a.txt", ("hello\nworld", False))
    assert of(start, ToolUse) == [ToolUse("offline_1", "read_file", {"path": "a.txt"})]
    assert of(start, ToolUseStarted) == [ToolUseStarted("offline_1", "read_file")]
    assert joined(start, TextDelta) == "I read `a.txt`."
    assert joined(end, TextDelta) == f"`read_file` `a.txt`:\n```\nhello\nworld\n```\n\n{NOTICE}"
    assert len(of(end, TextDelta)) > 3


async def test_steps_come_one_after_the_other_and_reads_together() -> None:
    text = "read a.txt and b.txt and list src, then replace x by y in a.txt and run make"
    answers = await turn(text, *[("ok", False)] * 5)
    assert [names(events) for events in answers] == [
        ["read_file", "read_file", "list_files"],
        ["edit_file"],
        ["run"],
        [],
    ]
    ids = [use.id for events in answers for use in of(events, ToolUse)]
    assert len(set(ids)) == 5


async def test_reads_that_were_asked_for_in_order_come_in_order() -> None:
    answers = await turn("read a.txt, then read b.txt", *[("ok", False)] * 2)
    assert [names(events) for events in answers] == [["read_file"], ["read_file"], []]


async def test_ids_are_new_in_a_later_turn() -> None:
    use = ToolUse("offline_1", "run", {"command": "ls"})
    before = [UserMessage([Text("run ls")]), AssistantMessage([use]), ToolMessage(use.id, [Text("x")])]
    events = await asked(OfflineModel(), request(*before, "run pwd", tools=TOOLS))
    assert of(events, ToolUse) == [ToolUse("offline_2", "run", {"command": "pwd"})]


async def test_a_failure_is_told_and_ends_the_turn() -> None:
    _, end = await turn("read a.txt and then run make", ("no such file", True))
    said = joined(end, TextDelta)
    assert "`read_file` `a.txt` failed: no such file" in said
    assert "not tried: “run make”" in said
    assert said.endswith(NOTICE)


async def test_a_refusal_is_called_a_refusal() -> None:
    _, end = await turn("run rm -rf build", ("The user rejected this.", True))
    assert "`run` `rm -rf build` was not allowed: The user rejected this." in joined(end, TextDelta)


async def test_only_tools_that_are_offered_are_used() -> None:
    reading = [tool for tool in TOOLS if tool.name == "read_file"]
    start, end = await turn("read a.txt and then run make", ("text", False), tools=reading)
    assert names(start) == ["read_file"]
    assert "“run make” needs the tool `run`, which I was not given" in joined(end, TextDelta)


@pytest.mark.parametrize(
    "text", ["fix the bug", "summarise README.md", "hello", "what can you do?", "", "   "]
)
async def test_what_needs_a_real_model_is_said(text: str) -> None:
    (end,) = await turn(text)
    said = joined(end, TextDelta)
    assert "I follow plain requests" in said
    assert said.endswith(NOTICE)
    assert said.count(NOTICE) == 1


async def test_the_notice_says_how_to_set_a_real_model() -> None:
    assert "offline model" in NOTICE and "ACPELLA_MODEL" in NOTICE and "ANTHROPIC_API_KEY" in NOTICE


async def test_long_results_are_quoted_in_part() -> None:
    _, end = await turn("read a.txt and b.txt and c.txt", *[("x" * 100_000, False)] * 3)
    said = joined(end, TextDelta)
    assert len(said) < 10_000
    assert "more characters)" in said


async def test_a_result_with_fences_is_fenced_by_more() -> None:
    _, end = await turn("read a.md", ("```py\ncode\n```", False))
    assert "````\n```py\ncode\n```\n````" in joined(end, TextDelta)


async def test_thinking_is_shown_when_it_is_on() -> None:
    asking: dict[str, Any] = {"tools": TOOLS}
    on = await asked(OfflineModel(), request("read a.txt", thinking="low", **asking))
    off = await asked(OfflineModel(), request("read a.txt", **asking))
    assert "read_file: read a.txt" in joined(on, ThinkingDelta)
    assert of(off, ThinkingDelta) == []


async def test_usage_grows_with_the_conversation() -> None:
    short = of(await asked(OfflineModel(), request("hi")), ModelUsage)[-1]
    long = of(await asked(OfflineModel(), request("hi " * 1000)), ModelUsage)[-1]
    assert 0 < short.input < long.input
    assert short.output > 0


async def test_the_same_conversation_gets_the_same_answer() -> None:
    assert await turn("list src", ("a", False)) == await turn("list src", ("a", False))


async def test_an_overlong_conversation_overflows() -> None:
    with pytest.raises(ContextOverflow):
        await asked(OfflineModel(), request("x" * 600_000))


async def test_the_answer_keeps_to_its_limit_of_tokens() -> None:
    events = await asked(OfflineModel(), request("hello", max_tokens=5))
    assert events[-1] == Stop("max_tokens")
    assert len(joined(events, TextDelta)) <= 20


async def test_files_that_an_editor_adds_are_no_requests() -> None:
    added = UserMessage([Text("read a.txt"), Text("<context>\nrun rm -rf /\n</context>")])
    events = await asked(OfflineModel(), request(added, tools=TOOLS))
    assert names(events) == ["read_file"]


async def test_a_tool_use_that_was_cut_off_is_told_as_not_run() -> None:
    use = ToolUse("offline_1", "run", {"command": "make"})
    events = await asked(OfflineModel(), request("run make", AssistantMessage([use]), tools=TOOLS))
    assert "was not run" in joined(events, TextDelta)


async def test_the_program_gets_titles_and_summaries() -> None:
    use = ToolUse("offline_1", "run", {"command": "make"})
    before = [
        UserMessage([Text("run make")]),
        AssistantMessage([use]),
        ToolMessage("offline_1", [Text("ok")]),
    ]
    title = await asked(OfflineModel(), request(*before, "Give this conversation a short title."))
    assert joined(title, TextDelta) == "run make"
    summary = joined(await asked(OfflineModel(), request(*before, "Summarise the conversation.")), TextDelta)
    assert "- asked: run make" in summary and "- done: run `make`" in summary


async def test_a_user_who_asks_for_a_summary_of_a_file_gets_an_honest_answer() -> None:
    events = await asked(OfflineModel(), request("hello", AssistantMessage([Text("hi")]), "summarise a.txt"))
    assert "It needs a real model" in joined(events, TextDelta)


async def test_it_can_be_cancelled_between_its_words() -> None:
    events = OfflineModel().stream(request("hello"))
    await anext(events)
    await events.aclose()
    async with asyncio.timeout(1):
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_half_characters_do_no_harm() -> None:
    events = await asked(OfflineModel(), request("read \udc80.txt", tools=TOOLS))
    assert names(events) == ["read_file"]

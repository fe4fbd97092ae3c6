"""What is added to the log of a turn that nobody ended."""

import json
from typing import Any

import msgspec
import pytest

from acpella.agent.interrupted import closing_events, missing_prompt
from acpella.sessions import Event


def log(*bodies: dict[str, Any] | str) -> list[Event]:
    return [
        Event(number, "turn", b'{"stopReason":"end_turn"}')
        if body == "turn"
        else Event(number, "update", json.dumps(body).encode())
        for number, body in enumerate(bodies, 1)
    ]


def call(name: str, **more: str) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": name, "title": name, **more}


PROMPT = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}}


def test_a_turn_that_ended_is_left_alone() -> None:
    assert closing_events(log(PROMPT, call("a"), "turn")) == []
    assert closing_events([]) == []


def test_what_happens_outside_a_turn_is_not_one() -> None:
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "by the way"}}
    assert closing_events(log(PROMPT, "turn", said)) == []


def test_an_open_turn_is_cancelled_and_its_tool_calls_have_failed() -> None:
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}
    begun = {"sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "in_progress"}
    added = closing_events(log("turn", PROMPT, call("a"), call("b"), done, begun, call("c", status="failed")))
    assert [(kind, json.loads(body)) for kind, body in added] == [
        ("update", {"sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "failed"}),
        ("turn", {"stopReason": "cancelled", "_meta": {"acpella": {"reason": "interrupted"}}}),
    ]
    assert closing_events([*log(PROMPT), Event(9, *added[-1])]) == []


IMAGE = {"type": "image", "mimeType": "image/png", "data": "AAAA"}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def user(content: dict[str, str]) -> dict[str, Any]:
    return {"sessionUpdate": "user_message_chunk", "content": content}


def missing(events: list[Event], *content: dict[str, str]) -> list[dict[str, Any]]:
    added = missing_prompt(events, [msgspec.Raw(json.dumps(block).encode()) for block in content])
    assert {kind for kind, _ in added} <= {"update"}
    return [json.loads(body) for _, body in added]


@pytest.mark.parametrize("before", [log(), log(user(text("other")), "turn")], ids=["no turn", "another turn"])
def test_a_prompt_that_was_not_written_is_added(before: list[Event]) -> None:
    assert missing(before, text("hi"), IMAGE) == [user(text("hi")), user(IMAGE)]


@pytest.mark.parametrize("end", [(), ("turn",)], ids=["open", "ended without an answer"])
def test_a_prompt_that_was_written_is_not_added_again(end: tuple[str, ...]) -> None:
    """Texts that follow each other may be one in the log."""
    events = log(user(text("other")), "turn", user(text("hi there")), user(IMAGE), call("a"), *end)
    assert missing(events, text("hi "), text("there"), IMAGE) == []

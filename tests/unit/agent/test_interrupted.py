"""What is added to the log of a turn that nobody ended."""

import json
from typing import Any

from acpella.agent.interrupted import closing_events
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

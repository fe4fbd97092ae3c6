"""A2, C25: forms and pages of an agent, answered by the client."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripting import Script

from acpella.client import check_form, connect, defaults_of
from acpella.schema import ElicitationDeclineAction, ElicitationFormMode, ElicitationUrlMode

pytestmark = pytest.mark.anyio

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "default": "me"},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "weight": {"type": "number"},
        "sure": {"type": "boolean", "default": True},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
        "odd": {"type": "hologram"},
    },
    "required": ["name"],
}

ASKS = """
def prompt(request):
    for params in json.loads(sys.argv[1]):
        got = ask("elicitation/create", {"sessionId": SESSION, "message": "Tell me", **params})
        say(json.dumps(got.get("result") or got["error"]["code"]) + "\\n")
    for id in json.loads(sys.argv[2]):
        send({"method": "elicitation/complete", "params": {"elicitationId": id}})
    return "end_turn"
serve(prompt)
"""

PAGE = {"mode": "url", "elicitationId": "e1", "url": "https://example.org/login"}


def asking(script: Script, *questions: dict[str, Any], complete: list[str] | None = None) -> list[str]:
    return script(ASKS, json.dumps(questions), json.dumps(complete or []))


@pytest.mark.parametrize(
    "reply, answer",
    [
        ({"name": "Ann", "age": 3}, {"action": "accept", "content": {"name": "Ann", "age": 3}}),
        (False, {"action": "decline"}),
        (None, {"action": "cancel"}),
        (ElicitationDeclineAction(), {"action": "decline"}),
        ({"name": "A"}, {"action": "cancel"}),  # R-364: it does not fit the form, so it is not sent
        ({}, {"action": "cancel"}),
    ],
)
async def test_a_form_is_answered(script: Script, project: Path, reply: Any, answer: Any) -> None:
    seen: list[Any] = []

    async def fill(request: Any) -> Any:
        seen.append(request)
        return reply

    command = asking(script, {"mode": "form", "requestedSchema": FORM})
    async with asyncio.timeout(20), connect(command, on_elicit=fill) as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert json.loads(result.text) == answer
    assert isinstance(seen[0], ElicitationFormMode)
    assert defaults_of(seen[0]) == {"name": "me", "sure": True}


async def test_a_page_is_consented_to_and_its_end_is_heard(script: Script, project: Path) -> None:
    """R-367, R-369: consent is not completion; ends of unknown pages are ignored, each is told once"""
    done: list[str] = []

    async def consent(request: Any) -> Any:
        assert isinstance(request, ElicitationUrlMode)
        return True

    command = asking(script, PAGE, complete=["unknown", "e1", "e1"])
    agent = connect(command, on_elicit=consent, on_elicit_complete=done.append)
    async with asyncio.timeout(20), agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert json.loads(result.text) == {"action": "accept"}
    assert done == ["e1"]


async def test_modes_that_nobody_knows_are_refused(script: Script, project: Path) -> None:
    """R-360"""

    async def never(request: Any) -> Any:
        raise AssertionError("nobody can show this")

    command = asking(script, {"mode": "telepathy"}, {})
    async with asyncio.timeout(20), connect(command, on_elicit=never) as agent:
        result = await (await agent.new_session(project)).prompt("hi")
    assert result.text.split() == ["-32602", "-32602"]


async def test_a_cancelled_turn_withdraws_the_question(script: Script, project: Path) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def think(request: Any) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    command = asking(script, {"mode": "form", "requestedSchema": FORM})
    async with asyncio.timeout(20), connect(command, on_elicit=think) as agent:
        async with (await agent.new_session(project)).prompt("hi") as turn:
            await asked.wait()
            result = await turn.cancel()
        await withdrawn.wait()
    assert json.loads(result.text) == {"action": "cancel"}


@pytest.mark.parametrize(
    "content, wrong",
    [
        ({"name": "me"}, []),
        ({"name": "me", "odd": object()}, []),
        ({}, ["name is needed"]),
        ({"name": 5}, ["name must be text"]),
        ({"name": "me", "colour": "green"}, ["colour must be one of: red, blue"]),
        ({"name": "me", "size": "m"}, ["size must be one of: s"]),
        ({"name": "me", "age": 3.5}, ["age must be a whole number"]),
        ({"name": "me", "age": True}, ["age must be a whole number"]),
        ({"name": "me", "age": 200}, ["age must be at most 150"]),
        ({"name": "me", "weight": "much"}, ["weight must be a number"]),
        ({"name": "me", "sure": "yes"}, ["sure must be yes or no"]),
        ({"name": "me", "tags": ["a", "b"]}, ["tags must be at most 1 choices"]),
        ({"name": "me", "tags": ["c"]}, ["tags must be some of: a, b"]),
        ({"name": "me", "tags": "a"}, ["tags must be a list"]),
        ({"name": "me", "else": 1}, ["there is no field else"]),
    ],
)
async def test_a_form_is_checked(content: Any, wrong: list[str]) -> None:
    from acpella.schema import ElicitationSchema, decode

    assert check_form(decode(ElicitationSchema, json.dumps(FORM).encode()), content) == wrong

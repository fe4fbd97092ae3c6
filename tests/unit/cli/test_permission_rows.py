"""What a permission question shows: everything that it is about, also what this version does not know."""

import asyncio
import json
from typing import Any

import pytest

from acpella.cli.terminal.permission_kinds import kind_note
from acpella.cli.terminal.permission_rows import call_rows, option_rows
from acpella.cli.terminal.rows import plain
from acpella.client import Permissions
from acpella.client.permission_keys import span_of
from acpella.schema import RequestPermissionRequest, decode

pytestmark = pytest.mark.anyio


def asked(call: dict[str, Any], *options: dict[str, Any]) -> RequestPermissionRequest:
    fields = {"sessionId": "s", "toolCall": {"toolCallId": "c", **call}, "options": options}
    return decode(RequestPermissionRequest, json.dumps(fields).encode())


def test_content_of_an_unknown_kind_is_shown_whole() -> None:
    """It was left out, or was `[hologram]`; it may be what the answer is about."""
    blob = {"uri": "file:///x.bin", "blob": "AAAA"}
    content = [
        {"type": "future", "text": "one"},
        {"type": "content", "content": {"type": "hologram", "x": {"y": "two"}}},
        {"type": "content", "content": {"type": "resource", "resource": blob}},
    ]
    text = "\n".join(
        plain(row) for row in call_rows(asked({"title": "Do it", "content": content}).tool_call, "/")
    )
    assert '"one"' in text and '"two"' in text
    assert "x.bin" in text and "not shown" in text


NEW = {"optionId": "p", "name": "Allow in this project", "kind": "allow_project\x1b"}
ONCE = {"optionId": "a", "name": "Allow", "kind": "allow_once"}


async def test_a_question_with_an_option_of_a_newer_agent_is_asked() -> None:
    """All of it was refused, though two of its options were known."""
    request = asked({"title": "Make", "rawInput": {"command": "make"}}, NEW, ONCE)
    text = "\n".join(plain(row) for row in option_rows(request, {}))
    assert "acpella does not know what 'allow_project" in text and "\x1b" not in text
    assert [span_of(option, request.tool_call) for option in request.options] == ["once", "once"]
    chosen = await Permissions("ask", ask=lambda request: "p").decide("agent", request)
    assert chosen is not None and chosen.option_id == "p"


async def test_no_policy_chooses_an_option_of_an_unknown_kind() -> None:
    request = asked({"title": "Make", "rawInput": {"command": "make"}}, {**NEW, "kind": "allow_always_all"})
    for policy in ("allow-all", "deny-all"):
        async with asyncio.timeout(10):
            assert await Permissions(policy).decide("agent", request) is None


def test_a_known_kind_has_its_own_words() -> None:
    assert kind_note("Go", "allow_once") == "allows it once"

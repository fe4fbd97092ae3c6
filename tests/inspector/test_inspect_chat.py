"""`acpella inspect --chat`: a conversation beside its messages, with a client that can be made poorer."""

import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inspector_pages import OpenPage, check_access, run_program

from acpella.cli import main
from acpella.web.shared.switches import names_of, switch_of, switches_of, without

AGENT = """
import json, sys

able, asked = {}, None

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def say(text):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": "s", "update": update})

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        able = message["params"]["clientCapabilities"]
        send(id=number, result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    elif method in ("session/new", "session/load"):
        send(id=number, result={"sessionId": "s"} if method == "session/new" else {})
    elif method == "session/prompt":
        say("commands: " + ("yes" if able.get("terminal") else "no"))
        asked = number
        params = {"sessionId": "s", "command": "echo", "args": ["from", "the", "terminal"]}
        send(id="t", method="terminal/create", params=params)
    elif number == "t":
        say(", refused" if "error" in message else ", taken")
        send(id=asked, result={"stopReason": "end_turn"})
"""


def test_what_is_switched_off_is_not_declared() -> None:
    able: dict[str, Any] = {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "elicitation": {"form": {}, "url": {}},
    }
    assert without(able, frozenset()) == able
    assert without(able, names_of(["fs.writeTextFile", "terminal", "elicitation.url"])) == {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},
    }
    # an empty object would say that forms are offered
    assert "elicitation" not in without(able, names_of(["elicitation.form", "elicitation.url"]))
    assert [
        one["name"] for one in switches_of({"terminal": True, "fs": {"writeTextFile": False}}, frozenset())
    ] == ["terminal"]
    with pytest.raises(ValueError, match=r"colour is not one of fs\.readTextFile"):
        names_of(["colour"])


def test_an_agent_may_only_ask_for_what_was_declared() -> None:
    assert switch_of("fs/write_text_file", None) == "fs.writeTextFile"
    assert switch_of("terminal/output", None) == "terminal"
    assert switch_of("session/request_permission", None) is None
    assert switch_of("elicitation/create", msgspec.Raw(b'{"mode": "url"}')) == "elicitation.url"
    assert switch_of("elicitation/create", msgspec.Raw(b'{"mode": 3}')) == "elicitation.form"


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    tmp_path = tmp_path_factory.mktemp("chat")
    (tmp_path / "agent.py").write_text(AGENT)
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": ""}
    words = ["inspect", "--chat", "--no-open", "-o", str(tmp_path / "talk.jsonl")]
    with run_program(*words, "--", str(tmp_path / "agent.py"), env=environment, cwd=tmp_path) as link:
        yield link


def test_nobody_else_may_show_the_page_in_a_frame(link: str) -> None:
    home = link.partition("/inspect")[0]
    request = urllib.request.Request(home + "/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'; frame-src 'self'" in policy
    assert "unsafe" not in policy and "trusted-types 'none'" in policy


def test_a_poorer_client_is_declared_and_the_messages_show_it(link: str, open_page: OpenPage) -> None:
    from playwright.sync_api import expect

    page = open_page(link, viewport={"width": 1440, "height": 900})
    chat = page.frame_locator("[data-chat]")
    prompt = chat.get_by_label("Prompt", exact=True)
    prompt.fill("hello")
    prompt.press("Enter")
    expect(chat.get_by_role("log")).to_contain_text("commands: yes, taken", timeout=60_000)
    page.wait_for_selector("[data-hold]")  # messages of this conversation can be held
    page.fill("[data-filter]", "method:terminal/create kind:req")
    page.wait_for_selector("[data-row]")

    # the agent is started again, and the conversation goes on
    chat.locator("[data-client] summary").click()
    chat.get_by_label("Run commands").uncheck()
    expect(chat.get_by_role("log")).to_contain_text("a client without terminal", timeout=60_000)
    prompt.fill("again")
    prompt.press("Enter")
    expect(chat.get_by_role("log")).to_contain_text("commands: no, refused", timeout=60_000)
    page.fill("[data-filter]", "method:initialize kind:req c:2")
    page.wait_for_selector("[data-row]")
    page.click("[data-row]")
    expect(page.locator("[data-detail] .tree")).to_contain_text("false", timeout=60_000)
    page.fill("[data-filter]", "bad: c:2")  # asked for, although it was not offered
    page.wait_for_selector("[data-row]")
    for frame in page.frames:
        check_access(frame)
    if shots := os.environ.get("ACPELLA_SHOTS"):
        page.fill("[data-filter]", "")
        page.screenshot(path=f"{shots}/chat-light.png")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=f"{shots}/chat-dark.png")
    # alone, the conversation leads to the inspector, where nobody logs in again
    page.set_viewport_size({"width": 900, "height": 800})
    page.click("text=Conversation")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="hello").first.click()
    with page.context.expect_page() as opened:
        page.click("text=Open inspector")
    opened.value.wait_for_selector("[data-row]")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--chat"], "say which agent to talk with"),
        (["--without", "terminal", "--", "x"], "--without goes with --chat"),
        (["--chat", "--without", "colour", "--", "x"], "colour is not one of"),
        (["--chat", "--cwd", "/nowhere", "--", "x"], "/nowhere is not a directory"),
        (["--chat", "--", "no-such-program"], "no-such-program: command not found"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    words: list[str],
    said: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    try:
        code: object = main(["inspect", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert said in capfd.readouterr().err

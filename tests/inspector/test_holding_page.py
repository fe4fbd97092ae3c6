"""Holding and changing messages in the inspector's page, in a real browser, by keyboard."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inspector_pages import OpenPage, check_access

from acpella.inspector.page import View
from acpella.inspector.sources import Source
from acpella.server.access.gate import Refusal
from acpella.server.http.requests import HttpRequest

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    heard = {"heard": message["method"], "params": message.get("params")}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": heard}), flush=True)
"""
HOSTILE = "<img src=x onerror=\"document.title='owned'\">\u202e</textarea><script>1</script>"


class Wire:
    """A client of plain lines before `acpella inspect`."""

    def __init__(self, folder: Path) -> None:
        (folder / "echo.py").write_text(ECHO)
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_RUNTIME_DIR": ""}
        command = [sys.executable, "-m", "acpella", "inspect", "--", str(folder / "echo.py")]
        self.tap = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment
        )
        self.ask(0, "hello")
        assert self.line()["result"]["heard"] == "hello"

    def ask(self, number: int, method: str) -> None:
        assert self.tap.stdin is not None
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {"path": HOSTILE}}
        self.tap.stdin.write(json.dumps(message) + "\n")
        self.tap.stdin.flush()

    def line(self) -> dict[str, Any]:
        assert self.tap.stdout is not None
        return json.loads(self.tap.stdout.readline())

    def look(self) -> tuple["subprocess.Popen[str]", str]:
        """`acpella inspect` alone: a page on what runs now."""
        viewer = subprocess.Popen(
            [sys.executable, "-m", "acpella", "inspect", "--no-open"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        assert viewer.stderr is not None
        for line in viewer.stderr:
            if link := re.search(r"http\S+", line):
                return viewer, link.group()
        raise AssertionError("the viewer ended")

    def close(self) -> None:
        assert self.tap.stdin is not None and self.tap.stdout is not None
        self.tap.stdin.close()
        self.tap.wait(30)
        self.tap.stdout.close()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    made = Wire(tmp_path)
    yield made
    made.close()


def test_a_message_is_held_edited_and_released_when_the_viewer_dies(wire: Wire, open_page: OpenPage) -> None:
    viewer, link = wire.look()
    try:
        # the server is gone at the end; the browser says so itself
        page = open_page(link, may_report="ERR_CONNECTION|Failed to load", color_scheme="dark")
        page.wait_for_selector("[data-row]")
        page.wait_for_selector("[data-hold]")
        assert page.locator("[data-holding]").count() == 0  # never by default
        page.keyboard.press("h")
        page.wait_for_selector("[data-hold-filter]:focus")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("method:stop/* dir:out")
        page.keyboard.press("Enter")
        page.wait_for_selector(".red-bar")
        wire.ask(1, "stop/here")
        page.wait_for_selector("[data-held='1']")
        assert "U+202E" in page.inner_text("[data-held='1']")
        page.click("[data-held='1'] >> text=Edit")
        text = page.input_value("[data-editor]")
        assert json.loads(text)["params"]["path"] == HOSTILE
        check_access(page)
        if shots := os.environ.get("ACPELLA_SHOTS"):
            page.screenshot(path=f"{shots}/hold-dark.png")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": 390, "height": 844})
            page.screenshot(path=f"{shots}/hold-phone.png")
            page.set_viewport_size({"width": 1280, "height": 800})
            page.screenshot(path=f"{shots}/hold-light.png")
        page.fill("[data-editor]", text.replace("stop/here", "go/there"))
        page.keyboard.press("Control+Enter")
        assert wire.line()["result"]["heard"] == "go/there"
        wire.ask(2, "stop/again")
        page.wait_for_selector("[data-held='2']")
        page.click("[data-held='2'] >> text=Answer")
        page.fill("[data-editor]", '{"mine": true}')
        page.click("text=Send this as the result")
        assert wire.line() == {"jsonrpc": "2.0", "id": 2, "result": {"mine": True}}
        wire.ask(3, "stop/for-ever")
        page.wait_for_selector("[data-held='3']")
        viewer.kill()
        viewer.wait(30)
        assert wire.line()["result"]["heard"] == "stop/for-ever"
        assert page.title() == "Inspector · acpella"
    finally:
        viewer.kill()
        viewer.wait(30)
        assert viewer.stderr is not None
        viewer.stderr.close()


@pytest.mark.anyio
async def test_the_end_of_a_conversation_is_no_error(tmp_path: Path) -> None:
    """A page may ask what is held when the program has just ended; browsers show a refusal as an error."""
    file = tmp_path / "talk.jsonl"
    file.write_text('{"acpella":2}\n', encoding="utf-8")
    view = View(Source("talk", "talk", str(file), 0.0), live=False)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/inspect/hold",
        "headers": [],
        "query_string": b"after=3",
    }
    try:
        assert await view.hold(HttpRequest(scope, never, never)) == {
            "rule": None,
            "held": [],
            "last": None,
            "changes": 0,
            "ended": True,
        }
        with pytest.raises(Refusal):
            await view.hold(HttpRequest({**scope, "method": "POST"}, never, never))
    finally:
        view.close()


async def never(*_: Any) -> Any:
    raise AssertionError("nothing is read or sent")

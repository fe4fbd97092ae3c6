"""The inspector for every reader: no violations of accessibility in any view, and by keyboard alone."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"


def lines() -> Iterator[dict[str, Any]]:
    """A turn with a tool call, a permission, a stream, and a finding."""
    yield {"acpella": 2, "id": "R", "started": "2026-11-16T06:00:00Z", "agent": {"command": ["agent"]}}
    messages: list[tuple[float, str, dict[str, Any]]] = []

    def say(at: float, direction: str, **message: Any) -> None:
        messages.append((at, direction, message))

    def update(at: float, **fields: Any) -> None:
        say(at, "in", method="session/update", params={"sessionId": "s1", "update": fields})

    prompt = [{"type": "text", "text": "go"}]
    say(0.1, "out", id=1, method="session/prompt", params={"sessionId": "s1", "prompt": prompt})
    update(0.2, sessionUpdate="tool_call", toolCallId="c1", title="Edit a.txt", kind="editt")
    asked: dict[str, Any] = {"sessionId": "s1", "toolCall": {"toolCallId": "c1"}, "options": []}
    say(0.3, "in", id=7, method="session/request_permission", params=asked)
    say(4.0, "out", id=7, result={"outcome": {"outcome": "cancelled"}})
    update(4.1, sessionUpdate="tool_call_update", toolCallId="c1", status="failed")
    for number in range(5):
        content = {"type": "text", "text": f"word {number} "}
        update(6 + number / 10, sessionUpdate="agent_message_chunk", content=content)
    say(7.0, "in", id=1, result={"stopReason": "end_turn"})
    for n, (at, direction, message) in enumerate(messages, 1):
        yield {"n": n, "t": at, "dir": direction, "msg": {"jsonrpc": "2.0", **message}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a recording."""
    path = tmp_path_factory.mktemp("read") / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines()), encoding="utf-8")
    program = subprocess.Popen(
        [sys.executable, "-m", "acpella", "inspect", str(path), "--no-open"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    found = re.search(r"http\S+", program.stderr.readline())
    assert found is not None
    yield found.group()
    program.terminate()
    program.wait(30)
    program.stderr.close()


@pytest.fixture(scope="module")
def page(server: str) -> "Iterator[Page]":
    if not os.path.exists(CHROMIUM):
        pytest.skip("chromium is missing: apt-get install chromium")
    if not AXE.exists():
        pytest.skip("axe-core is not installed; `make web` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM)
        opened = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        opened.set_default_timeout(60_000)
        opened.context.add_init_script(path=AXE)  # the page itself lets no script in but its own
        opened.goto(server)
        opened.wait_for_selector("[data-row]")
        opened.wait_for_selector(".lanes rect")
        yield opened
        browser.close()


def violations(page: "Page") -> list[str]:
    return page.evaluate(
        "axe.run().then((result) => result.violations.map((v) => v.id + ': ' + v.nodes[0].html))"
    )


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_breaks_the_rules_of_accessibility(
    page: "Page", scheme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.keyboard.press("Escape")  # nothing is selected
    page.wait_for_selector("[data-detail]", state="detached")
    assert violations(page) == []
    page.click("[data-row='3']")
    page.wait_for_selector("[data-detail] .tree")
    page.click("[data-detail] .key:has-text('kind')")
    assert violations(page) == []
    page.get_by_role("tab", name="Raw").click()
    assert violations(page) == []
    page.get_by_role("tab", name="Tree").click()
    page.keyboard.press("?")
    page.wait_for_selector("[role=dialog]")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.fill("[data-filter]", "colour:red")
    page.wait_for_selector(".filter-error")
    assert violations(page) == []
    page.fill("[data-filter]", "-kind:ntf size>1 bad:")
    page.keyboard.press("Enter")
    assert page.locator("[data-piece]").count() == 3
    assert violations(page) == []
    for word in ("-kind:ntf", "size>1", "bad:"):
        page.get_by_role("button", name=f"Remove {word}").click()
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # nothing sticks out


def test_the_words_of_a_filter_are_pieces_that_one_takes_away(page: "Page") -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 800})
    keys, pieces, rows = page.keyboard, page.locator("[data-piece]"), page.locator("[data-row]")
    keys.press("Escape")
    every = page.locator("[data-counts]").text_content()
    keys.press("f")
    keys.type('kind:req "session/prompt"')
    keys.press("Enter")
    expect(pieces).to_have_text(["kind:req", '"session/prompt"'])
    expect(rows).to_have_count(1)
    keys.press("f")
    expect(page.locator("[data-filter]")).to_have_value("")
    keys.press("Backspace")  # the last one is text again
    expect(page.locator("[data-filter]")).to_have_value('"session/prompt"')
    keys.press("ControlOrMeta+a")
    keys.press("Backspace")
    expect(rows).to_have_count(2)
    slow = page.get_by_role("button", name="Slow")
    slow.click()
    expect(pieces).to_have_text(["kind:req", "ms>500"])
    expect(slow).to_have_attribute("aria-pressed", "true")
    slow.click()
    page.get_by_role("button", name="Remove kind:req").click()
    expect(pieces).to_have_count(0)
    expect(page.locator("[data-counts]")).to_have_text(every or "")
    keys.press("Escape")


def test_everything_goes_by_keyboard_alone(page: "Page") -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 800})
    keys, detail = page.keyboard, page.locator("[data-detail]")
    keys.press("Escape")
    keys.press("f")
    keys.type("kind:req")
    expect(page.locator("[data-row]")).to_have_count(2)
    keys.press("Enter")  # leaves the input
    keys.press("g")
    expect(detail).to_have_attribute("data-detail", "2")
    keys.press("j")
    expect(detail).to_have_attribute("data-detail", "4")
    keys.press("k")
    keys.press("]")  # the answer, although the filter does not show it
    expect(detail).to_have_attribute("data-detail", "12")
    keys.press("f")
    keys.press("Backspace")  # what was settled is text again
    keys.press("ControlOrMeta+a")
    keys.press("Delete")
    keys.press("Escape")
    expect(page.locator("[data-row]")).to_have_count(8)  # five pieces are one row
    keys.press("z")
    expect(page.locator("[data-row]")).to_have_count(12)
    keys.press("z")
    keys.press("Shift+G")
    expect(detail).to_have_attribute("data-detail", "12")
    for _ in range(40):  # the tabs of the message can be reached, too
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Raw":
            break
    keys.press("Enter")
    expect(page.get_by_role("tab", name="Raw")).to_have_attribute("aria-selected", "true")
    keys.press("Escape")
    expect(detail).to_have_count(0)


def test_pieces_of_a_stream_are_read_as_one_text(page: "Page") -> None:
    from playwright.sync_api import expect

    row = page.locator("[data-row]", has_text="agent_message_chunk")
    expect(row).to_contain_text("word 0 word 1 word 2")
    expect(row.locator(".cnt")).to_have_text("×5")

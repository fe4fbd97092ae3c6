"""For every reader: no violations of accessibility, by keyboard alone, on a phone, in light and dark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_driver import PageDriver
from playwright.sync_api import Page, expect
from web_server import WebServer

OpenPage = Callable[..., PageDriver]

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """What axe-core finds, told so that one knows where to look."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; `make web` installs it")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))  # the policy of the page does not let a script in
    found: Any = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_breaks_the_rules_of_accessibility(
    open_page: OpenPage, shower: WebServer, scheme: str
) -> None:
    outside = open_page(shower, "", color_scheme=scheme)
    outside.page.goto(shower.url)
    expect(outside.page.get_by_role("heading", name="Log in")).to_be_visible()
    assert violations(outside.page) == []
    driver = open_page(shower, color_scheme=scheme)
    page = driver.page
    assert violations(page) == []
    driver.say("several markdown tools foreign things")
    driver.wait_done()
    assert violations(page) == []
    driver.say("ask 21")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    driver.answer("Reject")
    driver.wait_done(2)
    driver.say("form")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Decline").click(delay=500)
    driver.wait_done(3)
    for opening in ("Control+k", "?"):
        if opening == "?":
            page.locator(".log").focus()
        page.keyboard.press(opening)
        expect(page.get_by_role("dialog")).to_be_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    for words, label in (
        ("rename", "Rename the session"),
        ("invite", "Invite somebody"),
        ("review", "Changes of this session"),
        ("delete the session", "Delete the session"),
    ):
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name=label)).to_be_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_everything_goes_by_keyboard_alone(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    page, keys = driver.page, driver.page.keyboard
    expect(driver.composer).to_be_focused()
    keys.type("ask 22")
    keys.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[data-reject]")).to_be_focused()
    expect(dialog.locator(".answer").first).to_have_attribute("aria-disabled", "false")
    keys.press("ArrowUp")
    keys.press("1")
    driver.wait_done()
    expect(driver.log).to_contain_text("allowed: True")
    expect(driver.composer).to_be_focused()  # where it was before the question
    keys.press("Control+k")
    keys.type("rename")
    keys.press("Enter")
    expect(page.get_by_label("Name of the session")).to_be_focused()
    keys.press("Control+a")
    keys.type("By keys")
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("By keys")
    page.locator(".log").focus()
    keys.press("?")
    expect(dialog).to_contain_text("These keys")
    keys.press("Escape")
    keys.press("g")
    keys.press("p")
    expect(page.get_by_role("complementary")).to_have_count(0)
    keys.press("g")
    keys.press("p")
    keys.press("i")
    expect(driver.composer).to_be_focused()
    keys.press("ArrowUp")
    expect(driver.composer).to_have_value("ask 22")


FOCUS_AFTER_KEY = """([key, ctrlKey]) => {
  const options = { key, ctrlKey, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
  return Promise.resolve().then(() => {
    const at = document.activeElement;
    return at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.closest("dialog")?.ariaLabel;
  });
}"""


def test_keys_of_a_fast_typist_go_where_they_belong(open_page: OpenPage, shower: WebServer) -> None:
    """What a key opens has the focus before another key can come: no frame is drawn in between."""
    driver = open_page(shower)
    page, keys = driver.page, driver.page.keyboard

    def focus_after(key: str, *, ctrl: bool = False) -> str:
        return page.evaluate(FOCUS_AFTER_KEY, [key, ctrl])

    expect(driver.composer).to_be_focused()
    driver.composer.fill("hello")
    assert focus_after("Enter") == "Prompt"  # it begins a session
    keys.type("written meanwhile")
    driver.wait_done()
    expect(driver.composer).to_have_value("written meanwhile")
    driver.composer.fill("")
    assert focus_after("k", ctrl=True) == "What to do"
    keys.type("rename")
    assert focus_after("Enter") == "Name of the session"
    keys.press("Escape")
    expect(driver.composer).to_be_focused()  # the palette opened it, and is gone
    page.locator(".log").focus()
    assert focus_after("?") == "Keys"
    keys.press("Escape")
    assert focus_after("g") == "Conversation"
    assert focus_after("c") == "Prompt"
    keys.type("first")
    assert focus_after("Enter") == "Prompt"
    keys.type("second")
    keys.press("Enter")  # perhaps before there is a session
    driver.wait_done(2)
    expect(driver.log.locator(".says")).to_contain_text(["You said: first", "You said: second"])


def test_a_file_can_be_completed_before_the_list_is_there(
    open_page: OpenPage, shower: WebServer, project: Path
) -> None:
    (project / "unmistakable.txt").write_text("x", encoding="utf-8")
    driver = open_page(shower)
    driver.composer.fill("first")
    driver.composer.press("End")
    driver.page.keyboard.type(" @unmist")
    driver.page.keyboard.press("Tab")
    expect(driver.composer).to_have_value("first @unmistakable.txt ")
    expect(driver.composer).to_be_focused()
    driver.page.keyboard.type("then @nothing-is-called-that")
    driver.page.keyboard.press("Enter")
    driver.wait_done()
    expect(driver.log).to_contain_text("then @nothing-is-called-that")


def test_a_phone_has_one_column_and_nothing_sticks_out(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = driver.page
    driver.say("several tools wide long")
    driver.wait_done()

    def sticks_out() -> bool:
        return page.evaluate("document.documentElement.scrollWidth > innerWidth")

    assert not sticks_out()
    expect(page.locator(".plan-strip")).to_contain_text("2 of 3")
    page.get_by_role("button", name="Plan").tap()
    expect(page.locator(".plan li").first).to_be_visible()
    page.get_by_role("button", name="Wire").tap()
    expect(page.locator(".mini").first).to_be_visible()
    page.get_by_role("button", name="Chat").tap()
    page.get_by_role("button", name="Sessions").tap()
    expect(page.locator(".session").first).to_be_visible()
    page.locator(".session").first.tap()
    expect(page.locator(".side-box.open")).to_have_count(0)
    driver.say("ask 23")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert not sticks_out()
    box = dialog.bounding_box()
    assert box is not None and box["y"] + box["height"] == pytest.approx(844, abs=2)  # a sheet at the bottom
    driver.answer("Reject")
    driver.wait_done(2)

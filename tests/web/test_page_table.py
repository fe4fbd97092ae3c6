"""The same flows with agents of three kinds: built in, on the official Python SDK, and a hosted command."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from breakable_link import breakable_link
from page_driver import PageDriver
from playwright.sync_api import expect
from web_server import WebServer

OpenPage = Callable[..., PageDriver]

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fccfc0f01f"
    "0005050201a57f3a5b0000000049454e44ae426082"
)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@dataclass(frozen=True)
class Words:
    """What one says to an agent so that it does something; `{}` is a name that was not used before."""

    ask: str
    wait: str
    diff: str
    terminal: str
    mode: tuple[str, str]
    option: tuple[str, str]
    always: str = "Always allow"
    form: str = ""
    asks: bool = False
    """Whether it asks before it changes or runs anything."""


AGENTS = {
    "coder": Words(
        ask="create {}.txt with one line",
        wait="run sleep 600",
        diff="create {}.txt with one line",
        terminal="run printf here",
        mode=("Mode: Full", "Read only"),
        option=("Thinking: Off", "High"),
        asks=True,
    ),
    "official": Words(
        ask="ask {}",
        wait="wait",
        diff="diff",
        terminal="terminal printf here",
        mode=("Mode: Code", "Plan"),
        option=("Depth: Low", "High"),
        form="form",
    ),
    "shower": Words(
        ask="ask {}",
        wait="stubborn",
        diff="tools",
        terminal="shell printf here",
        mode=("Mode: Code", "Plan"),
        option=("Model: Small", "Large"),
        form="form",
    ),
}


@dataclass
class Cell:
    """One flow with one agent."""

    name: str
    server: WebServer
    words: Words
    open_page: OpenPage

    def say(self, driver: PageDriver, what: str, *, flow: str = "", agree: bool = True) -> None:
        driver.say(what.format(f"{flow}-{self.name}"))
        if self.words.asks and agree:
            driver.answer("Allow")

    def begin_long_turn(self, driver: PageDriver) -> None:
        self.say(driver, self.words.wait)
        expect(driver.page.get_by_role("button", name="Stop the agent")).to_be_visible()
        expect(driver.log.locator(".says").first).to_be_visible()

    def stop(self, driver: PageDriver, turns: int = 1) -> None:
        driver.page.get_by_role("button", name="Stop the agent").click()
        driver.wait_done(turns)
        expect(driver.log.locator(".turn-end").last).to_contain_text("stopped")


def prompt(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    driver.say("hello there")
    driver.wait_done()
    expect(driver.log.locator(".by b")).to_have_text("mira")
    expect(driver.log.locator(".says").last).not_to_be_empty()


def permission_allowed(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.ask, flow="allowed", agree=False)
    driver.answer("Allow")
    driver.wait_done()
    expect(driver.log).to_contain_text(re.compile("Allowed once by mira"))


def permission_rejected(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.ask, flow="rejected", agree=False)
    driver.answer("Reject")
    driver.wait_done()
    expect(driver.log).to_contain_text(re.compile("Rejected by mira"))


def permission_always(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.ask, flow="always", agree=False)
    driver.answer(cell.words.always)
    driver.wait_done()
    cell.say(driver, cell.words.ask, flow="always", agree=False)
    driver.wait_done(2)  # nobody was asked


def cancel(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.begin_long_turn(driver)
    cell.stop(driver)


def diff(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.diff, flow="diff")
    driver.wait_done()
    expect(driver.log.locator('.tool[data-kind="edit"] tr.a').first).to_be_visible()
    expect(driver.page.get_by_role("complementary")).to_contain_text(".txt")


def terminal(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.terminal)
    driver.wait_done()
    run = driver.log.locator('.tool[data-kind="execute"]').first
    expect(run.locator(".tool-end")).to_contain_text("exit 0")
    if run.locator(".term").count() == 0:
        run.locator("summary").first.click()
    expect(run.locator(".term")).to_contain_text("here")


def image(cell: Cell) -> None:
    driver = cell.open_page(cell.server)
    with driver.page.expect_file_chooser() as chosen:
        driver.page.get_by_role("button", name="Attach an image").click()
    chosen.value.set_files({"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL})
    expect(driver.page.locator(".in-composer .shot")).to_contain_text("dot.png")
    driver.say("what is this")
    driver.wait_done()
    expect(driver.log.locator(".shot img")).to_be_visible()
    expect(driver.log.locator(".shot")).to_contain_text("1 × 1")


def mode(cell: Cell) -> None:
    _choose(cell, *cell.words.mode)


def option(cell: Cell) -> None:
    _choose(cell, *cell.words.option)


def _choose(cell: Cell, before: str, after: str) -> None:
    driver = cell.open_page(cell.server)
    driver.say("hello")
    driver.wait_done()
    driver.page.get_by_role("button", name=before).click()
    driver.page.get_by_role("option", name=after).click()
    expect(driver.page.get_by_role("button", name=f"{before.split(':')[0]}: {after}")).to_be_visible()


def form(cell: Cell) -> None:
    if not cell.words.form:
        pytest.skip("the built-in agent asks for no forms")
    driver = cell.open_page(cell.server)
    cell.say(driver, cell.words.form)
    dialog = driver.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Mira M.")
    if dialog.get_by_label("Count").count():
        dialog.get_by_label("Count").fill("3")
    dialog.get_by_role("button", name="Send").click(delay=500)
    driver.wait_done()
    expect(driver.log.locator(".says")).to_contain_text("Mira M.")


def killed_connection(cell: Cell) -> None:
    with breakable_link(cell.server.port) as link:
        driver = cell.open_page(replace(cell.server, port=link.port), clean=False)
        cell.begin_long_turn(driver)
        link.down()
        expect(driver.page.get_by_role("status").first).to_contain_text("Connection lost")
        link.up()
        driver.page.get_by_role("button", name="Try now").click()
        expect(driver.page.locator(".live.is-live")).to_be_attached()
        cell.stop(driver)
        expect(driver.log.locator(".ask-msg")).to_have_count(1)
        assert driver.foreign == [] and driver.reports() == []


def two_browsers(cell: Cell) -> None:
    first = cell.open_page(cell.server)
    second = cell.open_page(cell.server)
    cell.say(first, cell.words.ask, flow="two", agree=False)
    second.page.locator('.session[data-state="waiting"]').first.click()
    second.answer("Reject")
    for driver in (first, second):
        driver.wait_done()
        expect(driver.page.get_by_role("dialog")).to_have_count(0)
        expect(driver.log).to_contain_text(re.compile("Rejected by mira"))


def phone(cell: Cell) -> None:
    driver = cell.open_page(cell.server, **PHONE)
    cell.say(driver, cell.words.ask, flow="phone", agree=False)
    sheet = driver.page.get_by_role("dialog")
    expect(sheet).to_be_visible()
    box = sheet.bounding_box()
    assert box is not None and box["y"] + box["height"] == pytest.approx(844, abs=2)
    reject = sheet.locator("[data-reject]")
    expect(reject).to_have_attribute("aria-disabled", "false")
    reject.tap()
    driver.wait_done()
    assert not driver.page.evaluate("document.documentElement.scrollWidth > innerWidth")


def killed_server(cell: Cell) -> None:
    """The last one: other pages of this server come back by themselves, too."""
    driver = cell.open_page(cell.server, clean=False)
    driver.say("remember the milk")
    driver.wait_done()
    said = driver.log.locator(".says").last.text_content() or ""
    cell.server.kill()
    expect(driver.page.get_by_role("status").first).to_contain_text("Connection lost")
    cell.server.start()
    expect(driver.page.locator(".live.is-live")).to_be_attached(timeout=90_000)  # by itself
    expect(driver.log.locator(".ask-msg")).to_have_count(1)
    expect(driver.log.locator(".says").last).to_have_text(said)
    driver.say("and the bread")
    expect(driver.log.locator(".ask-msg")).to_have_count(2)
    expect(driver.page.get_by_role("button", name="Stop the agent")).to_have_count(0)
    assert driver.foreign == [] and driver.reports() == []


FLOWS = [
    prompt, permission_allowed, permission_rejected, cancel, diff, terminal, image, mode, option, form,
    killed_connection, two_browsers, phone, permission_always, killed_server,
]  # fmt: skip


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__)
@pytest.mark.parametrize("agent", AGENTS)
def test_every_flow_with_every_kind_of_agent(
    agent: str, flow: Callable[[Cell], None], request: pytest.FixtureRequest, open_page: OpenPage
) -> None:
    flow(Cell(agent, request.getfixturevalue(agent), AGENTS[agent], open_page))

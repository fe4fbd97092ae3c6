"""Coming back where one was, and several people on one session."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from breakable_link import breakable_link
from page_driver import PageDriver
from playwright.sync_api import expect
from web_server import SHOW_AGENT, WebServer, running

OpenPage = Callable[..., PageDriver]


def invite(driver: PageDriver, user: str, role: str) -> None:
    driver.page.get_by_role("button", name="Invite").first.click()
    dialog = driver.page.get_by_role("dialog")
    dialog.get_by_label("User name").fill(user)
    dialog.get_by_label(role).check()
    dialog.get_by_role("button", name="Invite").click()
    expect(dialog).to_contain_text(f"{user} is invited")
    driver.page.keyboard.press("Escape")


def test_after_a_lost_connection_each_update_is_there_once(open_page: OpenPage, shower: WebServer) -> None:
    with breakable_link(shower.port) as link:
        driver = open_page(replace(shower, port=link.port), clean=False)
        driver.say("slow")
        expect(driver.log).to_contain_text("I begin 0 1 2")
        link.down()
        expect(driver.page.get_by_role("status").first).to_contain_text("Connection lost")
        link.up()
        driver.page.get_by_role("button", name="Try now").click()
        expect(driver.page.locator(".live.is-live")).to_be_attached()
        expect(driver.log).to_contain_text(" 30")
        driver.page.get_by_role("button", name="Stop the agent").click()
        driver.wait_done()
        words = driver.log.locator(".says").inner_text().removeprefix("I begin").split()
        assert words == [str(n) for n in range(len(words))]
        assert driver.foreign == [] and driver.reports() == []


def test_names_and_invitations_outlive_the_server(open_page: OpenPage, tmp_path: Path) -> None:
    with running(WebServer(["--", sys.executable, SHOW_AGENT], tmp_path)) as server:
        mira = open_page(server, clean=False)  # the browser tells of requests to a server that is gone
        mira.say("one thing")
        mira.wait_done()
        mira.page.keyboard.press("Control+k")
        mira.page.keyboard.type("rename")
        mira.page.keyboard.press("Enter")
        mira.page.get_by_label("Name of the session").fill("Our plan")
        mira.page.keyboard.press("Enter")
        expect(mira.page.get_by_role("heading", level=1)).to_have_text("Our plan")
        invite(mira, "jonas", "prompt, and approve")
        server.kill()
        expect(mira.page.get_by_role("status").first).to_contain_text("Connection lost")
        server.start()
        jonas = open_page(server, "jonas", clean=False)  # the owner has not come back yet, perhaps
        jonas.page.locator(".side .session", has_text="Our plan").click()
        expect(jonas.log.locator(".says")).to_have_text(re.compile("You said: one thing"))
        jonas.say("another thing")
        expect(jonas.log.locator(".says").last).to_have_text(re.compile("You said: another thing"))
        expect(mira.page.locator(".live.is-live")).to_be_attached(timeout=40_000)  # by itself
        expect(mira.page.get_by_role("heading", level=1)).to_have_text("Our plan")
        expect(mira.log.locator(".says").last).to_have_text(re.compile("You said: another thing"))
        expect(mira.log.locator(".ask-msg")).to_have_count(2)
        priya = open_page(server, "priya", clean=False)
        expect(priya.page.locator(".side")).not_to_contain_text("Our plan")
        assert mira.foreign == [] and mira.reports() == []


def test_a_reload_shows_the_same_session(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("keep this")
    driver.wait_done()
    driver.page.reload()
    expect(driver.log.locator(".says")).to_have_text(re.compile("You said: keep this"))
    expect(driver.log.locator(".ask-msg")).to_have_count(1)


def test_two_browsers_of_one_user_see_the_same_and_answer_once(
    open_page: OpenPage, shower: WebServer
) -> None:
    first, second = open_page(shower), open_page(shower)
    first.say("ask 11")
    second.page.locator('.session[data-state="waiting"]').first.click()
    expect(second.page.get_by_role("dialog")).to_be_visible()
    second.answer("Reject")
    expect(first.page.get_by_role("dialog")).to_have_count(0)
    for driver in (first, second):
        driver.wait_done()
        expect(driver.log).to_contain_text("allowed: False")
        expect(driver.log).to_contain_text(re.compile("Rejected by mira"))


def test_somebody_else_is_invited_watches_and_then_controls(open_page: OpenPage, shower: WebServer) -> None:
    mira, jonas = open_page(shower), open_page(shower, "jonas")
    mira.say("hello from mira")
    mira.wait_done()
    name = re.compile("hello from mira")
    expect(jonas.page.locator(".session", has_text=name)).to_have_count(0)

    invite(mira, "jonas", "watch")
    jonas.page.locator(".session", has_text=name).first.click()
    expect(jonas.log).to_contain_text("You said: hello from mira")
    expect(jonas.log.locator(".by b")).to_have_text("mira")
    expect(jonas.composer).to_be_disabled()
    expect(mira.page.get_by_role("complementary")).to_contain_text("jonas")
    mira.say("ask 12")
    expect(mira.page.get_by_role("dialog")).to_be_visible()
    expect(jonas.log).to_contain_text("waits for you")
    expect(jonas.page.get_by_role("dialog")).to_have_count(0)  # who watches is not asked
    mira.answer("Reject")
    mira.wait_done(2)
    invite(mira, "jonas", "prompt, and approve")
    jonas.page.reload()
    expect(jonas.composer).to_be_enabled()
    jonas.say("hello from jonas")
    expect(mira.log.locator(".by b").last).to_have_text("jonas")
    expect(mira.log.locator(".says").last).to_have_text(re.compile("You said: hello from jonas"))
    mira.say("ask 13")
    expect(mira.page.get_by_role("dialog")).to_contain_text("jonas may answer too")
    jonas.answer("Allow")
    expect(mira.log).to_contain_text(re.compile("Allowed once by jonas"))


def test_a_token_that_may_only_read_watches(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower, "priya")
    expect(driver.page.locator(".hello")).to_contain_text("lets you watch")
    expect(driver.composer).to_be_disabled()

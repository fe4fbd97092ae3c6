"""What goes wrong outside of the page: huge and broken messages, agents that die, clocks, tokens."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from breakable_link import breakable_link
from page_driver import PageDriver
from playwright.sync_api import expect
from web_server import TOKENS, WebServer, running

OpenPage = Callable[..., PageDriver]

PAYLOAD_AGENT = str(Path(__file__).parent / "payload_agent.py")


@pytest.fixture(scope="module")
def payloads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with running(
        WebServer(["--", sys.executable, PAYLOAD_AGENT], tmp_path_factory.mktemp("payloads"))
    ) as server:
        yield server


def test_five_megabytes_of_text_and_a_long_diff_leave_the_page_usable(
    open_page: OpenPage, payloads: WebServer
) -> None:
    driver = open_page(payloads)
    driver.say("huge")
    expect(driver.page.locator(".turn-end")).to_have_count(1, timeout=60_000)
    expect(driver.log.get_by_text("5.0M characters are not shown")).to_be_visible()
    expect(driver.log.locator(".diff-wrap")).to_contain_text("more lines")
    driver.say("hello")
    expect(driver.page.locator(".turn-end")).to_have_count(2)


def test_a_picture_of_twenty_megabytes_is_shown(open_page: OpenPage, payloads: WebServer) -> None:
    driver = open_page(payloads)
    driver.say("picture")
    expect(driver.page.locator(".turn-end")).to_have_count(1, timeout=60_000)
    expect(driver.log.locator(".shot")).to_contain_text("1 × 1")
    driver.say("hello")
    expect(driver.page.locator(".turn-end")).to_have_count(2)


def test_a_picture_that_is_too_large_to_send_is_refused_with_a_reason(
    open_page: OpenPage, shower: WebServer, tmp_path: Path
) -> None:
    driver = open_page(shower)
    picture = tmp_path / "large.png"
    with picture.open("wb") as file:
        file.truncate(20_000_000)
    with driver.page.expect_file_chooser() as chosen:
        driver.page.get_by_role("button", name="Attach an image").click()
    chosen.value.set_files(picture)
    expect(driver.page.get_by_role("alert")).to_contain_text("large.png has 20.0 MB; at most 10.5 MB")
    expect(driver.page.locator(".in-composer .shot")).to_have_count(0)


def test_bytes_that_are_no_text_do_not_end_the_connection(open_page: OpenPage, payloads: WebServer) -> None:
    driver = open_page(payloads)
    driver.say("broken")
    driver.wait_done()
    says = driver.log.locator(".says")
    expect(says).to_contain_text("and readable again")
    expect(says).to_contain_text(re.compile("caf\ufffd"))
    expect(says).to_contain_text("alone")
    expect(driver.page.locator(".banner")).to_have_count(0)
    driver.page.reload()
    expect(says).to_contain_text("and readable again")


def test_updates_of_unknown_kinds_are_shown(open_page: OpenPage, payloads: WebServer) -> None:
    driver = open_page(payloads)
    driver.say("strange")
    driver.wait_done()
    names = driver.log.locator(".note-card.unknown header .mono").all_inner_texts()
    assert "checkpoint_update" in names


def test_an_agent_that_dies_while_it_asks_takes_its_question_along(
    open_page: OpenPage, payloads: WebServer
) -> None:
    driver = open_page(payloads, "jonas")  # everybody has an agent of their own
    driver.say("dies")
    dialog = driver.page.get_by_role("dialog")
    expect(dialog.locator(".answer").first).to_have_attribute("aria-disabled", "false")
    for part in ('"left"', '"out"'):  # what is not known may be what matters
        expect(dialog.locator(".what")).to_contain_text(part)
    number = re.search(r"I am (\d+)", driver.log.inner_text())
    assert number is not None
    os.kill(int(number[1]), signal.SIGKILL)
    expect(dialog).to_have_count(0)
    expect(driver.log.locator(".note-card.err").first).to_contain_text("The agent stopped")
    expect(driver.page.locator('.session[data-state="waiting"]')).to_have_count(0)
    expect(driver.page.get_by_role("button", name="Stop the agent")).to_have_count(0)
    driver.new_session()
    driver.say("strange")
    driver.wait_done()


def test_a_clock_that_is_set_changes_no_times(open_page: OpenPage, shower: WebServer) -> None:
    with breakable_link(shower.port) as link:
        server = WebServer(shower.target, shower.directory, port=link.port)
        driver = open_page(server, clean=False)
        page = driver.page
        driver.say("stubborn")
        expect(driver.log).to_contain_text("I wait")
        for days in (400, -400):
            page.clock.set_system_time(datetime.now(UTC) + timedelta(days=days))
            expect(page.locator(".working .num")).to_have_text(re.compile(r"^\d{1,2} s$"))
            first = page.locator(".working .num").inner_text()
            expect(page.locator(".working .num")).not_to_have_text(first)  # it counts on
            expect(page.locator(".working .num")).to_have_text(re.compile(r"^\d{1,2} s$"))
        link.down()
        banner = page.get_by_role("status").first
        expect(banner).to_contain_text(re.compile(r"Trying again( in \d{1,2} s)?\."))
        link.up()
        expect(page.locator(".live.is-live")).to_be_attached(timeout=40_000)
        page.get_by_role("button", name="Stop the agent").click()
        driver.wait_done()


def test_two_tabs_with_one_token_share_their_sessions(open_page: OpenPage, shower: WebServer) -> None:
    first = open_page(shower, clean=False)
    first.say("begun in one tab")
    first.wait_done()
    page = first.context.new_page()
    page.goto(first.page.url)
    page.get_by_label("Your token").fill(TOKENS["mira"])  # a token stays in its tab
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("log")).to_contain_text("You said: begun in one tab")
    page.get_by_label("Prompt", exact=True).fill("gone on in another")
    page.keyboard.press("Enter")
    expect(first.log).to_contain_text("You said: gone on in another")
    page.keyboard.press("Control+k")
    page.keyboard.type("log out")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    first.say("still here")
    expect(first.log).to_contain_text("You said: still here")


def test_a_token_that_expires_or_is_revoked_ends_an_open_page(open_page: OpenPage, tmp_path: Path) -> None:
    with running(WebServer(["--", sys.executable, PAYLOAD_AGENT], tmp_path)) as server:
        mira, jonas = open_page(server, clean=False), open_page(server, "jonas", clean=False)
        jonas.composer.fill("what I was about to say")
        soon = datetime.now(UTC) + timedelta(seconds=2)
        lines = [
            f"mira {TOKENS['mira']} until={soon.isoformat(timespec='seconds')}",
            f"priya {TOKENS['priya']}",
        ]
        server.token_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for driver in (mira, jonas):
            expect(driver.page.get_by_role("heading", name="Log in")).to_be_visible(timeout=30_000)
            expect(driver.page.get_by_role("alert")).to_contain_text("does not count here, or not any more")
            stored = driver.page.evaluate("JSON.stringify({...sessionStorage})")
            assert TOKENS["mira"] not in stored and TOKENS["jonas"] not in stored
        jonas.log_in_again(TOKENS["priya"])
        expect(jonas.composer).to_have_value("what I was about to say")

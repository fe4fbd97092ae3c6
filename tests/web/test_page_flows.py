"""What people do on the page, with agents of three kinds."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from page_driver import PageDriver
from playwright.sync_api import expect
from web_server import WebServer, running

OpenPage = Callable[..., PageDriver]


def test_markdown_streams_into_elements(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("markdown")
    driver.wait_done()
    says = driver.log.locator(".says")
    expect(says.get_by_role("heading", name="A heading")).to_be_visible()
    expect(says.locator("strong")).to_have_text("bold")
    link = says.get_by_role("link", name="link")
    expect(link).to_have_attribute("href", "https://example.com/there")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(says.locator(".leads")).to_have_text("example.com")
    expect(says.locator("li")).to_have_text(["first", "second"])
    expect(says.locator(".code pre")).to_contain_text("def answer():")
    expect(says.locator(".code .k").first).to_have_text("def")  # the highlighter came
    expect(says.locator("td")).to_have_text(["1", "2"])


def test_a_plan_tool_calls_a_diff_and_usage_are_shown(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("tools")
    driver.wait_done()
    panel = driver.page.get_by_role("complementary")
    expect(panel.locator(".plan li")).to_have_count(3)
    expect(panel).to_contain_text("2 of 3")
    expect(panel).to_contain_text("5.0k of 200k")
    edit = driver.log.locator('.tool[data-kind="edit"]')
    expect(edit.locator("tr.r")).to_have_text(re.compile("line 17"))
    expect(edit.locator("tr.a mark")).to_have_text("seventeen")
    edit.get_by_role("button", name="Split").click()
    expect(edit.locator("table.sides td.tx.a")).to_have_text(re.compile("line seventeen"))
    run = driver.log.locator('.tool[data-kind="execute"]')
    expect(run).to_have_attribute("data-status", "failed")
    expect(run).to_contain_text("Last 24 of 10000 lines")
    thought = driver.log.locator(".thought")
    expect(thought.locator(".thought-text")).to_have_count(0)
    thought.locator("summary").click()
    expect(thought.locator("strong")).to_have_text("enough")


def test_a_permission_starts_at_reject_and_says_who_decided(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("ask 1")
    dialog = driver.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Edit notes.txt?")
    expect(dialog.locator("tr.a")).to_contain_text("LOUD")
    expect(dialog.locator("[data-reject]")).to_be_focused()
    expect(driver.page).to_have_title(re.compile(r"^\(!\)"))
    expect(driver.page.locator('.session[data-state="waiting"]').first).to_contain_text(
        "wants to edit a file"
    )
    driver.answer("Allow")
    driver.wait_done()
    expect(driver.log).to_contain_text("allowed: True")
    expect(driver.log).to_contain_text(re.compile(r"Allowed once by mira after"))


def test_every_answer_says_whether_it_allows(open_page: OpenPage, shower: WebServer) -> None:
    """ "From now on, without asking" stood beside two of them, and only an icon told them apart."""
    driver = open_page(shower)
    driver.say("ask 4")
    for kind, word in (("allow", "allows it"), ("reject", "refuses it")):
        answers = driver.page.locator(f'dialog .answer[data-kind^="{kind}"]')
        expect(answers.first).to_be_visible()
        expect(answers.filter(has_text=word)).to_have_count(answers.count())
    driver.answer("Reject")
    driver.wait_done()


def test_rejecting_by_key_and_always_allowing(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("ask 2")
    option = driver.page.locator("dialog .answer").first
    expect(option).to_have_attribute("aria-disabled", "false")
    driver.page.keyboard.press("Escape")
    driver.wait_done()
    expect(driver.log).to_contain_text("allowed: False")
    driver.say("ask 3")
    driver.answer("Always allow")
    driver.wait_done(2)
    driver.say("ask 3")
    driver.wait_done(3)  # nobody is asked again
    expect(driver.log.locator(".says").last).to_have_text("allowed: True")


def test_a_form_is_checked_before_it_is_sent(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("form")
    dialog = driver.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Tell me about the release")
    expect(dialog).to_contain_text("Docs (sends d)")
    dialog.get_by_label("Name").fill("x")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.locator(".hint.bad").first).to_have_text("At least 2 characters")
    dialog.get_by_label("Name").fill("Mira")
    dialog.get_by_label("Count").fill("3")
    dialog.get_by_label("large").check()
    dialog.get_by_label("Sure").check()
    dialog.get_by_label("Docs").check()
    dialog.get_by_role("button", name="Send").click()
    driver.wait_done()
    expect(driver.log).to_contain_text("'name': 'Mira'")
    expect(driver.log).to_contain_text("'count': 3")
    expect(driver.log).to_contain_text("'parts': ['d']")


def test_a_page_of_the_agent_is_shown_whole_and_opened_by_nobody(
    open_page: OpenPage, shower: WebServer
) -> None:
    driver = open_page(shower)
    driver.say("page")
    dialog = driver.page.get_by_role("dialog")
    expect(dialog.locator(".url")).to_have_text("https://example.com/login")
    expect(dialog.locator(".url b")).to_have_text("example.com")
    dialog.get_by_role("button", name="Decline").click(delay=500)
    driver.wait_done()
    expect(driver.log).to_contain_text("page: decline")


def test_commands_run_here_and_show_their_output(
    open_page: OpenPage, shower: WebServer, project: Path
) -> None:
    driver = open_page(shower)
    driver.say(r"shell printf '\033[32mgreen\033[0m\n'; pwd")
    driver.wait_done()
    expect(driver.log).to_contain_text("code 0")
    terminal = driver.log.locator(".term")
    expect(terminal.locator(".fg-2")).to_have_text("green")
    expect(terminal).to_contain_text(str(project))
    expect(driver.log.locator(".tool-end").first).to_contain_text("exit 0")


def test_output_of_the_agents_own_terminal(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("foreign")
    driver.wait_done()
    expect(driver.log.locator(".term")).to_contain_text("no such directory")
    expect(driver.log.locator(".tool-end").first).to_contain_text("exit 3")


def test_things_that_nobody_knows_are_shown_raw(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("things")
    driver.wait_done()
    unknown = driver.log.locator(".note-card.unknown")
    expect(unknown.first).to_contain_text("novelty")
    expect(unknown.first).to_contain_text("not known to v1")
    expect(driver.log).to_contain_text("Low on tokens")
    expect(driver.log.locator(".file-link")).to_contain_text("/a/b.txt")
    expect(driver.log).to_contain_text("An image that cannot be shown")


def test_a_prompt_waits_while_a_turn_runs_and_esc_twice_stops(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("slow")
    expect(driver.log).to_contain_text("I begin")
    driver.say("and then this")
    expect(driver.page.locator(".queue")).to_contain_text("Queued: and then this")
    for _ in range(3):  # the third is one for the turn that is next, and one is not enough
        driver.composer.press("Escape")
    driver.wait_done(2)
    expect(driver.log).to_contain_text("stopped")
    expect(driver.log).to_contain_text("You said: and then this [TextContent]")


def test_what_was_not_sent_is_there_after_a_reload(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("slow")
    expect(driver.log).to_contain_text("I begin")
    driver.say("and then this")
    expect(driver.page.locator(".queue")).to_contain_text("Queued: and then this")
    driver.composer.fill("half a thou")
    driver.page.reload()
    # not sent by itself: a copy of the tab would send it, too
    expect(driver.composer).to_have_value("and then this\n\nhalf a thou")
    driver.composer.fill("")
    driver.page.reload()
    expect(driver.log).to_contain_text("I begin")
    expect(driver.composer).to_have_value("")


def test_mode_option_and_switch(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    driver.say("hello")
    driver.wait_done()
    page = driver.page
    page.get_by_role("button", name="Mode: Code").click()
    page.get_by_role("option", name="Plan").click()
    expect(page.get_by_role("button", name="Mode: Plan")).to_be_visible()
    page.get_by_role("button", name="Model: Small").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Model: Large")).to_be_visible()
    switch = page.get_by_role("switch", name="Loud")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")


def test_slash_commands_and_files_are_offered(open_page: OpenPage, shower: WebServer, project: Path) -> None:
    (project / "cart_test.py").write_text("x = 1\n", encoding="utf-8")
    driver = open_page(shower)
    driver.say("hello")
    driver.wait_done()
    driver.composer.press_sequentially("/hist")
    expect(driver.page.get_by_role("option")).to_contain_text(["/history"])
    driver.composer.press("Tab")
    expect(driver.composer).to_have_value("/history ")
    driver.composer.fill("")
    driver.composer.press_sequentially("look at @cart")
    expect(driver.page.get_by_role("option").first).to_contain_text("cart_test.py")
    driver.composer.press("Enter")
    driver.composer.press("Enter")
    driver.wait_done(2)
    expect(driver.log).to_contain_text("[TextContent, ResourceLink]")
    expect(driver.log.locator(".mention")).to_have_text("@cart_test.py")


def test_sessions_are_renamed_forked_opened_again_and_deleted(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower)
    page = driver.page
    driver.say("remember the milk")
    driver.wait_done()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the session").fill("Groceries")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Groceries")
    row = page.locator(".side .session", has_text="Groceries")
    expect(row).to_have_attribute("data-state", "done")
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Groceries (fork)")
    expect(driver.log).to_contain_text("You said: remember the milk")
    driver.new_session()
    expect(page.locator(".hello")).to_be_visible()
    row.first.click()
    expect(driver.log).to_contain_text("You said: remember the milk")
    before = row.count()
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(before - 1)


def test_an_agent_that_dies_is_told_and_goes_on(open_page: OpenPage, shower: WebServer) -> None:
    driver = open_page(shower, "jonas")  # everybody has an agent of their own
    driver.say("die")
    card = driver.log.locator(".note-card.err")  # one: that the prompt failed is no other news
    expect(card.get_by_role("button", name="Send it again")).to_be_visible()
    expect(card).to_contain_text("The agent stopped")
    driver.say("are you back")
    expect(driver.log.locator(".says").last).to_have_text(re.compile("You said: are you back"))


def test_an_agent_that_opens_no_session_again_gets_a_new_one(open_page: OpenPage, tmp_path: Path) -> None:
    lines = (
        "import os, acpella\nasync def reply(turn):\n    yield 'half'\n    os._exit(3)\nacpella.run(reply)\n"
    )
    (tmp_path / "die.py").write_text(lines, encoding="utf-8")
    with running(WebServer(["--", sys.executable, str(tmp_path / "die.py")], tmp_path)) as server:
        driver = open_page(server)
        driver.say("hi")
        card = driver.log.locator(".note-card.err")
        expect(card).to_contain_text("cannot open a session again")
        expect(card.get_by_role("button", name="Send it again")).to_have_count(0)


def test_the_built_in_agent_edits_and_runs(open_page: OpenPage, coder: WebServer) -> None:
    driver = open_page(coder)
    project = coder.directory / "project"
    driver.say("create notes.txt with one line")
    expect(driver.page.get_by_role("dialog")).to_contain_text("Edit notes.txt?")
    driver.answer("Allow")
    driver.wait_done()
    assert (project / "notes.txt").read_text(encoding="utf-8").strip() == "one line"
    driver.say("run cat notes.txt")
    expect(driver.page.get_by_role("dialog")).to_contain_text("Run a command?")
    expect(driver.page.locator("dialog .what pre")).to_have_text("cat notes.txt")
    driver.answer("Reject")
    driver.wait_done(2)
    expect(driver.page.get_by_role("complementary")).to_contain_text("notes.txt")


def test_files_are_served_inside_the_directory_of_the_session(
    open_page: OpenPage, official: WebServer
) -> None:
    driver = open_page(official)
    file = official.directory / "project" / "hello.txt"
    file.write_text("from a file", encoding="utf-8")
    driver.say(f"read {file}")
    driver.wait_done()
    expect(driver.log.locator(".says")).to_have_text("from a file")
    driver.say(f"read {official.directory / 'tokens.txt'}")
    expect(driver.log.locator(".note-card.err")).to_be_visible()
    expect(driver.log).not_to_contain_text("mmmm")

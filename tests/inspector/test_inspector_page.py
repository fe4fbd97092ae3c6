"""The inspector's page in a browser, and who may ask it for what."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import acpella
from acpella.inspector.html import as_html

CHROMIUM = "/usr/bin/chromium"
AGENT = """
import acpella

async def reply(turn):
    async with turn.tool("Read \\u202ea.txt", kind="read") as call:
        call.show("<img src=x onerror=document.title='owned'>")
    for word in ("You ", "said ", turn.text):
        yield word

acpella.run(reply)
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspected")
    (folder / "agent.py").write_text(AGENT)
    path = folder / "talk.jsonl"
    command = [sys.executable, "-m", "acpella", "inspect", "-o", str(path), "--", str(folder / "agent.py")]
    acpella.ask(command, "hello <b>there</b>")
    return path


@pytest.fixture(scope="module")
def link(recording: Path) -> Iterator[str]:
    program = subprocess.Popen(
        [sys.executable, "-m", "acpella", "inspect", str(recording), "--no-open"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    found = re.search(r"http\S+", program.stderr.readline())
    assert found is not None
    yield found.group()
    program.terminate()
    program.wait(10)
    program.stderr.close()


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("what", ["rows?after=0", "line?n=1", "times", "search?q=x", "recording", "nothing"])
def test_every_question_needs_the_token(link: str, what: str) -> None:
    home = link.partition("/inspect")[0]
    assert status(f"{home}/inspect/{what}") == 401
    assert status(f"{home}/inspect/{what}", Authorization="Bearer " + "0" * 64) == 401
    assert status(f"{home}/inspect/{what}", Origin="http://elsewhere.example") == 403
    assert status(f"{home}/inspect/{what}", Host="elsewhere.example") in (403, 421)


def test_the_page_shows_every_message_and_its_fields(link: str, recording: Path) -> None:
    if not os.path.exists(CHROMIUM):
        pytest.skip("chromium is missing: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.on("console", lambda message: problems.append(message.text))
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(link)
            page.wait_for_selector("[data-row]")
            assert "#" not in page.url  # the code that opened it is gone
            page.keyboard.press("f")
            page.keyboard.type("update:tool_call")
            page.keyboard.press("Enter")
            page.wait_for_function("document.querySelectorAll('[data-row]').length === 1")
            page.keyboard.press("j")
            page.wait_for_selector("[data-detail] .tree")
            # the character that turns text around is shown, not obeyed
            assert "U+202E" in page.inner_text("[data-detail] .tree")
            page.click("[data-detail] .key:has-text('kind')")
            assert "optional" in page.inner_text(".help")
            page.fill("[data-filter]", "hello <b>")
            page.wait_for_function("document.querySelectorAll('[data-row]').length >= 2")
            page.fill("[data-filter]", "colour:red")
            page.wait_for_selector(".filter-error")
            axe = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
            if axe.exists():
                page.fill("[data-filter]", "")
                # the page itself lets no script in but its own
                page.context.add_init_script(path=axe)
                page.reload()
                page.wait_for_selector("[data-row]")
                found = page.evaluate(
                    "axe.run().then((result) => result.violations.map((v) => v.id + ': ' + v.nodes[0].html))"
                )
                assert found == []
            alone = browser.new_page()
            alone.on("console", lambda message: problems.append(message.text))
            alone.on(
                "request", lambda request: problems.append(request.url) if "http" in request.url[:4] else None
            )
            file = recording.with_suffix(".html")
            file.write_text(as_html(recording))
            alone.goto(file.as_uri())
            alone.wait_for_selector("[data-row]")
            alone.fill("[data-filter]", "onerror")
            alone.wait_for_function("document.querySelectorAll('[data-row]').length < 5")
            assert alone.title() == "talk.jsonl · acpella"
        finally:
            browser.close()
    assert problems == []

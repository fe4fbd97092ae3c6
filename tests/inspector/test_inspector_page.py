"""The inspector's page in a browser, and who may ask it for what."""

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspector_pages import OpenPage, check_access, run_program

import acpella
from acpella.inspector.html import as_html
from acpella.schema import ToolCall
from acpella.schema.field_docs import field_docs

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
    with run_program("inspect", str(recording), "--no-open") as link:
        yield link


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("what", ["rows?after=0", "line?n=1", "times", "search?q=x", "recording", "nothing"])
def test_every_question_needs_the_token(link: str, what: str) -> None:
    home = link.partition("/inspect")[0]
    assert status(f"{home}/inspect/{what}") == 401
    assert status(f"{home}/inspect/{what}", Authorization="Bearer " + "0" * 64) == 401
    assert status(f"{home}/inspect/{what}", Origin="http://elsewhere.example") == 403
    assert status(f"{home}/inspect/{what}", Host="elsewhere.example") in (403, 421)


def test_the_page_shows_every_message_and_its_fields(link: str, recording: Path, open_page: OpenPage) -> None:
    page = open_page(link)
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
    explained = page.inner_text(".help")
    assert field_docs(ToolCall)["kind"] in explained and "optional" in explained
    page.get_by_role("button", name="Remove update:tool_call").click()
    page.fill("[data-filter]", "hello <b>")
    page.wait_for_function("document.querySelectorAll('[data-row]').length >= 2")
    page.fill("[data-filter]", "colour:red")
    page.wait_for_selector(".filter-error")
    page.keyboard.press("Enter")  # it stays as it was typed, to be mended
    assert page.input_value("[data-filter]") == "colour:red"
    page.fill("[data-filter]", "")
    check_access(page)
    file = recording.with_suffix(".html")
    file.write_text(as_html(recording))
    requests: list[str] = []
    alone = open_page("about:blank")
    alone.on("request", lambda request: requests.append(request.url))
    alone.goto(file.as_uri())
    alone.wait_for_selector("[data-row]")
    alone.fill("[data-filter]", "onerror")
    alone.wait_for_function("document.querySelectorAll('[data-row]').length < 5")
    assert alone.title() == "talk.jsonl · acpella"
    assert [url for url in requests if url.startswith("http")] == []

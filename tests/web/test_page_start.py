"""What a page of one's own says before there is a conversation."""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from web_server import SHOW_AGENT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEY = "sk-nobody-may-see-this"


@contextmanager
def started(words: list[str], directory: Path) -> Generator[str, None, None]:
    """The link to a page of one's own."""
    server = subprocess.Popen(
        [sys.executable, "-m", "acpella", "web", "--no-open", *words],
        cwd=directory,
        env={**os.environ, "HOME": str(directory), "ACPELLA_MODEL": "offline", "OPENAI_API_KEY": KEY},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        found = re.search(r"http\S+", server.stderr.readline())
        assert found is not None
        yield found.group()
    finally:
        server.terminate()
        server.wait(60)
        server.stderr.close()


@pytest.fixture
def link(tmp_path: Path) -> Iterator[str]:
    settings = tmp_path / "settings.json"
    settings.write_text('{"agent_servers": {"mine": {"command": "python", "args": ["agent.py"]}}}')
    with started(["--settings", str(settings), "-a", "coder"], tmp_path) as link:
        yield link


def test_other_agents_and_keys_are_named_and_nothing_else_of_them(browser: "Browser", link: str) -> None:
    page = browser.new_page()
    try:
        page.goto(link)
        agents = page.locator(".agents .agent")
        expect(agents.first).to_contain_text("acpella coder")
        expect(agents.nth(1)).to_contain_text("acpella web -a mine")
        expect(page.get_by_role("row", name="OpenAI")).to_have_text(re.compile(r"OPENAI_API_KEY\s*set"))
        expect(page.get_by_role("row", name="Anthropic")).to_contain_text("not set")
        assert KEY not in page.content()
    finally:
        page.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "no-such-program", "x"], "no-such-program: command not found"),
        (["-a", "./nowhere/agent"], "./nowhere/agent: command not found; check the path"),
    ],
)
def test_a_program_that_is_not_there_is_told_before_a_page_opens(
    words: list[str], said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acpella", "web", "--no-open", *words],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_an_agent_that_does_not_start_says_why(browser: "Browser", tmp_path: Path) -> None:
    agent = tmp_path / "broken.py"
    agent.write_text("import nothing_of_that_name\n", encoding="utf-8")
    with started(["--", sys.executable, str(agent)], tmp_path) as link:
        page = browser.new_page()
        try:
            page.goto(link)
            card = page.locator(".note-card.err")
            expect(card).to_contain_text("The agent does not start", timeout=30_000)
            expect(card).to_contain_text("No module named 'nothing_of_that_name'")
            agent.write_text(f"import runpy\nrunpy.run_path({SHOW_AGENT!r}, run_name='__main__')\n")
            card.get_by_role("button", name="Try again").click()
            expect(page.get_by_role("heading", name="Start a session")).to_be_visible(timeout=30_000)
        finally:
            page.close()

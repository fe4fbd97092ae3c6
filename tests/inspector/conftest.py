"""The inspector's page in a real browser."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from inspector_pages import AXE, OpenPage

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture
def open_page() -> Iterator[OpenPage]:
    """Opens pages, each in its own context; fails at the end if any page reported a problem.

    `may_report` is a pattern of what pages may report. The browser starts with the first page: while it runs,
    so does its event loop, and a test can have no other.
    """
    if not CHROMIUM.exists():
        pytest.skip("chromium is missing: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    browsers: list[Any] = []
    with ExitStack() as stack:

        def open_one(address: str, *, may_report: str = "(?!)", **options: Any) -> Any:
            if not browsers:
                play = stack.enter_context(sync_playwright())
                browsers.append(play.chromium.launch(executable_path=CHROMIUM))
                stack.callback(browsers[0].close)
            context = browsers[0].new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
            context.set_default_timeout(60_000)
            if AXE.exists():
                context.add_init_script(path=AXE)

            def note(text: str) -> None:
                if not re.search(may_report, text):
                    problems.append(text)

            page = context.new_page()
            page.on("console", lambda message: note(message.text))
            page.on("pageerror", lambda error: note(str(error)))
            page.goto(address)
            return page

        yield open_one
    assert problems == []

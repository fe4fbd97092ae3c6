"""The page in a real browser: Debian's chromium, driven by Playwright."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_driver import PageDriver
from web_server import OFFICIAL_AGENT, SHOW_AGENT, TOKENS, WebServer, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """One browser per module: while Playwright is open, its loop runs, and no other test can have one."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no chromium; `make system` installs it")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


# Servers live as long as the run: each test starts its own sessions on them.


@pytest.fixture(scope="session")
def shower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server with a hosted command that shows whatever a prompt names."""
    with running(WebServer(["--", sys.executable, SHOW_AGENT], tmp_path_factory.mktemp("shower"))) as server:
        yield server


@pytest.fixture(scope="module")
def coder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server with the built-in agent and its offline model: one per file, as "always" is remembered."""
    with running(WebServer([], tmp_path_factory.mktemp("coder"))) as server:
        yield server


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server with an agent on the official Python SDK."""
    pytest.importorskip("acp", reason="the official Python SDK is not installed; `make unit` installs it")
    with running(
        WebServer(["--", sys.executable, OFFICIAL_AGENT], tmp_path_factory.mktemp("official"))
    ) as server:
        yield server


OpenPage = Callable[..., PageDriver]


@pytest.fixture(scope="module")
def idle_pages() -> Iterator[dict[str, list[PageDriver]]]:
    """Pages that are logged in and that no test uses: opening a new one takes longer than most tests."""
    pages: dict[str, list[PageDriver]] = {}
    yield pages
    for drivers in pages.values():
        for driver in drivers:
            driver.context.close()


@pytest.fixture
def open_page(browser: "Browser", idle_pages: dict[str, list[PageDriver]]) -> Iterator[OpenPage]:
    """Opens pages; at the end, none of them may have reported anything."""
    opened: list[tuple[str, PageDriver]] = []

    def open_one(
        server: WebServer, user: str = "mira", *, clean: bool = True, **options: object
    ) -> PageDriver:
        kind = repr((server.url, user, sorted(options.items())))
        idle = idle_pages.get(kind) if user else None
        if idle:
            driver = idle.pop()
            driver.start_over()
        else:
            driver = PageDriver(browser, server, **options)
            if user:
                driver.log_in(TOKENS[user])
        opened.append((kind if user and clean else "", driver))
        driver.expects_clean = clean
        return driver

    yield open_one
    for kind, driver in opened:
        if kind:
            driver.check()
            idle_pages.setdefault(kind, []).append(driver)
        else:
            driver.close()


@pytest.fixture
def project(shower: WebServer) -> Path:
    return shower.directory / "project"

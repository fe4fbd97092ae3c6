"""A page as a person uses it, and what the browser reports meanwhile."""

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, expect
from web_server import WebServer

expect.set_options(timeout=30_000)

WATCH_POLICY = """
window.reports = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.reports.push(event.violatedDirective + " " + event.blockedURI);
});
"""


class PageDriver:
    """One browser context with one page."""

    def __init__(self, browser: Browser, server: WebServer, **options: Any) -> None:
        self.server = server
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.expects_clean = True
        self.context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        )
        self.page: Page = self.context.new_page()
        self.page.add_init_script(WATCH_POLICY)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.on("websocket", lambda socket: self._note(socket.url))
        self.page.on(
            "dialog", lambda dialog: self.errors.append(f"a dialog of the browser: {dialog.message}")
        )

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(self.server.url).netloc:
            self.foreign.append(url)

    def log_in(self, token: str) -> None:
        self.page.goto(self.server.url + "/")
        self.log_in_again(token)

    def log_in_again(self, token: str) -> None:
        self.page.get_by_label("Your token").fill(token)
        self.page.get_by_role("button", name="Log in").click()
        expect(self.page.locator(".live.is-live")).to_be_attached()

    def start_over(self) -> None:
        """Bring the page to the state after opening it, with the user logged in."""
        self.page.evaluate("localStorage.clear()")
        self.page.goto(self.server.url + "/")
        expect(self.page.locator(".live.is-live")).to_be_attached()

    # -- what a person does ------------------------------------------------------------------------

    @property
    def composer(self) -> Locator:
        return self.page.get_by_label("Prompt", exact=True)

    def new_session(self) -> None:
        self.page.get_by_role("button", name="New session").first.click()

    def say(self, text: str) -> None:
        self.composer.fill(text)
        self.composer.press("Enter")

    def answer(self, name: str) -> None:
        """Choose an answer in the dialog once it accepts answers."""
        option = self.page.locator("dialog .answer", has_text=name).first
        expect(option).to_have_attribute("aria-disabled", "false")
        option.click()

    def wait_done(self, turns: int = 1) -> None:
        """Wait until this many turns are over."""
        expect(self.page.locator(".turn-end")).to_have_count(turns)

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    def reports(self) -> list[str]:
        return self.page.evaluate("window.reports")

    def check(self) -> None:
        """Check that nothing was reported, and nothing was requested from other hosts."""
        assert self.errors == []
        assert self.foreign == []
        assert self.reports() == []

    def close(self) -> None:
        try:
            if self.expects_clean:
                self.check()
        finally:
            self.context.close()

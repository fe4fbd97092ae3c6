"""Makes the pictures of the page and of the inspector in `docs/pictures`: `python docs/site/pages.py`.

`acpella web` talks with `shop_agent.py` in a small project whose test fails. A tap stands between them and
records, and the inspector shows what it wrote. Playwright drives chromium. The fonts are the reader's on the
real page; here they are Inter and JetBrains Mono, if they are installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parents[1] / "pictures"

PROJECT = {
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'
    'addopts = "--color=yes --no-header --tb=short -p no:cacheprovider"\n',
    "src/shop/__init__.py": "",
    "src/shop/money.py": '''"""Amounts in cents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Money:
    cents: int
''',
    "src/shop/cart.py": '''"""What a customer is about to buy."""

from dataclasses import dataclass, field
from decimal import Decimal

from shop.money import Money


@dataclass
class Line:
    price: int
    count: int = 1


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)
    discount: Decimal = Decimal(0)

    def total(self) -> Money:
        """What the customer pays, discount included."""
        cents = 0
        for line in self.lines:
            cents += round(line.price * line.count * (1 - self.discount))
        return Money(cents)

    def is_empty(self) -> bool:
        return not self.lines
''',
    "tests/test_cart.py": """from decimal import Decimal

from shop.cart import Cart, Line
from shop.money import Money


def test_an_empty_cart_is_free():
    assert Cart().total() == Money(0)


def test_lines_add_up():
    assert Cart([Line(1999, 7)]).total() == Money(13993)


def test_discount_rounds_once():
    cart = Cart([Line(333)] * 3, discount=Decimal("0.10"))
    assert cart.total() == Money(899)
""",
}
AGENT = Path(__file__).parent / "shop_agent.py"
PROMPT = "@tests/test_cart.py fails since yesterday. Find out why and fix it, but keep the public API."


@contextmanager
def started(folder: Path, words: list[str]) -> Generator[str, None, None]:
    """The link to what a command shows, for somebody called Mira."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("ACPELLA_", "PYTEST_"))},
        "HOME": str(folder.parent),
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "USER": "mira",
        "LOGNAME": "mira",
        "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"],
        "ACPELLA_MODEL": "offline",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "acpella", *words, "--no-open"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        link = re.search(r"http://\S+", server.stderr.readline())
        assert link is not None
        yield link[0]
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def home_directory() -> Generator[Path, None, None]:
    """A directory whose name can stand in a picture."""
    home = Path(tempfile.gettempdir(), "mira")
    home.mkdir()
    try:
        yield home
    finally:
        shutil.rmtree(home)


def project_in(home: Path) -> Path:
    """The project, on a branch of its own, and the agent in the settings."""
    project = home / "shop"
    for name, text in PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "fix/rounding", str(project)], check=True)
    tap = ["-m", "acpella", "inspect", "-o", str(home / "talk.jsonl"), "--", sys.executable, str(AGENT)]
    servers = {"fixer": {"command": sys.executable, "args": tap}}
    (home / "settings.json").write_text(json.dumps({"agent_servers": servers}), encoding="utf-8")
    return project


class Browser:
    """One page, with what a person does on it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def say(self, text: str) -> None:
        prompt = self.page.get_by_label("Prompt", exact=True)
        prompt.fill(text)
        prompt.press("Enter")

    def answer(self, option: str) -> None:
        """In the dialog, once its answers count."""
        found = self.page.locator('dialog .answer[aria-disabled="false"]', has_text=option).first
        found.click()
        self.page.locator("dialog").wait_for(state="detached")

    def picture(self, name: str, *, scheme: str = "light") -> None:
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.wait_for_timeout(400)  # what is drawn once in a second, and colours of code
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def on_phone(self, name: str, *, scheme: str = "light") -> None:
        self.page.set_viewport_size({"width": 390, "height": 844})
        self.picture(name, scheme=scheme)
        self.page.set_viewport_size({"width": 1280, "height": 800})


def talk(shown: Browser) -> None:
    """A turn with a question, and its pictures."""
    page = shown.page
    shown.say(PROMPT)
    page.locator('dialog .answer[aria-disabled="false"]').first.wait_for()
    page.wait_for_timeout(3200)  # a person reads
    shown.picture("page-question", scheme="dark")
    shown.on_phone("page-phone", scheme="dark")
    shown.answer("Allow")
    page.locator(".turn-end").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(600, 400)
    shown.picture("page-dark", scheme="dark")
    page.mouse.wheel(0, -10_000)
    page.wait_for_timeout(300)
    shown.picture("page")


def inspect(shown: Browser) -> None:
    """The edit among the messages, and its pictures."""
    page = shown.page
    page.wait_for_selector("[data-row]")
    page.wait_for_selector(".lanes rect")
    page.locator(".bar-of", has_text="Edit src/shop").first.click(force=True)  # its text is beside it
    page.wait_for_selector("[data-detail] .tree")
    page.locator(".tr .key", has_text="kind").click()
    page.mouse.move(600, 20)
    page.evaluate("document.activeElement.blur()")
    shown.picture("inspector")


def main() -> int:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or sys.exit("there is no chromium; `make system` installs it")
    with home_directory() as home, sync_playwright() as playwright:
        project = project_in(home)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])

        def opened(link: str) -> Browser:
            page = browser.new_context(
                viewport={"width": 1280, "height": 800}, reduced_motion="reduce"
            ).new_page()
            page.goto(link)
            return Browser(page)

        with started(project, ["web", "--port", "7411", "-a", "coder"]) as link:
            shown = opened(link)
            shown.page.locator(".agents").wait_for()
            shown.page.evaluate("document.activeElement.blur()")
            shown.picture("page-start")
        with started(project, ["web", "--port", "7411", "--settings", str(home / "settings.json")]) as link:
            talk(opened(link))
        recording = home / "talk.jsonl"
        text = recording.read_text(encoding="utf-8").replace(sys.executable, "python")
        # directories of the machine that makes the picture say nothing to readers
        text = text.replace(str(AGENT), "shop_agent.py").replace(str(home), "/home/mira")
        recording.write_text(text, encoding="utf-8")
        with started(project, ["inspect", str(recording)]) as link:
            inspect(opened(link))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

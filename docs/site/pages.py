"""Makes the pictures of the page in `docs/pictures`, from a real run: `python docs/site/pages.py`.

`acpella web` runs with the built-in agent and its offline model in a small project; Playwright drives
chromium. The fonts are the reader's on the real page; here Inter and JetBrains Mono, if they are installed.
"""

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
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "Makefile": "test:\n\t@python3 -m pytest -q --color=yes --no-header -p no:cacheprovider tests\n",
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
        return Money(sum(round(line.price * line.count * (1 - self.discount)) for line in self.lines))

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
TEST = "make test"
OLD = "Money(sum(round(line.price * line.count * (1 - self.discount)) for line in self.lines))"
NEW = "Money(round(sum(line.price * line.count for line in self.lines) * (1 - self.discount)))"


@contextmanager
def served() -> Generator[str, None, None]:
    """The link to a page whose agent works in the project."""
    with tempfile.TemporaryDirectory() as made:
        project = Path(made) / "shop"
        for name, text in PROJECT.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text, encoding="utf-8")
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("ACPELLA_", "PYTEST_"))
            },
            "HOME": made,
            "USER": "mira",
            "LOGNAME": "mira",
            "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"],
            "ACPELLA_MODEL": "offline",
        }
        command = [sys.executable, "-m", "acpella", "web", "--no-open", "--port", "7411"]
        server = subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            link = re.search(r"http://\S+", server.stderr.readline())
            assert link is not None
            yield link[0]
        finally:
            server.terminate()
            server.wait(30)


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

    def turns(self, count: int) -> None:
        self.page.locator(".turn-end").nth(count - 1).wait_for()

    def picture(self, name: str, *, scheme: str = "light") -> None:
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.wait_for_timeout(400)  # what is drawn once in a second, and colours of code
        self.page.screenshot(path=PICTURES / f"{name}.png")


def main() -> int:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or sys.exit("there is no chromium; `make system` installs it")
    with served() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        shown = Browser(context.new_page())
        page = shown.page
        page.goto(link)
        page.get_by_role("heading", name="Start a session in shop").wait_for()
        shown.picture("page-start")
        shown.say("plan: Reproduce the failure, Find where money is rounded, Round once after the discount")
        shown.turns(1)
        page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("Name of the session").fill("Fix rounding in cart totals")
        page.keyboard.press("Enter")
        shown.say(f"run {TEST}")
        shown.answer("Always allow")
        shown.turns(2)
        steps = "read src/shop/cart.py and read src/shop/money.py and read tests/test_cart.py"
        shown.say(f'{steps} and then replace "{OLD}" by "{NEW}" in src/shop/cart.py and then run {TEST}')
        page.locator('dialog .answer[aria-disabled="false"]').first.wait_for()
        shown.picture("page-question", scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        shown.picture("page-phone", scheme="dark")
        page.set_viewport_size({"width": 1280, "height": 800})
        shown.answer("Allow")
        shown.turns(3)
        page.wait_for_timeout(600)
        page.get_by_role("heading", level=1).click()
        page.evaluate("document.activeElement.blur()")
        above = page.locator(".ask-msg").last.bounding_box()["y"]
        page.mouse.move(600, 400)
        page.mouse.wheel(0, above - 60)
        shown.picture("page")
        shown.picture("page-dark", scheme="dark")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Makes the picture of the inspector in `docs/pictures`, from a real run: `python docs/site/inspector.py`."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
PROMPTS = ("count words in notes.txt", "run sleep 2; echo done", "shout notes.txt")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        project = Path(folder)
        (project / "notes.txt").write_text("the quick brown fox\n")
        (project / "tools.py").write_text((ROOT / "examples/tools.py").read_text())
        environment = {
            **os.environ,
            "HOME": folder,
            "XDG_STATE_HOME": folder,
            "PYTHONPATH": str(ROOT / "src"),
        }
        for prompt in PROMPTS:
            words = ["run", "--yolo", "-a", "tools.py", "--record", "talk.jsonl", prompt]
            subprocess.run(
                [sys.executable, "-m", "acpella", *words],
                cwd=project,
                env=environment,
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        recording = project / "talk.jsonl"
        text = recording.read_text().replace(sys.executable, "python").replace(folder, "/home/mira/shop")
        recording.write_text(text)  # directories of the machine that makes the picture say nothing to readers
        server = subprocess.Popen(
            [sys.executable, "-m", "acpella", "inspect", "talk.jsonl", "--no-open"],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stderr is not None
            found = re.search(r"http\S+", server.stderr.readline())
            assert found is not None
            take(found.group(), ROOT / "docs/pictures/inspector.png")
        finally:
            server.terminate()
            server.wait(10)


def take(url: str, path: Path) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(url)
        page.wait_for_selector("[data-row]")
        page.click("[data-row]:has-text('execute')")
        page.wait_for_selector("[data-detail] .tree")
        page.wait_for_selector(".lanes rect")
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()

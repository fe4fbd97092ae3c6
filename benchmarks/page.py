"""The page: what it weighs, when it is painted, and whether it stays fluent while an agent floods it.

    python benchmarks/page.py [weight] [paint] [flood]

Prints a JSON line for each case, with its budget; the exit code is 1 if one is broken.
All but `weight` need chromium.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parents[1] / "src" / "acpella" / "web" / "static"
FLOOD = Path(__file__).parent / "peers" / "flood_agent.py"
SCRIPT_BYTES = 100_000
STYLE_BYTES = 12_000
PAINT_MS = 500
FRAME_MS = 100
RATE = 10_000
SECONDS = 3


def tell(case: str, measured: float, budget: float, **more: object) -> bool:
    """Print a case; whether it keeps its budget."""
    kept = measured <= budget
    print(json.dumps({"case": case, "measured": round(measured, 1), "budget": budget, "kept": kept, **more}))
    return kept


def weight() -> bool:
    """Bytes of what a page loads, as they go over the wire with gzip."""
    manifest: dict[str, str] = json.loads((STATIC / "manifest.json").read_text(encoding="utf-8"))
    sizes = {name: len(gzip.compress((STATIC / file).read_bytes(), 9)) for name, file in manifest.items()}
    shared = ("libraries.js", "highlighter.js", "theme.js")
    kept = tell("style.css gz", sizes["style.css"], STYLE_BYTES)
    for page in ("chat.js", "inspect.js"):
        if page in sizes:
            total = sizes[page] + sum(sizes[name] for name in shared)
            kept &= tell(f"{page} with what it loads, gz", total, SCRIPT_BYTES, own=sizes[page])
    return kept


@contextmanager
def page() -> Iterator[Any]:
    """A page that is logged in, at a server with an agent that floods."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or sys.exit("there is no chromium; `make system` installs it")
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "acpella", "web", "--no-open", "--", sys.executable, str(FLOOD)]
        server = subprocess.Popen(
            command, cwd=home, env={**os.environ, "HOME": home}, stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            link = re.search(r"http://\S+", server.stderr.readline())
            assert link is not None
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                opened = browser.new_page(viewport={"width": 1280, "height": 800})
                opened.goto(link[0])
                opened.wait_for_selector(".live.is-live")
                yield opened
                browser.close()
        finally:
            server.terminate()
            server.wait(20)


def paint(opened: Any) -> bool:
    """From the request to the first contentful paint, the files in no cache."""
    times: list[float] = []
    for _ in range(5):
        opened.reload()
        opened.wait_for_selector(".live.is-live")
        paints = opened.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
        times.append(paints)
    return tell("first contentful paint, ms", sorted(times)[2], PAINT_MS)


WATCH = """() => {
  window.gaps = []; let before = performance.now();
  const frame = (now) => { window.gaps.push(now - before); before = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


def flood(opened: Any) -> bool:
    """Ten thousand updates a second into one answer: no frame may take long."""
    prompt = opened.get_by_label("Prompt", exact=True)
    prompt.fill(f"flood {RATE} {SECONDS}")
    opened.evaluate(WATCH)
    started = time.perf_counter()
    prompt.press("Enter")
    opened.wait_for_selector(".turn-end", timeout=60_000)
    took = time.perf_counter() - started
    gaps: list[float] = opened.evaluate("window.gaps.slice(2)")
    words = opened.evaluate("document.querySelector('.says').textContent.split(' ').length")
    late = sum(gap > FRAME_MS for gap in gaps)
    print(json.dumps({"case": "flood", "updates": RATE * SECONDS, "words": words, "seconds": round(took, 1)}))
    return tell("longest frame while flooded, ms", max(gaps), FRAME_MS, frames=len(gaps), over=late)


def main() -> int:
    wanted = sys.argv[1:] or ["weight", "paint", "flood"]
    kept = weight() if "weight" in wanted else True
    if {"paint", "flood"} & set(wanted):
        with page() as opened:
            if "paint" in wanted:
                kept &= paint(opened)
            if "flood" in wanted:
                kept &= flood(opened)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

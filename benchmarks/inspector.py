"""The inspector's page with 100,000 frames: the memory that it takes, how fast it searches and scrolls.

    python benchmarks/inspector.py [FRAMES]

Prints a JSON line for each case, with its budget; the exit code is 1 if one is broken. Needs chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HEAP_MB = 120
SEARCH_MS = 200
ROWS = 200
SCROLL_MS = 33
SCROLLED = 240
"""Frames in which the list is moved, each by more than it shows."""

SCROLL = """async (frames) => {
  const box = document.querySelector("[data-list]"), gaps = [];
  let before = await new Promise(requestAnimationFrame);
  for (let n = 0; n < frames; n++) {
    box.scrollTop += 997;
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - before);
    before = now;
  }
  const first = Math.floor(box.scrollTop / 24) + 1;
  return { gaps, there: document.querySelector(`[data-row="${first}"]`) !== null };
}"""


def write_recording(path: Path, frames: int) -> None:
    """Turns of a prompt, a few tool calls and a streamed answer."""
    head = {"acpella": 2, "id": "B", "started": "2026-11-16T06:00:00Z", "agent": {"command": ["agent"]}}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for n in range(1, frames + 1):
            kind = "tool_call_update" if n % 7 == 0 else "agent_message_chunk"
            update: dict[str, Any] = {
                "sessionUpdate": kind,
                "content": {"type": "text", "text": f"word {n} "},
            }
            if kind == "tool_call_update":
                update = {"sessionUpdate": kind, "toolCallId": f"call-{n}", "status": "completed"}
            params = {"sessionId": f"session-{n % 5}", "update": update}
            message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
            file.write(json.dumps({"n": n, "t": n / 1000, "dir": "in", "msg": message}) + "\n")


def tell(case: str, measured: float, budget: float) -> bool:
    """Print a case; whether it keeps its budget."""
    kept = measured <= budget
    print(json.dumps({"case": case, "measured": round(measured, 1), "budget": budget, "kept": kept}))
    return kept


def measure(page: Any, frames: int) -> bool:
    page.wait_for_function(
        "(n) => Number(document.querySelector('.status-row span')?.textContent.split(' ')[0]) > n",
        arg=frames,
        timeout=600_000,
    )
    page.click("text=Fold streams")  # each frame is a row
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1_000_000
    kept = tell(f"heap with {frames} frames, MB", heap, HEAP_MB)
    kept &= tell("rows in the page", page.locator("[data-row]").count(), ROWS)
    for name, words in (("filter", "update:tool_call_update"), ("search", "word 77777")):
        took = page.evaluate(
            """async (words) => {
              const input = document.querySelector("[data-filter]");
              const shown = () => document.querySelector(".status-row span").textContent;
              const before = shown(), start = performance.now();
              input.value = words; input.dispatchEvent(new Event("input", { bubbles: true }));
              while (shown() === before) await new Promise((done) => setTimeout(done, 1));
              return performance.now() - start;
            }""",
            words,
        )
        kept &= tell(f"{name}, ms", took, SEARCH_MS)
        page.fill("[data-filter]", "")
    page.wait_for_function(
        "(n) => Number(document.querySelector('.status-row span').textContent.split(' ')[3]) > n", arg=frames
    )
    scrolled = page.evaluate(SCROLL, SCROLLED)
    assert scrolled["there"], "the list does not show the rows that it was moved to"
    gaps = sorted(scrolled["gaps"])
    kept &= tell("frame while scrolling, p95 ms", gaps[int(len(gaps) * 0.95)], SCROLL_MS)
    return kept


def main() -> int:
    from playwright.sync_api import sync_playwright

    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    program = shutil.which("chromium") or sys.exit("there is no chromium; `make system` installs it")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        write_recording(path, frames)
        command = [sys.executable, "-m", "acpella", "inspect", str(path), "--no-open"]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            link = re.search(r"http://\S+", server.stderr.readline())
            assert link is not None
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.goto(link[0])
                kept = measure(page, frames)
                browser.close()
        finally:
            server.terminate()
            server.wait(20)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

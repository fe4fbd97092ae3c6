"""Puts the programs of `docs_src` into the pages that show them: `python docs/site/programs.py`.

The pages hold the code itself, so that they can be read in the repository, too. A test compares both.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?P<head><!-- program: (?P<name>\S+) -->\n```python[^\n]*\n)(?P<code>.*?)(?P<end>^```$)", re.M | re.S
)


def main() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        fresh = BLOCK.sub(
            lambda m: m["head"] + (ROOT / m["name"]).read_text(encoding="utf-8") + m["end"], text
        )
        if fresh != text:
            page.write_text(fresh, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()

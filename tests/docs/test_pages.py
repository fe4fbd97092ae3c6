"""Every block of code on every page works as the page says."""

import re
from pathlib import Path

import pytest
from doc_pages import DOCS, ROOT, blocks, pages
from doc_reader import Reader


@pytest.mark.parametrize(
    "page", [page for page in pages() if blocks(page)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_what_a_page_shows_works(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    try:
        for block in blocks(page):
            reader.follow(block)
    finally:
        reader.close()


def test_programs_of_pages_stand_on_a_page() -> None:
    included = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    programs = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs_src").rglob("*.py")]
    assert [name for name in programs if f'"{name}"' not in included] == []


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_lines_of_prose_are_short(page: Path) -> None:
    prose = re.sub(r"^( *)```.*?^ *```$", lambda m: "\n" * m[0].count("\n"), text_of(page), flags=re.M | re.S)
    long = [
        f"{page.name}:{number}: {len(line)} characters"
        for number, line in enumerate(prose.splitlines(), 1)
        if len(line) > 120 and not line.lstrip().startswith(("|", "![", "[", "http")) and "](http" not in line
    ]
    assert long == []


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")

"""Every block of code on every page works as the page says."""

import re
from pathlib import Path

import pytest
from doc_pages import ROOT, blocks, pages
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


def test_pages_show_the_programs_word_for_word() -> None:
    shown: set[str] = set()
    for page in pages():
        for block in blocks(page):
            if name := block.remarks.get("program"):
                shown.add(name)
                assert block.text == text_of(ROOT / name), f"{page.name}:{block.line}: make programs"
    programs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs_src").rglob("*.py")}
    assert programs == shown


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


def test_each_rule_of_the_registry_names_tests_that_exist() -> None:
    rows = [
        line for line in text_of(ROOT / "docs/reference/registry-rules.md").splitlines() if "**G-" in line
    ]
    named = [re.findall(r"`(\w+)`, `(test_\w+)`", row) for row in rows]
    assert all(named) and len(rows) == len({row.split("**")[1] for row in rows})
    missing = [
        function
        for tests in named
        for module, function in tests
        if f"def {function}(" not in text_of(ROOT / f"tests/registry/test_registry_{module}.py")
    ]
    assert missing == []

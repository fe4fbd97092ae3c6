"""The documentation as a site: it needs nothing from elsewhere, and its reference is whole."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT

BUILT = ROOT / "site"


def is_fresh(built: Path) -> bool:
    """Whether `make check` has built the site from what is here now."""
    index = built / "index.html"
    sources = [ROOT / "mkdocs.yml", *ROOT.glob("*.md")]
    for folder in ("docs", "docs_src", "examples", "src"):
        sources += [
            path for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py", ".svg", ".css"}
        ]
    return index.exists() and index.stat().st_mtime > max(path.stat().st_mtime for path in sources)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if is_fresh(BUILT):  # it takes half a minute, and is the same
        return BUILT
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(target)],
        cwd=ROOT,
        check=True,
        timeout=240,
    )
    return target


@pytest.fixture(scope="module")
def generated() -> Any:
    path = ROOT / "docs" / "site" / "generated.py"
    spec = importlib.util.spec_from_file_location("generated_docs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    fetched = re.compile(
        r"""<(?:script|img|iframe|source|audio|video)[^>]+src=["']?(https?:)?//|"""
        r"""<link[^>]+rel=["']?(?:stylesheet|icon|preload|preconnect)[^>]+href=["']?(https?:)?//|"""
        r"""url\(["']?(https?:)?//|@import ["'](https?:)?//"""
    )
    outside = [
        str(path.relative_to(site))
        for path in site.rglob("*")
        if path.suffix in {".html", ".css", ".svg"} and fetched.search(path.read_text(encoding="utf-8"))
    ]
    assert outside == []


def test_the_tables_of_the_reference_are_those_of_the_code(generated: Any) -> None:
    old = [
        path
        for path, text in generated.tables().items()
        if (ROOT / "docs" / path).read_text(encoding="utf-8") != text
    ]
    assert old == [], "make reference"


def test_every_public_module_has_a_page(generated: Any) -> None:
    import acpella

    modules = {f"acpella.{name}" for name in acpella.__all__ if hasattr(getattr(acpella, name), "__path__")}
    assert modules - set(generated.PYTHON) == set()


def test_every_setting_is_explained(generated: Any) -> None:
    for page in ("reference/server-settings.md", "reference/agent-settings.md"):
        rows = [line for line in generated.tables()[page].splitlines() if line.startswith("| `")]
        assert rows
        assert [row for row in rows if row.rstrip(" |").endswith("`")] == []  # nothing behind the default

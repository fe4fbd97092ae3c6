"""Runs programs that show the inspector's page, and checks what every page must fulfil."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["AXE", "OpenPage", "check_access", "run_program"]

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"

OpenPage: TypeAlias = Callable[..., Any]
"""Takes an address and the options of a browser context; returns the page."""


@contextmanager
def run_program(*words: str, announces: Sequence[str] = (), **options: Any) -> Iterator[str]:
    """Run `acpella` with these words until the block ends; yields the address that it writes to stderr.

    `announces`: texts that the lines after that must contain.
    """
    program = subprocess.Popen(
        [sys.executable, "-m", "acpella", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    assert program.stderr is not None
    try:
        line = program.stderr.readline()
        link = re.search(r"http\S+", line)
        assert link is not None, line
        for text in announces:
            assert text in program.stderr.readline()
        yield link.group()
    finally:
        program.terminate()
        program.wait(60)
        program.stderr.close()


def check_access(page: Any) -> None:
    """If axe is installed, check that people with a screen reader or poor eyesight can use the page."""
    if AXE.exists():
        found = page.evaluate(
            "axe.run({iframes: false})"
            ".then((result) => result.violations.map((v) => v.id + ': ' + v.nodes[0].html))"
        )
        assert found == []

"""What tests of the coding agent share."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of its own for the agent."""
    place = tmp_path / "home"
    place.mkdir()
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory to work in."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "greet.py").write_text('def greet():\n    return "helo"\n\n\nprint(greet())\n', encoding="utf-8")
    return place

"""What tests of clients share: a home of their own, and agents that do what a script says."""

import sys
import textwrap
from pathlib import Path

import pytest
from scripting import Script

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the settings or remembered answers of whoever runs it."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The directory that sessions are about."""
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """A real process that behaves as the given lines say; they may use all of `scripted_agent`."""
    made = 0

    def make(lines: str, *args: str) -> list[str]:
        nonlocal made
        made += 1
        program = tmp_path / f"agent{made}.py"
        head = f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom scripted_agent import *\n"
        program.write_text(head + textwrap.dedent(lines), encoding="utf-8")
        return [sys.executable, str(program), *args]

    return make

"""What tests of the registry share."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from loopback import Loopback

sys.path.append(str(Path(__file__).parents[1] / "cli"))  # the shell and the terminal of a user

from cli_shell import Shell


@pytest.fixture
def server() -> Generator[Loopback, None, None]:
    with Loopback() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Loopback) -> Path:
    """The home of a user for whom the registry is the server of the test."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(place / name.lower()))
    monkeypatch.setenv("ACPELLA_REGISTRY_URL", server.index_url)
    return place


@pytest.fixture
def shell(tmp_path: Path, server: Loopback) -> Generator[Shell, None, None]:
    """A user's shell, for which the registry is the server of the test."""
    place = tmp_path / "user"
    place.mkdir()
    made = Shell(place)
    made.env["ACPELLA_REGISTRY_URL"] = server.index_url
    yield made
    made.end()

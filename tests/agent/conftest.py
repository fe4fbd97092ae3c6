"""What tests of agents share: nothing of the user's is read or written, and sessions live in each store."""

from pathlib import Path

import pytest

from acpella.sessions import MemoryStore, SqliteStore, Store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for every test."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(place))
    return place


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store, of each kind in turn."""
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "sessions.db")

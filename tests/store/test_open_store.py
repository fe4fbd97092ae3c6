"""What may be written for a store."""

import sys
from pathlib import Path

import pytest

from acpella._directories import data
from acpella.sessions import MemoryStore, SqliteStore, default_path, open_store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ACPELLA_STORE", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def path_of(spec: object) -> Path:
    store = open_store(spec, name="fixer")  # type: ignore[arg-type]
    assert isinstance(store, SqliteStore)
    return store.path


def test_none_is_none() -> None:
    assert open_store(None, name="fixer") is None


def test_memory_is_for_this_process() -> None:
    assert isinstance(open_store("memory", name="fixer"), MemoryStore)


def test_a_store_is_itself() -> None:
    store = MemoryStore()
    assert open_store(store, name="fixer") is store


@pytest.mark.parametrize("spec", ["x.db", "x.sqlite", "./x", "/tmp/x", Path("x")])
def test_a_path_is_that_file(spec: object) -> None:
    assert path_of(spec) == Path(str(spec)).absolute()


def test_a_tilde_is_the_home_directory(home: Path) -> None:
    assert path_of("~/x.db") == home / "x.db"


def test_nothing_is_created_before_it_is_opened(home: Path) -> None:
    open_store("sqlite", name="fixer")
    assert list(home.iterdir()) == []


def test_sqlite_is_a_file_in_the_users_data_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert path_of("sqlite") == home / ".local/share/acpella/fixer.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert path_of("sqlite") == home / ".local/share/acpella/fixer.db"
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    assert path_of("sqlite") == home / "data/acpella/fixer.db"


def test_other_systems_have_their_own_place(home: Path) -> None:
    assert data(platform="darwin", environ={}) == home / "Library/Application Support/acpella"
    assert data(platform="win32", environ={"LOCALAPPDATA": str(home / "local")}) == home / "local/acpella"


def test_the_environment_can_name_a_file_or_a_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACPELLA_STORE", "~/here.db")
    assert path_of("sqlite") == home / "here.db"
    assert path_of("x.db") == Path("x.db").absolute()
    monkeypatch.setenv("ACPELLA_STORE", f"{home}/new/")
    assert path_of("sqlite") == home / "new/fixer.db"
    monkeypatch.setenv("ACPELLA_STORE", str(home))
    assert path_of("sqlite") == home / "fixer.db"


@pytest.mark.parametrize(
    ("name", "file"), [("My Agent/2", "My-Agent-2.db"), ("../../etc", "etc.db"), ("日本", "agent.db")]
)
def test_any_name_gives_a_harmless_file_name(name: str, file: str) -> None:
    assert default_path(name).name == file


def test_an_unknown_name_lists_what_is_possible() -> None:
    with pytest.raises(ValueError, match='unknown store \'oracle\': use "memory", "sqlite", a path such as'):
        open_store("oracle", name="fixer")
    with pytest.raises(TypeError, match="not int"):
        open_store(3, name="fixer")  # type: ignore[arg-type]

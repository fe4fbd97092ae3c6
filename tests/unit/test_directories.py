"""Where files of the user go, on each system."""

import os
from pathlib import Path

import pytest

from acpella import _directories as directories

HOME = Path("/home/someone")


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: HOME)


def test_linux_keeps_to_the_xdg_directories() -> None:
    for find, variable, default in (
        (directories.config, "XDG_CONFIG_HOME", ".config"),
        (directories.data, "XDG_DATA_HOME", ".local/share"),
        (directories.state, "XDG_STATE_HOME", ".local/state"),
        (directories.logs, "XDG_STATE_HOME", ".local/state"),
    ):
        assert find(platform="linux", environ={}) == HOME / default / "acpella"
        assert find(platform="linux", environ={variable: "/elsewhere"}) == Path("/elsewhere/acpella")
        assert find(platform="linux", environ={variable: "not/absolute"}) == HOME / default / "acpella"


def test_macos_keeps_to_the_library() -> None:
    support = HOME / "Library" / "Application Support" / "acpella"
    environ = {"XDG_CONFIG_HOME": "/x", "XDG_DATA_HOME": "/x", "XDG_STATE_HOME": "/x"}
    for find in (directories.config, directories.data, directories.state):
        assert find(platform="darwin", environ=environ) == support
    assert directories.logs(platform="darwin", environ={}) == HOME / "Library" / "Logs" / "acpella"


def test_windows_has_settings_that_roam_and_the_rest_that_stays() -> None:
    environ = {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"}
    assert directories.config(platform="win32", environ=environ) == Path("/roaming/acpella")
    assert directories.config(platform="win32", environ={}) == HOME / "AppData" / "Roaming" / "acpella"
    for find in (directories.data, directories.state, directories.logs):
        assert find(platform="win32", environ=environ) == Path("/local/acpella")
        assert find(platform="win32", environ={}) == HOME / "AppData" / "Local" / "acpella"


def test_sockets_have_a_directory_of_their_own_on_linux_if_it_is_there(tmp_path: Path) -> None:
    there = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert directories.runtime(platform="linux", environ=there) == tmp_path / "acpella"
    assert directories.runtime(platform="linux", environ={}) is None
    assert directories.runtime(platform="linux", environ={"XDG_RUNTIME_DIR": str(tmp_path / "no")}) is None
    assert directories.runtime(platform="linux", environ={"XDG_RUNTIME_DIR": os.curdir}) is None
    for platform in ("darwin", "win32"):
        assert directories.runtime(platform=platform, environ=there) is None
